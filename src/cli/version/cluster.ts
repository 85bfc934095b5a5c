/** What a cluster says of its versions. */
import type { KubeObject } from "../../api/meta.ts";
import { resources } from "../../api/resources.ts";
import { apiGroups, type Flavour } from "../../datastore/flavours.ts";
import { serverVersion } from "../../kube/discovery.ts";
import { isKubeError, type KubeClient } from "../../kube/types.ts";
import { openCluster } from "../cluster.ts";
import type { ClusterPlace } from "../place.ts";
import type { Session } from "../session.ts";
import { clusterInformationFacts } from "../snapshot/facts.ts";
import type { ClusterVersions } from "./run.ts";
import { skewOf } from "./skew.ts";

export async function clusterVersions(place: ClusterPlace, session: Session): Promise<ClusterVersions> {
  const { client, flavour, chosenBy } = await openCluster(place, session);
  try {
    const kubernetes = await serverVersion(client, session);
    const openApi = await unlessRefused(client.getRaw(`/openapi/v3/apis/${apiGroups[flavour]}`, session));
    const calico = await calicoVersion(client, flavour, session);
    return {
      server: client.server,
      kubernetes,
      apiGroup: apiGroups[flavour],
      chosenBy,
      ...(calico && { calico }),
      skew: skewOf(kubernetes, flavour, openApi),
    };
  } finally {
    await client.close();
  }
}

async function calicoVersion(client: KubeClient, flavour: Flavour, { signal }: Session): Promise<string | undefined> {
  const { group, version } = resources.IPPool[flavour];
  const type = { group, version, plural: "clusterinformations", kind: "ClusterInformation" };
  const found = await unlessRefused(client.get<KubeObject>(type, "default", { signal }));
  return found && clusterInformationFacts(found).calicoVersion;
}

/** What is not there, or not for this user, is left out. */
async function unlessRefused<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isKubeError(error, "NotFound", "Forbidden")) return undefined;
    throw error;
  }
}
