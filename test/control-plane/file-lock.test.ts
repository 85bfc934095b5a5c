/** One holder at a time, and a holder that died does not block the others. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { withFileLock } from "./file-lock.ts";

let folder: string;
let lock: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lock-"));
  lock = join(folder, "deeper", "lock");
});
afterEach(() => rmSync(folder, { recursive: true }));

it("lets one in after the other", async () => {
  const steps: string[] = [];
  const work = async (name: string) => {
    steps.push(`${name} in`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    steps.push(`${name} out`);
  };
  await Promise.all([withFileLock(lock, () => work("a")), withFileLock(lock, () => work("b"))]);
  expect([["a in", "a out", "b in", "b out"].join(), ["b in", "b out", "a in", "a out"].join()]).toContain(
    steps.join(),
  );
  expect(existsSync(lock)).toBe(false);
});

it("is free again when the work fails", async () => {
  await expect(withFileLock(lock, () => Promise.reject(new Error("no disk")))).rejects.toThrow("no disk");
  expect(await withFileLock(lock, async () => "next")).toBe("next");
});

it("is taken over from a process that is gone", async () => {
  await withFileLock(lock, async () => undefined);
  writeFileSync(lock, String(spawnSync("true").pid));
  expect(await withFileLock(lock, async () => "mine")).toBe("mine");
});
