import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleOperator } from "./build.ts";

let folder: string;
let bundle: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bundle-"));
  bundle = join(folder, "ipam-operator.mjs");
  await bundleOperator(bundle);
});
afterAll(() => rm(folder, { recursive: true }));

/** The version of Node is what the process says of itself, before the bundle is loaded. */
function versionWith(node: string) {
  const pretend = `Object.defineProperty(process.versions, "node", { value: "${node}" });
    Object.defineProperty(process, "version", { value: "v${node}" });`;
  const args = ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`, bundle, "--version"];
  return spawnSync(process.execPath, args, { encoding: "utf8" });
}

test.each(["20.20.2", "22.18.0", "18.19.1"])("Node %s is told in one line what is needed", (node) => {
  const stderr = `ipam-operator: needs Node 22.19 or later, this is v${node}\n`;
  expect(versionWith(node)).toMatchObject({ status: 1, stdout: "", stderr });
});

test.each(["22.19.0", "24.0.0"])("Node %s is taken", (node) => {
  expect(versionWith(node)).toMatchObject({ status: 0, stdout: expect.stringContaining("ipam-operator ") });
});

test("nothing that an older Node lacks is linked before that", async () => {
  expect(await readFile(bundle, "utf8")).not.toMatch(/from\s*"node:sqlite"/);
});
