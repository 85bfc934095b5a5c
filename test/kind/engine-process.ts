/** The process that all of the engine hangs from, see engine.sh. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheFolder } from "../tools/go-build.ts";
import { namespaces, run } from "./processes.ts";

const endLimitMs = 60_000;
/** RFC 2544 sets this network apart for tests between machines, so that none is expected to use it otherwise. */
const link = { name: "ipam-kind", host: "198.18.77.1", engine: "198.18.77.2" };

/** Where the API servers of the engine's clusters can be reached from this machine. */
export const engineAddress = link.engine;

/** Folder of the engine: its images, which are dear to make, and its socket, log and process id. */
export const engineFolder = () => join(cacheFolder(), "kind-engine");

export const engineLog = () => join(engineFolder(), "engine.log");

export function engineSocket(): string {
  const socket = join(engineFolder(), "docker.sock");
  if (socket.length <= 100) return socket;
  throw new Error(`${socket} is too long for a socket (100 characters): set IPAM_OPERATOR_CACHE to a shorter path.`);
}

/** Starts the engine's process; `runtime` is the path of the engine's OCI runtime. */
export async function spawnEngine(runtime: string): Promise<ChildProcess> {
  const folder = engineFolder();
  await mkdir(folder, { recursive: true });
  const log = openSync(engineLog(), "w");
  const script = [join(import.meta.dirname, "engine.sh"), join(folder, "data"), engineSocket()];
  const args = [...namespaces, "sh", ...script, link.name, link.host, link.engine, runtime];
  const child = spawn("unshare", args, { detached: true, stdio: ["pipe", log, log] });
  closeSync(log);
  await once(child, "spawn");
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  await writeFile(pidFile(), String(child.pid));
  return child;
}

const pidFile = () => join(engineFolder(), "pid");

/** The process id of the engine that runs on this machine, whoever started it. */
export async function runningEngine(): Promise<number | undefined> {
  const pid = Number(await readFile(pidFile(), "utf8").catch(() => ""));
  if (pid === 0) return undefined;
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return command.includes("engine.sh") ? pid : undefined;
}

/** Waits a while for an engine that is ending; there can be one at a time. */
export async function untilNoEngine(): Promise<void> {
  let pid = await runningEngine();
  for (let tries = 0; pid !== undefined && tries < 30; tries++) {
    await sleep(1000);
    pid = await runningEngine();
  }
  if (pid !== undefined) {
    throw new Error(
      `A Docker engine of these tests runs already (process ${pid}): another run is at work, or an earlier one kept its ` +
        "cluster. Use that with `npm run e2e -- --kind ipam-operator`, or end it with `npm run e2e -- --down`.",
    );
  }
  await run("ip", ["link", "delete", link.name]).catch(() => undefined); // of an engine that was killed as it started
}

/** Waits for the process's end, which is that of all it started. */
export async function untilEnded(pid: number): Promise<void> {
  for (const since = Date.now(); await isRunning(pid); await sleep(100)) {
    if (Date.now() - since > endLimitMs) process.kill(pid, "SIGKILL");
  }
}

async function isRunning(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return state !== "" && !state.includes(") Z ");
}

/** Ends the engine that runs, whoever started it, and all it started; says whether there was one. */
export async function endRunningEngine(): Promise<boolean> {
  const pid = await runningEngine();
  if (pid === undefined) return false;
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  for (const child of children.trim().split(" ")) process.kill(Number(child), "SIGTERM");
  await untilEnded(pid);
  return true;
}
