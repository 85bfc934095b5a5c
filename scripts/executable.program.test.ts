import { spawnSync } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { openEmbedded } from "../src/datastore/embedded.ts";
import { buildExecutable } from "./executable.ts";

let folder: string;
let program: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "executable-"));
  program = await buildExecutable(folder);
});
afterAll(() => rm(folder, { recursive: true }));

/** As on a machine that has no Node. */
const run = (command: string, ...args: string[]) =>
  spawnSync(command, args, { encoding: "utf8", env: { HOME: "/nonexistent", PATH: "/nonexistent" } });

test("the executable runs without Node, and without a warning", () => {
  expect(run(program, "version", "--client", "-o", "name")).toMatchObject({
    status: 0,
    stdout: `${manifest.version}\n`,
    stderr: "",
  });
});

test("it reads an embedded store", async () => {
  const path = join(folder, "ipam.db");
  const datastore = openEmbedded(path);
  await datastore.create({
    apiVersion: "projectcalico.org/v3",
    kind: "IPPool",
    metadata: { name: "pods" },
    spec: { cidr: "10.0.0.0/24", blockSize: 28 },
  });
  await datastore.close();
  const shown = run(program, "show", "--datastore", `embedded:${path}`);
  expect(shown).toMatchObject({ status: 0, stdout: expect.stringContaining("10.0.0.0/24"), stderr: "" });
});

test("as kubectl-ipam it is kubectl's plugin", async () => {
  const plugin = join(folder, "kubectl-ipam");
  await symlink(program, plugin);
  expect(run(plugin, "--help").stdout).toContain("Usage: kubectl ipam ");
});
