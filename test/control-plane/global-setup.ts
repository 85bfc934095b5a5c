/** Vitest runs this once before all cluster suites: the programs exist before any suite's own time limit runs. */
import { ensureBinaries } from "./binaries.ts";

export default async function setup(): Promise<void> {
  await ensureBinaries();
}
