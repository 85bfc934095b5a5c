/** The library tests' API server as an empty store in one of its two generations. */
import { resources } from "../../src/api/resources.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import type { Datastore, Kind } from "../../src/datastore/datastore.ts";
import { codecOf, type Flavour } from "../../src/datastore/flavours.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { connect } from "../../src/kube/rest.ts";
import { apiRequest } from "../control-plane/api-request.ts";
import type { LibraryCluster } from "./store.ts";

const KINDS = Object.keys(resources) as IpamKind[];

/** Deletes all IPAM objects of the generation and opens what is left: nothing. */
export async function openEmptied(cluster: LibraryCluster, flavour: Flavour): Promise<Datastore> {
  await deleteAll(cluster, flavour);
  const client = await connect({ kubeconfig: cluster.kubeconfig });
  return openKubernetes({ client, flavour, release: () => client.close() });
}

/** Deletes all objects of these kinds, in one generation; without kinds all IPAM objects. */
export async function deleteAll(
  cluster: Omit<LibraryCluster, "kubeconfig">,
  flavour: Flavour,
  kinds: readonly Kind[] = KINDS,
): Promise<void> {
  await Promise.all(kinds.map((kind) => deleteKind(cluster, flavour, kind)));
}

async function deleteKind(cluster: Omit<LibraryCluster, "kubeconfig">, flavour: Flavour, kind: Kind) {
  const { group, version, plural } = codecOf(flavour, kind).resource;
  const path = `/apis/${group}/${version}/${plural}`;
  const { status, body } = await apiRequest(cluster, cluster.adminToken, "DELETE", path);
  if (status !== 200) throw new Error(`${plural} could not be deleted: ${body}`);
}
