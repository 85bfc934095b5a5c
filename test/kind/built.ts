/** A cluster made with no image registry: engine, node image and kind itself from Debian packages and Go modules. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createCluster } from "./create.ts";
import { type Engine, startEngine } from "./engine.ts";
import { engineAddress, engineFolder } from "./engine-process.ts";
import { ensureHostPackages } from "./host.ts";
import { ensureNodeImage } from "./node-image/build.ts";
import { ensurePrograms, type Programs } from "./programs.ts";
import { clusterName as name, type Say, type Started } from "./started.ts";

export async function startBuilt(workers: number, say: Say): Promise<Started> {
  await ensureHostPackages(say);
  const programs = await ensurePrograms();
  const engine = await startEngine(programs("bounded-runc"));
  try {
    return await startIn(engine, programs, workers, say);
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

async function startIn(engine: Engine, programs: Programs, workers: number, say: Say): Promise<Started> {
  const image = await ensureNodeImage(engine.docker, programs, say);
  const folder = join(engineFolder(), "cluster");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  say(`creating the cluster ${name} ...`);
  const cluster = { name, workers, image, apiServer: { address: engineAddress, port: 6443 } } as const;
  const kind = { kind: programs("kind"), env: engine.docker.env };
  const kubeconfig = await createCluster(kind, { ...cluster, kubeProxyMode: "nftables" }, folder);
  const access = {
    ...{ name, kubeconfig, folder, engine: engine.address },
    programs: { kind: programs("kind"), kubectl: programs("kubectl") },
  };
  const stop = async () => {
    await engine.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const keep = () => {
    engine.keep();
    const settings = Object.entries(engine.address).map(([key, value]) => `${key}=${value}`);
    return [`kept: export KUBECONFIG=${kubeconfig} ${settings.join(" ")}`, "to end it: npm run e2e -- --down"];
  };
  return { access, stop, keep };
}
