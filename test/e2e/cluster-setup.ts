/** Vitest runs this once for all end-to-end tests: they share one cluster. */
import type { TestProject } from "vitest/node";
import type { ClusterAccess } from "../kind/cluster.ts";
import { startKind } from "../kind/kind.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly cluster: ClusterAccess;
  }
}

/** Settings of `npm run e2e`, on their way to this process. */
export const clusterVariable = "IPAM_OPERATOR_E2E_CLUSTER";
export const keepVariable = "IPAM_OPERATOR_E2E_KEEP";

/** Returns the teardown, which ends what was started here. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = process.env[clusterVariable];
  const kind = await startKind({ ...(cluster && { cluster }), keep: process.env[keepVariable] === "true" });
  project.provide("cluster", kind.access);
  return () => kind.stop();
}
