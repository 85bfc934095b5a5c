/** The order of the end-to-end test files: those between the ones that install and uninstall share one installation. */
import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const ORDER = ["install", "kubectl", "main-job", "roles", "workload", "leader", "uninstall", "helm"];

/** Zero for all other files: they stay as Vitest has them. */
function place({ moduleId }: TestSpecification): number {
  return ORDER.indexOf(basename(moduleId, ".e2e.test.ts")) + 1;
}

export class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => place(a) - place(b));
  }
}
