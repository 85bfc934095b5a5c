/** A Docker engine of the tests' own: in namespaces of its own, with no way out, gone with the process that started it. */
import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Docker } from "./docker.ts";
import { engineLog, engineSocket, runningEngine, spawnEngine, untilEnded, untilNoEngine } from "./engine-process.ts";

const startLimitMs = 60_000;

export interface Engine {
  readonly docker: Docker;
  /** The environment that leads docker's client and kind to it. */
  readonly address: Readonly<Record<string, string>>;
  /** Lets the engine and its containers outlive this process. */
  keep(): void;
  /** Ends the engine and all it started. */
  stop(): Promise<void>;
}

/** Starts the engine. `runtime` is the path of its OCI runtime. There can be one at a time. */
export async function startEngine(runtime: string): Promise<Engine> {
  await untilNoEngine();
  const child = await spawnEngine(runtime);
  const address = addressNow();
  const docker = new Docker({ ...process.env, ...address });
  const engine = { docker, address, keep: () => void child.stdin!.write("keep\n"), stop: () => stop(docker, child) };
  try {
    await untilReady(docker, child);
    await removeContainers(docker); // of an engine that was killed
    return engine;
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

/** Without BuildKit, which this engine's version has not got in full. */
const addressNow = () => ({ DOCKER_HOST: `unix://${engineSocket()}`, DOCKER_BUILDKIT: "0" });

async function untilReady(docker: Docker, child: ChildProcess): Promise<void> {
  let cause: unknown;
  for (const since = Date.now(); Date.now() - since < startLimitMs && child.exitCode === null; await sleep(200)) {
    try {
      await docker.run(["version"]);
      return;
    } catch (error) {
      cause = error;
    }
  }
  const log = (await readFile(engineLog(), "utf8")).split("\n").slice(-20).join("\n");
  throw new Error(`The Docker engine does not answer; it needs root, namespaces and cgroups. It said:\n${log}`, {
    cause,
  });
}

async function stop(docker: Docker, child: ChildProcess): Promise<void> {
  await removeContainers(docker).catch(() => undefined); // they end with the engine in any case
  child.ref();
  child.stdin!.end();
  await untilEnded(child.pid!);
}

async function removeContainers(docker: Docker): Promise<void> {
  const containers = await docker.list(["ps", "--all", "--quiet"]);
  // Each by itself: in one command they would end one after the other.
  await Promise.all(containers.map((container) => docker.run(["rm", "--force", "--volumes", container])));
  await docker.run(["volume", "prune", "--force"]);
  await docker.run(["network", "prune", "--force"]);
}

/** The `address` of an engine that an earlier process kept. */
export async function keptEngineAddress(): Promise<Engine["address"] | undefined> {
  return (await runningEngine()) === undefined ? undefined : addressNow();
}
