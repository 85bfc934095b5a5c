/** The image of a kind node, made of Debian packages and our own programs; kept in the engine until one of these changes. */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Docker } from "../docker.ts";
import { run } from "../processes.ts";
import { kubernetesVersion, nodeModule, type Programs } from "../programs.ts";
import { buildImages } from "./images.ts";
import { buildRootfs } from "./rootfs.ts";

const binaries = ["kubeadm", "kubelet", "kubectl", "containerd", "containerd-shim-runc-v2", "ctr", "crictl"];
const plugins = ["host-local", "loopback", "ptp"];
const manifests = ["default-cni.yaml", "default-storage.yaml"];
const entrypoint = 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]';

/** Finds the image in the engine, or builds it (two to four minutes), saying so; returns its name. */
export async function ensureNodeImage(
  docker: Docker,
  programs: Programs,
  say: (line: string) => void,
): Promise<string> {
  const rootfs = `ipam-operator/kind-rootfs:${await hashOf(["rootfs.ts"])}`;
  const image = `ipam-operator/kind-node:${await hashOf(await readdir(import.meta.dirname), programs)}`;
  if (await docker.hasImage(image)) return image;
  if (!(await docker.hasImage(rootfs)))
    await timed("the node's Debian packages", say, () => buildRootfs(docker, rootfs));
  await timed("the node image", say, () => buildNode(docker, programs, rootfs, image));
  await removeOld(docker, [rootfs, image]);
  return image;
}

async function buildNode(docker: Docker, programs: Programs, rootfs: string, image: string): Promise<void> {
  const base = "ipam-operator/kind-node:base";
  const context = await nodeContext(programs);
  try {
    await docker.build({ context, tag: base, args: { rootfs, version: `v${kubernetesVersion}` } });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  await withImages(docker, base, await buildImages(docker, programs, rootfs), image);
}

async function nodeContext(programs: Programs): Promise<string> {
  const context = await mkdtemp(join(tmpdir(), "kind-node-"));
  const copyAll = async (folder: string, names: readonly string[], from: (name: string) => string) => {
    await mkdir(join(context, folder));
    for (const name of names) await copyFile(from(name), join(context, folder, name));
  };
  const here = (name: string) => join(import.meta.dirname, name);
  await copyAll("bin", binaries, programs);
  await copyAll("cni", plugins, programs);
  await copyAll("manifests", manifests, here);
  await copyFile(here("Dockerfile"), join(context, "Dockerfile"));
  await cp(join(await kindFolder(), "images/base/files"), join(context, "kind"), { recursive: true });
  return context;
}

async function kindFolder(): Promise<string> {
  const list = ["list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kind"];
  return (await run("go", list, { cwd: nodeModule, env: { ...process.env, GOWORK: "off" } })).trim();
}

/** As `kind build node-image` does: a container's containerd imports the images, and the container becomes the image. */
async function withImages(docker: Docker, base: string, tags: readonly string[], image: string): Promise<void> {
  const start = ["run", "--detach", "--network", "none", "--security-opt", "seccomp=unconfined"];
  const container = (await docker.run([...start, "--entrypoint", "sleep", base, "infinity"])).trim();
  try {
    await docker.run(["exec", "--detach", container, "containerd"]);
    await untilAnswers(() => docker.run(["exec", container, "ctr", "version"]));
    const saved = spawn("docker", ["save", ...tags], { env: docker.env, stdio: ["ignore", "pipe", "inherit"] });
    const pinned = "--label=io.cri-containerd.pinned=pinned";
    const load = ["ctr", "--namespace=k8s.io", "images", "import", pinned, "--all-platforms", "--no-unpack", "-"];
    await docker.run(["exec", "--interactive", container, ...load], { input: saved.stdout });
    await docker.run(["exec", container, "pkill", "--exact", "containerd"]);
    await docker.run(["exec", container, "sh", "-c", "while pgrep -x containerd; do sleep 0.1; done"]);
    await docker.run(["commit", "--change", entrypoint, container, image]);
  } finally {
    await docker.run(["rm", "--force", container]);
  }
}

async function untilAnswers(call: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await call();
      return;
    } catch (error) {
      if (tries === 60) throw error;
    }
    await sleep(500);
  }
}

/** All images but the ones to keep, and what was built on the way. */
async function removeOld(docker: Docker, keep: readonly string[]): Promise<void> {
  const all = await docker.list(["image", "ls", "--format", "{{.Repository}}:{{.Tag}}"]);
  const old = all.filter((name) => !keep.includes(name) && !name.includes("<none>"));
  if (old.length > 0) await docker.run(["image", "rm", ...old]);
  await docker.run(["image", "prune", "--force"]);
}

/** Of files of this folder, and of the folders the programs lie in, which are hashes of what they are built from. */
async function hashOf(files: readonly string[], programs?: Programs): Promise<string> {
  const hash = createHash("sha256");
  for (const file of [...files].sort()) hash.update(await readFile(join(import.meta.dirname, file)));
  if (programs) for (const name of ["kubectl", "kubelet", "containerd"]) hash.update(programs(name));
  return hash.digest("hex").slice(0, 16);
}

async function timed(what: string, say: (line: string) => void, work: () => Promise<void>): Promise<void> {
  const started = Date.now();
  say(`making ${what} ...`);
  await work();
  say(`  ${what}: ${Math.round((Date.now() - started) / 1000)} s`);
}
