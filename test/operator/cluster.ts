/** What the process tests do on a cluster through kubectl, and read back from it. */
import { expect } from "vitest";
import type { ControlPlane } from "../control-plane/control-plane.ts";

/** Scaled-down times: a watch that is silent for 3 s is renewed, what is missing is looked for each second. */
export const FAST = ["--watch-idle-timeout=3s", "--discovery-period=1s", "--log-level=debug"] as const;
export const ALONE = ["--leader-elect=false"] as const;

export const eventually = <T>(read: () => T | Promise<T>, timeout = 60_000) =>
  expect.poll(read, { timeout, interval: 100 });

export const installation = (cooldown: number) => `
apiVersion: ipam-operator.io/v1alpha1
kind: Installation
metadata: {name: default}
spec: {managementPolicy: Enforce, ipam: {ipCooldownSeconds: ${cooldown}}}
`;

/** A user's edit. */
export async function edit(cluster: ControlPlane, cooldown: number): Promise<void> {
  await cluster.apply(installation(cooldown));
}

/** The cooldown that the cluster's IPAM works with; undefined where nothing is stored. */
export async function storedCooldown(
  cluster: ControlPlane,
  generation: "v1" | "v3" = "v3",
): Promise<number | undefined> {
  const kind = generation === "v3" ? "ipamconfigurations.projectcalico.org" : "ipamconfigs.v1.crd.projectcalico.org";
  const { code, stdout } = await cluster.kubectl(["get", kind, "default", "-o", "jsonpath={.spec.ipCooldownSeconds}"]);
  return code === 0 && stdout !== "" ? Number(stdout) : undefined;
}

export const readyReason = (cluster: ControlPlane) => ofReady(cluster, "reason");
export const readyMessage = (cluster: ControlPlane) => ofReady(cluster, "message");

async function ofReady(cluster: ControlPlane, field: "reason" | "message"): Promise<string> {
  const path = `jsonpath={.status.conditions[?(@.type=='Ready')].${field}}`;
  return (await cluster.kubectl(["get", "ipaminst", "default", "-o", path])).stdout;
}
