/** The cluster of the end-to-end tests, for one test file. */
import { inject } from "vitest";
import { type Cluster, clusterOf } from "../kind/cluster.ts";

/** The cluster that all test files share: use names of your own, and remove what you make. */
export const e2eCluster = (): Cluster => clusterOf(inject("cluster"));
