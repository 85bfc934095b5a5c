/** A Docker engine of the tests' own: in namespaces of its own, with no way out, gone with the process that started it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheFolder } from "../tools/go-build.ts";
import { Docker } from "./docker.ts";
import { namespaces, run } from "./processes.ts";

const startLimitMs = 60_000;
const stopLimitMs = 60_000;
/** RFC 2544 sets this network apart for tests between machines, so that none is expected to use it otherwise. */
const link = { name: "ipam-kind", host: "198.18.77.1", engine: "198.18.77.2" };

/** Where the API servers of the engine's clusters can be reached from this machine. */
export const engineAddress = link.engine;

export interface Engine {
  readonly docker: Docker;
  /** The environment that leads docker's client and kind to it. */
  readonly address: Readonly<Record<string, string>>;
  /** Lets the engine and its containers outlive this process. */
  keep(): void;
  /** Removes all containers, and ends the engine and all it started. */
  stop(): Promise<void>;
}

/** Folder of the engine: its images, which are dear to make, and its socket, log and process id. */
export const engineFolder = () => join(cacheFolder(), "kind-engine");

/** Starts the engine. `runtime` is the path of its OCI runtime. There can be one at a time. */
export async function startEngine(runtime: string): Promise<Engine> {
  await refuseSecond();
  const folder = engineFolder();
  await mkdir(folder, { recursive: true });
  const child = spawnEngine(folder, socketOf(folder), runtime);
  await once(child, "spawn");
  await writeFile(pidFile(), String(child.pid));
  const address = addressOf(folder);
  const docker = new Docker({ ...process.env, ...address });
  const engine = { docker, address, keep: () => void child.stdin!.write("keep\n"), stop: () => stop(docker, child) };
  try {
    await untilReady(docker, child, folder);
    await removeContainers(docker); // of an engine that was killed
    return engine;
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

function socketOf(folder: string): string {
  const socket = join(folder, "docker.sock");
  if (socket.length <= 100) return socket;
  throw new Error(`${socket} is too long for a socket (100 characters): set IPAM_OPERATOR_CACHE to a shorter path.`);
}

/** Without BuildKit, which this engine's version has not got in full. */
const addressOf = (folder: string) => ({ DOCKER_HOST: `unix://${socketOf(folder)}`, DOCKER_BUILDKIT: "0" });

/** As an engine's `address`, of one that an earlier process kept. */
export async function keptEngineAddress(): Promise<Engine["address"] | undefined> {
  return (await runningPid()) === undefined ? undefined : addressOf(engineFolder());
}

function spawnEngine(folder: string, socket: string, runtime: string): ChildProcess {
  const log = openSync(join(folder, "engine.log"), "w");
  const script = [join(import.meta.dirname, "engine.sh"), join(folder, "data"), socket];
  const args = [...namespaces, "sh", ...script, link.name, link.host, link.engine, runtime];
  const child = spawn("unshare", args, { detached: true, stdio: ["pipe", log, log] });
  closeSync(log);
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return child;
}

async function untilReady(docker: Docker, child: ChildProcess, folder: string): Promise<void> {
  let cause: unknown;
  for (const started = Date.now(); Date.now() - started < startLimitMs; await sleep(200)) {
    if (child.exitCode !== null) break;
    const problem = await docker.run(["version"]).then(
      () => undefined,
      (error: Error) => error,
    );
    if (problem === undefined) return;
    cause = problem;
  }
  const log = (await readFile(join(folder, "engine.log"), "utf8")).split("\n").slice(-20).join("\n");
  const what = `The Docker engine in ${folder} does not answer. It needs root, namespaces and cgroups. It said:\n${log}`;
  throw new Error(what, { cause });
}

async function stop(docker: Docker, child: ChildProcess): Promise<void> {
  await removeContainers(docker).catch(() => undefined); // they end with the engine in any case
  child.ref();
  child.stdin!.end();
  await gone(child.pid!);
  await removeCgroups();
}

async function removeContainers(docker: Docker): Promise<void> {
  const containers = await docker.list(["ps", "--all", "--quiet"]);
  if (containers.length > 0) await docker.run(["rm", "--force", "--volumes", ...containers]);
  await docker.run(["volume", "prune", "--force"]);
  await docker.run(["network", "prune", "--force"]);
}

/** Ends an engine that an earlier process kept; says whether there was one. */
export async function stopKeptEngine(): Promise<boolean> {
  const pid = await runningPid();
  if (pid === undefined) return false;
  process.kill(pid, "SIGKILL");
  await gone(pid);
  await removeCgroups();
  return true;
}

/** Waits a while for an engine that is ending. */
async function refuseSecond(): Promise<void> {
  let pid = await runningPid();
  for (let tries = 0; pid !== undefined && tries < 20; tries++) {
    await sleep(1000);
    pid = await runningPid();
  }
  if (pid === undefined) {
    await run("ip", ["link", "delete", link.name]).catch(() => undefined); // of an engine that was killed as it started
    return;
  }
  throw new Error(
    `A Docker engine of these tests runs already (process ${pid}): another run is at work, or an earlier one was told ` +
      "to keep its cluster. Use that cluster with `npm run e2e -- --kind ipam-operator`, or end it with `npm run e2e -- --down`.",
  );
}

const pidFile = () => join(engineFolder(), "pid");

async function runningPid(): Promise<number | undefined> {
  const pid = Number(await readFile(pidFile(), "utf8").catch(() => ""));
  if (pid === 0) return undefined;
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return command.includes("engine.sh") ? pid : undefined;
}

async function gone(pid: number): Promise<void> {
  for (const started = Date.now(); Date.now() - started < stopLimitMs; await sleep(100)) {
    const state = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    if (state === "" || / Z /.test(state)) return;
  }
  process.kill(pid, "SIGKILL"); // all that the engine started ends with it
}

/** The containers' control groups, empty by now, in every hierarchy. */
async function removeCgroups(): Promise<void> {
  const root = "/sys/fs/cgroup";
  const hierarchies = ["", ...(await readdir(root))].map((name) => join(root, name, "ipam-operator-kind"));
  for (const group of hierarchies) await removeTree(group);
}

async function removeTree(group: string): Promise<void> {
  const entries = await readdir(group, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(group, entry.name));
  await rmdir(group).catch(() => undefined);
}
