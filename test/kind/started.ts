/** What each of the three ways to a cluster gives. */
import type { ClusterAccess } from "./cluster.ts";

export interface Started {
  readonly access: ClusterAccess;
  /** Ends all that was started, and removes the files. */
  stop(): Promise<void>;
  /** Leaves it running after this process; returns what a person must know to use it and to end it. */
  keep(): string[];
}

export type Say = (line: string) => void;

/** The name of the clusters that are made here, not given. */
export const clusterName = "ipam-operator";
