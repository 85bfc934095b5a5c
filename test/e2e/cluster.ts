/** The cluster of the end-to-end tests. All files run in one process, one after the other, and share it. */
import { inject } from "vitest";
import { type Cluster, clusterOf } from "../kind/cluster.ts";
import { type Shell, shellOf } from "./shell.ts";

/** The cluster that all test files share: use names of your own, and remove what you make. */
export const e2eCluster = (): Cluster => clusterOf(inject("cluster"));

/** A person's shell at that cluster. */
export const e2eShell = (): Shell => shellOf(inject("cluster"), inject("helm"));
