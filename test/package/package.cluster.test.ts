/** The npm package as a user gets it: its contents, its types, its programs, and each example of docs/library.md, on each Node. */
import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { openKubernetes } from "../../src/index.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { pool } from "../support/ipam-data.ts";
import { examplesOf } from "../support/page-examples.ts";
import { type PackedPackage, packedPackage } from "./packed.ts";

const root = join(import.meta.dirname, "../..");
const examples = examplesOf("docs/library.md");
const EXAMPLES = ["first", "firstOnACluster", "assign", "onACluster", "longLived"] as const;

let packed: PackedPackage;
beforeAll(async () => {
  packed = await packedPackage();
  for (const [at, name] of EXAMPLES.entries()) writeFileSync(join(packed.user, `${name}.mts`), examples[at] ?? "");
  copyFileSync(join(import.meta.dirname, "consumer.ts"), join(packed.user, "consumer.ts"));
}, 300_000);
afterAll(() => packed?.remove());

describe("the package", () => {
  test("holds the library, the programs, the manifests and the licence, and nothing else", () => {
    const tops = packed.files.map((path) => path.split("/").slice(0, 2).join("/"));
    expect([...new Set(tops.filter((top) => !/^(crds|rbac)\//.test(top)))].sort()).toEqual([
      "LICENSE",
      "README.md",
      "dist/ipam-operator.mjs",
      "dist/ipamctl.mjs",
      "dist/programs",
      "dist/src",
      "package.json",
    ]);
    expect(packed.files.filter((path) => /^(crds|rbac)\/.*(?<!\.yaml)$/.test(path))).toEqual([]);
  });

  test("holds of the library what its entry reaches", () => {
    const reached = new Set<string>();
    const visit = (file: string) => {
      if (reached.has(file)) return;
      reached.add(file);
      const text = readFileSync(join(packed.user, "node_modules/ipam-operator", file), "utf8");
      for (const [, name = ""] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
        visit(join(file, "..", name.replace(/\.[jt]s$/, file.endsWith(".d.ts") ? ".d.ts" : ".js")));
      }
    };
    visit("dist/src/index.js");
    visit("dist/src/index.d.ts");
    const modules = packed.files
      .filter((path) => path.startsWith("dist/src/"))
      .map((path) => path.replace(/\.(d\.ts|js)$/, ""));
    const needed = new Set([...reached].map((path) => path.replace(/\.(d\.ts|js)$/, "")));
    expect(modules.filter((path) => !needed.has(path))).toEqual([]);
  });

  test("is below 600 kB", () => {
    expect(packed.size).toBeLessThan(600_000);
  });

  /** A registry's page resolves relative links in the repository that the package names. */
  test("has a README whose links lead to files of the repository", () => {
    expect(manifest.repository).toMatch(/^github:[\w-]+\/[\w-]+$/);
    const readme = readFileSync(join(packed.user, "node_modules/ipam-operator/README.md"), "utf8");
    const links = Array.from(readme.matchAll(/(?:\]\(|src=")([^)"\s]+)/g), ([, link = ""]) => link);
    const relative = links.filter((link) => !/^(https:|#)/.test(link)).map((link) => link.replace(/#.*/, ""));
    expect(relative.length).toBeGreaterThan(5);
    expect(relative.filter((link) => link.startsWith("..") || !existsSync(join(root, link)))).toEqual([]);
  });
});

describe("types", () => {
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    target: "es2024",
    lib: "es2024",
    types: "node",
  };

  test("the page has the examples that are run here", () => {
    expect(examples).toHaveLength(EXAMPLES.length);
  });

  test.each([
    ["node16", { module: "node16" }],
    ["nodenext", { module: "nodenext" }],
    ["bundler", { module: "esnext" }],
  ])("compile with moduleResolution %s, and refuse misspelt fields", (moduleResolution, how) => {
    const files = [...EXAMPLES.map((name) => `${name}.mts`), "consumer.ts"];
    const { status, stdout } = packed.compile({ ...strict, ...how, moduleResolution, noEmit: true }, files);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });
});

describe.each(["22", "24", "26"])("on Node %s", (version) => {
  let node: string;
  beforeAll(async () => {
    node = await packed.node(version);
  }, 300_000);

  const run = (...args: string[]) =>
    spawnSync(node, args, { cwd: packed.user, encoding: "utf8", env: { HOME: "/nonexistent" } });
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
    const path = join(packed.user, `${version}.db`);
    const open = `import { openEmbedded } from "ipam-operator"; await openEmbedded(${JSON.stringify(path)}).close();`;
    expect(run("--input-type=module", "--eval", open)).toMatchObject({ status: 0, stderr: "" });
    const found = run(program("ipamctl"), "show", "--datastore", `embedded:${path}`);
    expect(found).toMatchObject({ status: 0, stderr: expect.not.stringContaining("Warning") });
  });

  test("the examples without a cluster assign an address, without a warning", () => {
    const address = /^\[ '10\.0\.0\.\d+\/28' \]\n/;
    expect(run("first.mts")).toMatchObject({ status: 0, stdout: expect.stringMatching(address), stderr: "" });
    expect(run("assign.mts")).toMatchObject({ status: 0, stdout: expect.stringMatching(/\]\n256n\n$/), stderr: "" });
  });
});

describe.each([
  ["v1", ["26"]],
  ["v3", ["22", "24", "26"]],
] as const)("on a %s cluster", (crds, versions) => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds });
    const datastore = await openKubernetes({ kubeconfig: cluster.kubeconfig });
    await datastore.create(pool("racked", "10.1.0.0/24", { nodeSelector: 'rack == "r1"' }));
    await datastore.close();
  });
  afterAll(() => cluster?.stop());

  const run = async (version: string, example: (typeof EXAMPLES)[number]) => {
    const env = { KUBECONFIG: cluster.kubeconfig, NO_COLOR: "1" };
    const options = { cwd: packed.user, env, timeout: 150_000 };
    return promisify(execFile)(await packed.node(version), [`${example}.mts`], options);
  };
  const address = expect.stringMatching(/^\[ '10\.1\.0\.\d+\/26' \]\n/);

  test("a host that is no node is refused by name", async () => {
    await expect(run("26", "onACluster")).resolves.toMatchObject({
      stderr: expect.stringContaining('nodes "node-a" not found'),
    });
  });

  test.each(versions)("each example does what the page says, on Node %s", async (version) => {
    await cluster.apply('{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a","labels":{"rack":"r1"}}}');
    expect(await run(version, "firstOnACluster")).toEqual({
      stdout: expect.stringMatching(/^racked \d+n\n/),
      stderr: "",
    });
    expect(await run(version, "onACluster")).toEqual({ stdout: address, stderr: "" });
    expect(await run(version, "longLived")).toEqual({ stdout: address, stderr: "" });
  });
});
