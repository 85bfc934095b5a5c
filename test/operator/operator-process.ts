/** Runs the operator as a process of its own, as a user does, and gives tests its output, probes and end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePorts } from "../control-plane/processes.ts";

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningOperator {
  readonly pid: number;
  readonly ports: { readonly probes: number; readonly metrics: number };
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly ended: Promise<Ended>;
  /** Status and body; status 0 while nothing listens. */
  probe(path: "/healthz" | "/readyz"): Promise<{ readonly status: number; readonly body: string }>;
  metrics(): Promise<string>;
  /** Sends a signal; resolves when the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** What to run instead of `src/main.ts`, such as the bundle. */
  readonly entry?: string;
}

const root = join(import.meta.dirname, "../..");
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts it on free ports; it is not ready yet. */
export async function startOperator(args: readonly string[], options: StartOptions = {}): Promise<RunningOperator> {
  const [probes, metrics] = (await freePorts(2)) as [number, number];
  const flags = [`--health-probe-bind-address=127.0.0.1:${probes}`, `--metrics-bind-address=127.0.0.1:${metrics}`];
  const child = spawn(process.execPath, [options.entry ?? join(root, "src/main.ts"), ...flags, ...args], {
    cwd: options.cwd ?? root,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const ended = once(child, "close").then(([code, signal]) => {
    running.delete(child);
    return { code, signal } as Ended;
  });
  return {
    pid: child.pid ?? 0,
    ports: { probes, metrics },
    stdout: linesOf(child.stdout),
    stderr: linesOf(child.stderr),
    ended,
    probe: async (path) => {
      const response = await fetch(`http://127.0.0.1:${probes}${path}`).catch(() => undefined);
      return { status: response?.status ?? 0, body: (await response?.text()) ?? "" };
    },
    metrics: async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text(),
    stop: (signal = "SIGTERM") => {
      child.kill(signal);
      return ended;
    },
  };
}

/** Grows as the process writes. */
function linesOf(stream: NodeJS.ReadableStream): string[] {
  const lines: string[] = [];
  createInterface({ input: stream }).on("line", (line) => lines.push(line));
  return lines;
}
