import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { bundleIpamctl } from "./build.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ipamctl-"));
  await bundleIpamctl(folder);
  await mkdir(join(folder, "bin"));
  for (const name of ["ipamctl", "kubectl-ipam"]) await symlink("../ipamctl.mjs", join(folder, "bin", name));
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

const run = (name: string, ...args: string[]) =>
  spawnSync(process.execPath, [join(folder, "bin", name), ...args], {
    encoding: "utf8",
    env: { HOME: "/nonexistent" },
  });

test.each([
  ["ipamctl", "ipamctl"],
  ["kubectl-ipam", "kubectl ipam"],
] as const)("as %s it calls itself %s", (name, program) => {
  expect(manifest.bin[name]).toBe("dist/ipamctl.mjs");
  expect(run(name, "--help")).toMatchObject({ status: 0, stdout: expect.stringContaining(`Usage: ${program} `) });
  const refused = run(name, "shwo");
  expect(refused).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringMatching(`^${program}: unknown command`),
  });
});

test("a verb finds its code", () => {
  expect(run("ipamctl", "explain", "LeakedAddress")).toMatchObject({ status: 0, stderr: "" });
  expect(run("ipamctl", "version", "--client", "-o", "name").stdout).toBe(`${manifest.version}\n`);
});

test("the help is small, and reaches no other file by an import that is not made when it is needed", async () => {
  const text = await readFile(join(folder, "ipamctl.mjs"), "utf8");
  expect(text.length).toBeLessThan(100_000);
  const chunks = await readdir(join(folder, "ipamctl"));
  const eager = [...text.matchAll(/from\s*"\.\/ipamctl\/([^"]+)"/g)].map(([, name]) => name);
  for (const name of eager) expect(chunks).toContain(name);
  const sizes = await Promise.all(eager.map(async (name) => (await readFile(join(folder, "ipamctl", name!))).length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(40_000);
});
