/**
 * What the Installation's reconciler must know of the cluster besides the Installation and the configuration.
 * On a cluster `src/operator` keeps it from watches; on the embedded store most of it is empty.
 */
import { SINGLETON_NAME } from "../../src/api/installation.ts";
import { kindIn } from "../../src/api/kind-names.ts";
import type { IPPool } from "../../src/api/v3.ts";

export interface NodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly windows: boolean;
  /** `status.capacity.pods`: most pods the kubelet admits; undefined where the node does not say. */
  readonly podCapacity: number | undefined;
}

/** Why nothing can be done at all for now. */
export interface Blocked {
  readonly reason: "APINotInstalled" | "Forbidden" | "Unavailable";
  /** What is missing and what to do: a sentence for the condition. */
  readonly message: string;
}

/** The API group while none is chosen yet. */
export const UNDECIDED = "none";

/** The kind that the configuration has where the data is, and its name. */
export const configurationOf = ({ datastore }: Pick<Surroundings, "datastore">): string =>
  `${kindIn(datastore.apiGroup, "IPAMConfiguration")} ${SINGLETON_NAME}`;

export interface Surroundings {
  /** The API group that holds the data, or `embedded`, or `UNDECIDED`. */
  readonly datastore: { readonly apiGroup: string; readonly chosenBy: string };
  /** Fields of the configuration's spec that the served CRD knows; undefined where that cannot be seen (all assumed). */
  readonly servedFields: ReadonlySet<string> | undefined;
  /** Fields of `spec.attributes[]` that the served IPAMBlock CRD knows; undefined as above. */
  readonly servedAttributes: ReadonlySet<string> | undefined;
  readonly nodes: readonly NodeFacts[];
  readonly pools: readonly IPPool[];
  /** Calico's datastore lock: `ClusterInformation` `default` with `datastoreReady: false`. */
  readonly datastoreLocked: boolean;
  /** `spec.cni.ipam.type` of the Calico operator's Installation where it is not Calico's own IPAM. */
  readonly foreignIpam: string | undefined;
  readonly blocked: Blocked | undefined;
}
