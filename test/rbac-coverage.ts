/**
 * The check over all cluster suites: no verb is granted on our kinds that no test used, unless the table says why.
 * It speaks only after a run of every suite without a failure; a part of them cannot have used everything.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import type { Role } from "../rbac/permissions.ts";
import { type Usage, unusedGrants } from "./support/audit.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder where suites leave which permissions they used. */
    auditUsageDir: string;
  }
}

/** What is asked of vitest's TestProject. */
export interface TestRun {
  readonly config: { readonly testNamePattern?: RegExp | undefined };
  readonly vitest: {
    readonly state: Pick<
      TestProject["vitest"]["state"],
      "getFilepaths" | "getFailedFilepaths" | "getCountOfFailedTests"
    >;
  };
  provide(key: "auditUsageDir", dir: string): void;
  globTestFiles(): Promise<{ readonly testFiles: readonly string[] }>;
}

/** Begins the collection; what it returns is the check, for the end of the run. */
export async function collectUsage(project: TestRun): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), "ipam-operator-usage-"));
  project.provide("auditUsageDir", dir);
  return async () => {
    const usage = await readUsage(dir);
    await rm(dir, { recursive: true });
    const unused = (await ranEverything(project)) ? unusedGrants(usage) : [];
    if (unused.length === 0) return;
    throw new Error(
      `rbac/permissions.ts grants what no cluster test used. Remove it, test it, or say why in unusedBecause:\n  ${unused.join("\n  ")}`,
    );
  };
}

/** What the suites left in the folder, together. */
export async function readUsage(dir: string): Promise<Usage> {
  const files = await Promise.all((await readdir(dir)).map((name) => readFile(join(dir, name), "utf8")));
  const entries = files.flatMap((text) => JSON.parse(text) as [Role, string[]][]);
  const perRole = Map.groupBy(entries, ([role]) => role);
  return new Map([...perRole].map(([role, same]) => [role, new Set(same.flatMap(([, texts]) => texts))]));
}

async function ranEverything(project: TestRun): Promise<boolean> {
  const { state } = project.vitest;
  const ran = new Set(state.getFilepaths());
  const { testFiles } = await project.globTestFiles();
  const whole = testFiles.every((file) => ran.has(file)) && project.config.testNamePattern === undefined;
  return whole && state.getCountOfFailedTests() === 0 && state.getFailedFilepaths().length === 0;
}
