/** A cluster that is there already. It is left as it was found. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBinaries } from "../control-plane/binaries.ts";
import { type ClusterAccess, writeKubeconfigOf } from "./cluster.ts";
import { type KindProgram, listClusters } from "./create.ts";
import { keptEngineAddress } from "./engine.ts";
import { kindProgram } from "./programs.ts";
import type { Started } from "./started.ts";

/** Opens the cluster that the installed kind, or else an engine kept by an earlier run, has under this name. */
export async function openGiven(name: string, env: NodeJS.ProcessEnv = process.env): Promise<Started> {
  const engines = [{ kind: "kind", engine: {} as ClusterAccess["engine"] }, ...(await keptEngine())];
  const seen: string[] = [];
  for (const { kind, engine } of engines) {
    const program: KindProgram = { kind, env: { ...env, ...engine } };
    const clusters = await listClusters(program).catch((): string[] => []);
    if (clusters.includes(name)) return open(name, program, engine);
    seen.push(...clusters);
  }
  const there = seen.length === 0 ? "no cluster at all" : seen.join(", ");
  throw new Error(
    `There is no kind cluster ${name} (kind knows ${there}). Create it, or leave --kind out to have one made.`,
  );
}

async function keptEngine() {
  const engine = await keptEngineAddress();
  return engine === undefined ? [] : [{ kind: await kindProgram(), engine }];
}

async function open(name: string, program: KindProgram, engine: ClusterAccess["engine"]): Promise<Started> {
  const folder = await mkdtemp(join(tmpdir(), "ipam-operator-kind-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const kubeconfig = await writeKubeconfigOf(name, program, folder);
    const programs = { kind: program.kind, kubectl: (await ensureBinaries()).kubectl };
    return { access: { name, kubeconfig, folder, programs, engine }, stop: remove, keep: () => [] };
  } catch (error) {
    await remove();
    throw error;
  }
}
