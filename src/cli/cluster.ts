/** Connects to the cluster that the user points at, and finds out where it keeps its IPAM data. */
import { chooseApiGroup } from "../datastore/api-group.ts";
import type { Flavour } from "../datastore/flavours.ts";
import { connect } from "../kube/rest.ts";
import type { KubeClient } from "../kube/types.ts";
import type { ClusterPlace } from "./place.ts";

export interface OpenCluster {
  readonly client: KubeClient;
  readonly flavour: Flavour;
  /** How the API group was chosen. */
  readonly chosenBy: string;
}

/** What connecting depends on besides the place. */
export interface ConnectCall {
  /** Where CALICO_API_GROUP is looked up. */
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** @throws KubeError where the kubeconfig is no good; DatastoreError NotServed where no IPAM kinds are installed */
export async function openCluster(place: ClusterPlace, { env, signal }: ConnectCall): Promise<OpenCluster> {
  const { kubeconfig, context, inCluster, apiGroup } = place;
  const client = await connect({ kubeconfig, context, inCluster, fieldManager: "ipamctl", userAgent: "ipamctl" });
  try {
    const { flavour, chosenBy } = await chooseApiGroup(client, { flag: apiGroup, env, signal });
    return { client, flavour, chosenBy };
  } catch (error) {
    await client.close();
    throw error;
  }
}
