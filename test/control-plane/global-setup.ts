/** Vitest runs this once before all cluster suites: the programs exist before any suite's own time limit runs. */
import type { TestProject } from "vitest/node";
import { collectUsage } from "../rbac-coverage.ts";
import { ensureBinaries } from "./binaries.ts";

/** Returns the teardown: the check of granted but unused permissions. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await ensureBinaries();
  return collectUsage(project);
}
