/**
 * The image without an engine: its files as a root file system, on which the entry point of the Dockerfile runs with the
 * flags of the chart, as nobody in particular, against a real API server.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { sizesIn, totalOf } from "../../scripts/image/sizes.ts";
import { layOutImage } from "../../scripts/image.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { freePorts } from "../control-plane/processes.ts";
import { edit, eventually, storedCooldown } from "../operator/cluster.ts";
import { only } from "./helm.ts";
import { containerOf, rendered } from "./rendered.ts";

const dockerfile = readFileSync("Dockerfile", "utf8");
const instruction = (name: string) => new RegExp(`^${name} (.*)$`, "m").exec(dockerfile)?.[1] ?? "";
const entrypoint = JSON.parse(instruction("ENTRYPOINT")) as string[];
const [uid = ""] = instruction("USER").split(":");

/** Nothing of the caller's but where to find chroot. */
const env = { PATH: process.env["PATH"] };

let root: string;
let cluster: ControlPlane;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "image-"));
  await layOutImage(root, { scratch: true });
  cluster = await startControlPlane({ crds: "v3" });
});
afterAll(async () => {
  await cluster?.stop();
  rmSync(root, { recursive: true, force: true });
});

/** Enters the image's files: as its user where we are root, else as root of a user namespace, which is nobody outside. */
function inImage(command: readonly string[]): [program: string, args: string[]] {
  if (process.getuid?.() === 0) return ["chroot", [`--userspec=${instruction("USER")}`, root, ...command]];
  return ["unshare", ["--user", "--map-root-user", `--root=${root}`, ...command]];
}

test("its content is below 150 MB", async () => {
  expect(totalOf(await sizesIn(root))).toBeLessThan(150e6);
});

test("the entry point and the command of helm test are there, and Node is the one of the checkout", async () => {
  const files = entrypoint.filter((part) => part.startsWith("/"));
  expect(files).toHaveLength(2);
  for (const file of files) expect(existsSync(join(root, file))).toBe(true);
  expect(only(await rendered(), "Pod")["spec"].containers[0].command[0]).toBe(entrypoint[0]);
  const [program, args] = inImage([...entrypoint, "--version"]);
  expect(execFileSync(program, args, { env, encoding: "utf8" })).toBe(
    `ipam-operator ${manifest.version} (node ${process.version})\n`,
  );
});

test("it is not run as root, and Kubernetes can see that: the user is a number, with a name in the image", () => {
  expect(Number(uid)).toBeGreaterThan(0);
  expect(readFileSync(join(root, "etc/passwd"), "utf8")).toMatch(new RegExp(`^nonroot:x:${uid}:${uid}:`, "m"));
});

test("every file can be read by everybody, and the operator's written by root only", async () => {
  for (const { path } of await sizesIn(root)) {
    const { mode } = statSync(join(root, path));
    expect({ path, readable: (mode & 0o444) === 0o444, writable: (mode & 0o022) !== 0 }).toEqual({
      path,
      readable: true,
      writable: false,
    });
  }
});

test("the bill of materials has the product, its packages, Node and the libraries beside it", () => {
  const { metadata, components, dependencies } = JSON.parse(readFileSync(join(root, "app/sbom.cdx.json"), "utf8"));
  expect(metadata.component).toMatchObject({ name: manifest.name, version: manifest.version });
  const versions = new Map(components.map(({ name, version }: { name: string; version: string }) => [name, version]));
  for (const [name, version] of Object.entries(manifest.dependencies))
    expect([name, versions.get(name)]).toEqual([name, version]);
  expect(versions.get("node")).toBe(process.version.slice(1));
  for (const name of ["vitest", "esbuild", "typescript"]) expect(versions.has(name)).toBe(false);
  const refs = new Set(components.map((component: Record<string, string>) => component["bom-ref"]));
  const named = dependencies.flatMap(({ dependsOn }: { dependsOn: string[] }) => dependsOn);
  expect(named.filter((ref: string) => !refs.has(ref))).toEqual([]);
});

test("it works: with the chart's flags, on its own files, writing none", async () => {
  const [probes, metrics] = await freePorts(2);
  copyFileSync(await cluster.clientCertKubeconfig(), join(root, "kubeconfig"));
  execFileSync("chmod", ["0444", join(root, "kubeconfig")]);
  const before = (await sizesIn(root)).map(({ path }) => path).sort();
  const flags = ((await containerOf()).args as string[]).filter((flag) => !flag.includes("bind-address"));
  const own = [
    `--health-probe-bind-address=:${probes}`,
    `--metrics-bind-address=:${metrics}`,
    "--kubeconfig=/kubeconfig",
  ];
  await cluster.kubectlOk(["create", "namespace", "ipam-operator"]);
  const [program, args] = inImage([...entrypoint, ...flags, ...own]);
  const child = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  const log = text(child.stderr);
  onTestFailed(async () => console.error(await log));
  const ended = once(child, "exit");
  try {
    await edit(cluster, 33);
    await eventually(() => storedCooldown(cluster)).toBe(33);
    expect((await fetch(`http://127.0.0.1:${probes}/readyz`)).status).toBe(200);
  } finally {
    child.kill("SIGTERM");
  }
  expect(await ended).toEqual([0, null]);
  expect((await sizesIn(root)).map(({ path }) => path).sort()).toEqual(before);
});
