/** The reference's scenarios on a real API server, in both generations. */
import { afterAll, beforeAll, describe } from "vitest";
import type { IpamKind } from "../../src/api/v3.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { replayScenarios } from "./replay.ts";

const KINDS: readonly IpamKind[] = [
  "IPAMBlock",
  "BlockAffinity",
  "IPAMHandle",
  "IPAMConfiguration",
  "IPPool",
  "IPReservation",
];

describe.each(["v1", "v3"] as const)("%s", (flavour) => {
  let cluster: ControlPlane;
  let client: KubeClient;
  let datastore: Datastore;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    client = await connect({ kubeconfig: cluster.kubeconfig });
    datastore = openKubernetes({ client, flavour });
  });
  afterAll(async () => {
    await datastore?.close();
    await client?.close();
    await cluster?.stop();
  });

  replayScenarios(flavour, async () => {
    for (const kind of KINDS) {
      for (const object of (await datastore.list(kind)).items) await datastore.delete(object);
    }
    return datastore;
  });
});
