/** A cluster of the installed kind, in a Docker engine that can pull images. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBinaries } from "../control-plane/binaries.ts";
import { createCluster, type KindProgram } from "./create.ts";
import { run } from "./processes.ts";
import { clusterName as name, type Say, type Started } from "./started.ts";

/** Small, and at the registry where most of a cluster's images are. */
const probeImage = "registry.k8s.io/pause:3.10";
const program: KindProgram = { kind: "kind", env: process.env };

/** Why no cluster can be made this way, as a clause; or undefined. */
export async function whyNotInstalled(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const fails = (command: string, args: string[]) =>
    run(command, args, { env, timeout: 60_000 }).then(
      () => false,
      () => true,
    );
  if (await fails("kind", ["version"])) return "kind is not installed";
  if (await fails("docker", ["version"])) return "no Docker engine answers";
  if (await fails("docker", ["pull", probeImage])) return "the Docker engine cannot pull images";
  return undefined;
}

export async function startInstalled(workers: number, say: Say): Promise<Started> {
  const folder = await mkdtemp(join(tmpdir(), "ipam-operator-kind-"));
  const guardian = startGuardian(folder);
  try {
    say(`creating the cluster ${name} with the installed kind ...`);
    const kubeconfig = await createCluster(program, { name, workers }, folder);
    const programs = { kind: "kind", kubectl: (await ensureBinaries()).kubectl };
    const access = { name, kubeconfig, folder, programs, engine: {} };
    const keep = () => {
      guardian.dismiss();
      return [`kept: export KUBECONFIG=${kubeconfig}`, `to end it: kind delete cluster --name ${name}`];
    };
    return { access, stop: guardian.act, keep };
  } catch (error) {
    await guardian.act();
    throw error;
  }
}

/** A shell that deletes the cluster at the end of its input, which comes when this process ends, however it ends. */
function startGuardian(folder: string) {
  const script = 'read -r word || { kind delete cluster --name "$1"; rm -rf "$2"; }';
  const shell = spawn("sh", ["-c", script, "sh", name, folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  return {
    act: async () => {
      shell.ref();
      shell.stdin.end();
      await once(shell, "exit");
    },
    dismiss: () => void shell.stdin.write("keep\n"),
  };
}
