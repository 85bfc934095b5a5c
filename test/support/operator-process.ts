/** The operator as a user runs it: its own process, under its own ServiceAccount with only the generated role. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { freePorts } from "../control-plane/processes.ts";

const root = join(import.meta.dirname, "../..");

export interface OperatorProcessOptions {
  /** Default: straight to the control plane, under the operator's ServiceAccount. */
  readonly kubeconfig?: string;
  readonly args?: readonly string[];
  /** Wait until /readyz says so; default true. */
  readonly waitUntilReady?: boolean;
}

export interface RunningOperator {
  readonly pid: number;
  /** Log lines so far. */
  readonly lines: readonly string[];
  readonly metricsUrl: string;
  readonly probesUrl: string;
  /** The exit code, once it has ended. */
  readonly exited: Promise<number | null>;
  ready(): Promise<void>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Installs the generated manifests of the operator and returns a token of its ServiceAccount. */
export async function installOperatorRole(controlPlane: ControlPlane): Promise<string> {
  await controlPlane.apply(join(root, "rbac/operator.yaml"));
  return controlPlane.serviceAccountToken("ipam-operator", "ipam-operator");
}

/** Starts `src/main.ts` and waits until it is ready. */
export async function startOperator(
  controlPlane: ControlPlane,
  options: OperatorProcessOptions = {},
): Promise<RunningOperator> {
  const kubeconfig = options.kubeconfig ?? controlPlane.kubeconfigFor(await installOperatorRole(controlPlane));
  const [metrics, probes] = (await freePorts(2)) as [number, number];
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--metrics-bind-address=127.0.0.1:${metrics}`,
    `--health-probe-bind-address=127.0.0.1:${probes}`,
    ...(options.args ?? []),
  ];
  const child = spawn(process.execPath, ["src/main.ts", ...flags], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  process.once("exit", () => child.kill("SIGKILL"));
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on("line", (line) => lines.push(line));
  const exited = once(child, "exit").then(([code]) => code as number | null);
  const probesUrl = `http://127.0.0.1:${probes}`;
  const operator: RunningOperator = {
    pid: child.pid!,
    lines,
    metricsUrl: `http://127.0.0.1:${metrics}/metrics`,
    probesUrl,
    exited,
    ready: () => untilReady(`${probesUrl}/readyz`, child, lines),
    stop: (signal = "SIGTERM") => {
      child.kill(signal);
      return exited;
    },
  };
  if (options.waitUntilReady ?? true) await operator.ready();
  return operator;
}

async function untilReady(url: string, child: { readonly exitCode: number | null }, lines: readonly string[]) {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline && child.exitCode === null) {
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the operator did not become ready:\n${lines.slice(-20).join("\n")}`);
}
