/**
 * Vitest runs this once before all cluster suites: the programs exist before any suite's own time limit runs, and no
 * compiler takes the cores while promised times are waited for.
 */
import type { TestProject } from "vitest/node";
import { collectUsage } from "../rbac-coverage.ts";
import { ensureHelm, ensureHelm3 } from "../tools/helm.ts";
import { ensureBinaries } from "./binaries.ts";

/** Returns the teardown: the check of granted but unused permissions. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await ensureBinaries();
  await ensureHelm();
  await ensureHelm3();
  return collectUsage(project);
}
