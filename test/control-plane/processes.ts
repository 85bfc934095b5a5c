/** The servers a control plane starts, and the promise that none of them outlives the process that started it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

/** A server running in the background, its output in a file. */
export interface Daemon {
  readonly name: string;
  readonly pid: number;
  /** Whether the process has ended, by itself or killed. */
  readonly exited: boolean;
  /** The last lines it printed. */
  tail(): string;
  /** Kills it (no farewell) and waits until it is gone. */
  kill(): Promise<void>;
}

/** Starts `command` with its output in `dir/name.log` and its process id in `dir/name.pid`, where the guardian finds it. */
export async function startDaemon(dir: string, name: string, command: string, args: string[]): Promise<Daemon> {
  const logFile = join(dir, `${name}.log`);
  const log = openSync(logFile, "a");
  const child = spawn(command, args, { cwd: dir, stdio: ["ignore", log, log] });
  closeSync(log);
  await once(child, "spawn");
  child.unref();
  const pidFile = join(dir, `${name}.pid`);
  writeFileSync(pidFile, String(child.pid));
  child.once("exit", () => rmSync(pidFile, { force: true })); // the number may be another process's from now on
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  return {
    name,
    pid: child.pid!,
    get exited() {
      return hasExited();
    },
    tail: () => readFileSync(logFile, "utf8").split("\n").slice(-15).join("\n"),
    kill: () => killAndWait(child, hasExited),
  };
}

async function killAndWait(child: ChildProcess, hasExited: () => boolean): Promise<void> {
  if (hasExited()) return;
  child.ref();
  child.kill("SIGKILL");
  await once(child, "exit");
}

/**
 * Starts a shell that waits for the end of its input, which comes when this process dies, however it dies; then it kills
 * every process with a pid file in `dir` and removes `dir`. Returns the function that lets it do so now.
 */
export function startGuardian(dir: string): () => Promise<void> {
  const script = `cat >/dev/null
    for file in "$0"/*.pid; do kill -9 "$(cat "$file")" 2>/dev/null; done
    rm -rf "$0" || { sleep 1; rm -rf "$0"; } # a dying process may still write a file`;
  const guardian = spawn("sh", ["-c", script, dir], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  const exited = new Promise<void>((resolve) => guardian.once("exit", () => resolve()));
  guardian.unref();
  (guardian.stdin as unknown as { unref(): void }).unref();
  return async () => {
    guardian.ref();
    guardian.stdin.end();
    await exited;
  };
}

const FIRST_PORT = 10_000;
const PORTS_OF_A_PROCESS = 50;
const given = { count: 0 };

/**
 * Finds `count` free loopback ports below the range from which the system gives ports to outgoing connections. Whoever
 * gets one binds it only later: so each process gives from a range of its own, and none twice in a row.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  const ownRange = FIRST_PORT + (process.pid % 400) * PORTS_OF_A_PROCESS;
  while (ports.length < count) {
    const port = ownRange + (given.count++ % PORTS_OF_A_PROCESS);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  const free = await listening;
  await new Promise<void>((resolve) => (free ? server.close(() => resolve()) : resolve()));
  return free;
}
