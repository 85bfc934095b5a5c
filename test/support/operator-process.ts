/** The operator as it runs in a cluster: its own process, under its own ServiceAccount with only the generated role. */
import { expect, vi } from "vitest";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { type RunningOperator, startOperator as startProcess } from "../operator/operator-process.ts";

export type { RunningOperator } from "../operator/operator-process.ts";

export interface OperatorProcessOptions {
  /** Default: straight to the control plane, under the operator's ServiceAccount. */
  readonly kubeconfig?: string;
  readonly args?: readonly string[];
  /** Wait until /readyz says so; default true. */
  readonly waitUntilReady?: boolean;
}

/** Installs the generated manifests of the operator and returns a token of its ServiceAccount. */
export async function installOperatorRole(controlPlane: ControlPlane): Promise<string> {
  await controlPlane.apply("rbac/operator.yaml");
  return controlPlane.serviceAccountToken("ipam-operator", "ipam-operator");
}

/** Starts it on a control plane and waits until it is ready. */
export async function startOperator(
  controlPlane: ControlPlane,
  { kubeconfig, args = [], waitUntilReady = true }: OperatorProcessOptions = {},
): Promise<RunningOperator> {
  const file = kubeconfig ?? controlPlane.kubeconfigFor(await installOperatorRole(controlPlane));
  const operator = await startProcess([`--kubeconfig=${file}`, ...args]);
  if (waitUntilReady) await untilReady(operator);
  return operator;
}

/** Also usable in a hook, where expect.poll is not. */
export const untilReady = (operator: RunningOperator): Promise<void> =>
  vi.waitFor(async () => expect(await operator.probe("/readyz")).toMatchObject({ status: 200 }), {
    timeout: 90_000,
    interval: 50,
  });
