/** Vitest runs this once for all end-to-end tests: they share one cluster. */
import type { TestProject } from "vitest/node";
import type { ClusterAccess } from "../kind/cluster.ts";
import { startKind } from "../kind/kind.ts";
import { ensureHelm } from "../tools/helm.ts";
import { claimCluster, leaveCluster } from "./product.ts";
import { shellOf } from "./shell.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly cluster: ClusterAccess;
    /** The path of Helm. */
    readonly helm: string;
  }
}

/** Settings of `npm run e2e`, on their way to this process. */
export const clusterVariable = "IPAM_OPERATOR_E2E_CLUSTER";
export const keepVariable = "IPAM_OPERATOR_E2E_KEEP";

/** Returns the teardown, which ends what was started here, and leaves a given cluster as it was. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  try {
    return await prepare(project);
  } catch (error) {
    throw withoutStack(error);
  }
}

async function prepare(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env[clusterVariable];
  const keep = process.env[keepVariable] === "true";
  const kind = await startKind({ ...(given && { cluster: given }), keep });
  try {
    const helm = await ensureHelm();
    const shell = shellOf(kind.access, helm);
    await claimCluster(kind, shell);
    project.provide("cluster", kind.access);
    project.provide("helm", helm);
    return async () => {
      if (given && !keep) await leaveCluster(kind, shell);
      await kind.stop();
    };
  } catch (error) {
    await kind.stop();
    throw error;
  }
}

/** What is wrong then is the machine or the cluster: the sentence says what, and no line of ours does. */
function withoutStack(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  error.stack = `${error.name}: ${error.message}`;
  withoutStack(error.cause);
  return error;
}
