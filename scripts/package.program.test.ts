/** The npm package as a user gets it: packed from this checkout, installed elsewhere, run on each supported Node. */
import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..");
const npm = promisify(execFile);

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

let folder: string;
let packed: Packed;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "package-"));
  const { stdout } = await npm("npm", ["pack", "--json", "--silent", "--pack-destination", folder], { cwd: root });
  packed = (JSON.parse(stdout) as Packed[])[0]!;
  await mkdir(join(folder, "user"));
  await writeFile(join(folder, "user/package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  const flags = ["--prefer-offline", "--no-audit", "--no-fund"];
  await npm("npm", ["install", ...flags, join(folder, packed.filename)], { cwd: join(folder, "user") });
}, 300_000);
afterAll(() => rm(folder, { recursive: true }));

describe("the package", () => {
  test("holds the library, the programs, the manifests and the licence, and nothing else", () => {
    const tops = packed.files.map(({ path }) => path.split("/").slice(0, 2).join("/"));
    expect([...new Set(tops.filter((top) => !/^(crds|rbac)\//.test(top)))].sort()).toEqual([
      "LICENSE",
      "README.md",
      "dist/ipam-operator.mjs",
      "dist/ipamctl.mjs",
      "dist/programs",
      "dist/src",
      "package.json",
    ]);
    expect(packed.files.filter(({ path }) => /^dist\/src\/(cli|judgement|operator)\//.test(path))).toEqual([]);
  });

  test("is below 600 kB", () => {
    expect(packed.size).toBeLessThan(600_000);
  });
});

const library = `
  import { createIpam, openEmbedded } from "ipam-operator";
  const datastore = openEmbedded(":memory:");
  const spec = { cidr: "10.0.0.0/24", blockSize: 28 };
  await datastore.create({ apiVersion: "projectcalico.org/v3", kind: "IPPool", metadata: { name: "pods" }, spec });
  const ipam = createIpam({ datastore });
  const { v4 } = await ipam.autoAssign({ num4: 1, handleID: "h", hostname: "node-a", intendedUse: "Workload" });
  console.log(v4.ips.length);
  await datastore.close();`;

describe.each(["22", "24", "26"])("on Node %s", (version) => {
  let node: string;
  beforeAll(async () => {
    const prefix = join(folder, `node-${version}`);
    await npm("npm", ["install", "--prefer-offline", "--no-audit", "--prefix", prefix, `node@${version}`]);
    node = join(prefix, "node_modules/node/bin/node");
  }, 300_000);

  const run = (...args: string[]) =>
    spawnSync(node, args, { cwd: join(folder, "user"), encoding: "utf8", env: { HOME: "/nonexistent" } });
  const program = (name: string) => join("node_modules/ipam-operator", manifest.bin[name as keyof typeof manifest.bin]);

  test("it is the Node that was asked for", () => {
    expect(run("--version").stdout).toMatch(new RegExp(`^v${version}\\.`));
  });

  test("the programs start, without a warning", () => {
    const operator = run(program("ipam-operator"), "--version");
    expect(operator).toMatchObject({ status: 0, stdout: expect.stringContaining(manifest.version), stderr: "" });
    const ipamctl = run(program("ipamctl"), "version", "--client", "-o", "name");
    expect(ipamctl).toMatchObject({ status: 0, stdout: `${manifest.version}\n`, stderr: "" });
  });

  test("ipamctl opens an embedded store, without a warning", () => {
    const path = join(folder, "user", `${version}.db`);
    const open = `import { openEmbedded } from "ipam-operator"; await openEmbedded(${JSON.stringify(path)}).close();`;
    expect(run("--input-type=module", "--eval", open)).toMatchObject({ status: 0, stderr: "" });
    const found = run(program("ipamctl"), "show", "--datastore", `embedded:${path}`);
    expect(found).toMatchObject({ status: 0, stderr: expect.not.stringContaining("Warning") });
  });

  test("the library assigns an address, without a warning", () => {
    expect(run("--input-type=module", "--eval", library)).toMatchObject({ status: 0, stdout: "1\n", stderr: "" });
  });
});
