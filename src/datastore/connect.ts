/** From a kubeconfig to a datastore: connects, finds out where the cluster keeps its IPAM data, and opens that. */
import { connect } from "../kube/rest.ts";
import { chooseApiGroup } from "./api-group.ts";
import type { Datastore } from "./datastore.ts";
import type { Flavour } from "./flavours.ts";
import { openKubernetes } from "./kubernetes.ts";

/** Which cluster, with whose rights, and where its data is. */
export interface ConnectOptions {
  /** Path of a kubeconfig; needed unless `inCluster`. */
  readonly kubeconfig?: string;
  /** Context of the kubeconfig. Default: its current one. */
  readonly context?: string;
  /** Use the ServiceAccount of this pod. */
  readonly inCluster?: boolean;
  /** API group of the data. Default `auto`: CALICO_API_GROUP, a finished migration, then what is served and holds data. */
  readonly apiGroup?: "auto" | Flavour;
}

/**
 * The datastore of a cluster; closing it closes the connections.
 * @throws DatastoreError NotServed where no IPAM kinds are installed; KubeError where the kubeconfig is no good
 */
export async function connectKubernetes({ apiGroup, ...credentials }: ConnectOptions): Promise<Datastore> {
  const client = await connect(credentials);
  try {
    const { flavour } = await chooseApiGroup(client, { flag: apiGroup, env: process.env });
    return openKubernetes({ client, flavour, release: () => client.close() });
  } catch (error) {
    await client.close();
    throw error;
  }
}
