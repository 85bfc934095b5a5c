/**
 * Finds etcd, kube-apiserver and kubectl in the folder `KUBEBUILDER_ASSETS`, or builds them once from their Go modules
 * into a cache outside the checkout.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { withFileLock } from "./file-lock.ts";

const run = promisify(execFile);

const kubernetesVersion = "1.36.3";
const versionVariables = {
  gitVersion: `v${kubernetesVersion}`,
  gitMajor: "1",
  gitMinor: "36",
  gitTreeState: "clean",
  buildDate: "2026-01-01T00:00:00Z",
};
const stamps = Object.entries(versionVariables).map(
  ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
);
const goBuild = ["build", "-trimpath", "-buildvcs=false", "-ldflags", ["-s", "-w", ...stamps].join(" ")];
const modules = ["etcd", "kubernetes"].map((name) => join(import.meta.dirname, name));
const programs = [
  { name: "etcd", module: modules[0]!, package: "go.etcd.io/etcd/server/v3" },
  { name: "kube-apiserver", module: modules[1]!, package: "k8s.io/kubernetes/cmd/kube-apiserver" },
  { name: "kubectl", module: modules[1]!, package: "k8s.io/kubernetes/cmd/kubectl" },
] as const;

/** Paths of the programs a control plane is made of. */
export interface Binaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubectl: string;
}

/** Finds the programs, or builds them (7 minutes with an empty Go cache on two cores); says on stderr when it builds. */
export async function ensureBinaries(env: NodeJS.ProcessEnv = process.env): Promise<Binaries> {
  const given = env["KUBEBUILDER_ASSETS"];
  if (given) return complete(given) ?? missingFrom(given);
  const folder = join(cacheFolder(env), "control-plane", await buildKey(env));
  return complete(folder) ?? (await withFileLock(`${folder}.lock`, async () => complete(folder) ?? build(folder, env)));
}

/** Where this project keeps what is dear to make, outside the checkout. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const folder =
    env["IPAM_OPERATOR_CACHE"] || join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "ipam-operator");
  return resolve(folder);
}

function complete(folder: string): Binaries | undefined {
  if (!programs.every(({ name }) => existsSync(join(folder, name)))) return undefined;
  return {
    etcd: join(folder, "etcd"),
    kubeApiserver: join(folder, "kube-apiserver"),
    kubectl: join(folder, "kubectl"),
  };
}

function missingFrom(folder: string): never {
  const missing = programs.filter(({ name }) => !existsSync(join(folder, name))).map(({ name }) => name);
  throw new Error(
    `KUBEBUILDER_ASSETS is ${folder}, which lacks ${missing.join(", ")}. ` +
      "Point it to a folder with etcd, kube-apiserver and kubectl, or unset it to have them built.",
  );
}

/** Everything that decides what `go build` yields: another key, another folder. */
async function buildKey(env: NodeJS.ProcessEnv): Promise<string> {
  const hash = createHash("sha256")
    .update(await goVersion(env))
    .update(goBuild.join("\0"));
  for (const module of modules) {
    for (const file of ["go.mod", "go.sum"]) hash.update(await readFile(join(module, file)));
  }
  return hash.digest("hex").slice(0, 16);
}

async function goVersion(env: NodeJS.ProcessEnv): Promise<string> {
  try {
    return (await run("go", ["version"], { cwd: modules[1], env })).stdout;
  } catch (cause) {
    throw new Error(
      "The cluster tests need `go` (1.26 or newer) on the PATH to build etcd and kube-apiserver once. " +
        "Install it from https://go.dev/dl, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl.",
      { cause },
    );
  }
}

async function build(folder: string, env: NodeJS.ProcessEnv): Promise<Binaries> {
  const started = Date.now();
  say(`building etcd, kube-apiserver and kubectl ${kubernetesVersion} into ${folder}, once:`);
  say("about one minute when Go has compiled them before, seven on two cores when not ...");
  const partial = await mkdtemp(`${folder}.partial-`);
  try {
    for (const program of programs) await compile(program, partial, env);
    await rename(partial, folder);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  say(`built in ${secondsSince(started)} s; the next run finds them.`);
  return complete(folder)!;
}

async function compile(program: (typeof programs)[number], folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const started = Date.now();
  const args = [...goBuild, "-o", join(folder, program.name), program.package];
  const goEnv = { ...env, CGO_ENABLED: "0", GOWORK: "off" };
  await run("go", args, { cwd: program.module, env: goEnv, maxBuffer: 64 << 20 });
  say(`  ${program.name}: ${secondsSince(started)} s`);
}

const secondsSince = (started: number) => Math.round((Date.now() - started) / 1000);

function say(line: string): void {
  process.stderr.write(`control-plane: ${line}\n`);
}
