/** Vitest loads this before each file of end-to-end tests: the first failure of a file is followed by what the cluster has to say. */
import { beforeEach, type TestContext } from "vitest";
import { e2eCluster, e2eShell } from "./cluster.ts";
import { productReport } from "./report.ts";

const told = new WeakSet<TestContext["task"]["file"]>();

beforeEach(({ task, onTestFailed }) => {
  onTestFailed(async () => {
    if (told.has(task.file)) return;
    told.add(task.file);
    console.error(`After "${task.name}" failed:\n\n${await productReport(e2eCluster(), e2eShell())}`);
  });
});
