/**
 * Other programs edit what the operator works on, ten times a second: the Installation for two minutes, then the configuration
 * and a role that the operator keeps as well. Every request of the operator is held back for a while, as by a network, so that
 * what it has read is often out of date when it writes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RBAC_SELECTOR, RBAC_TYPES } from "../../reconcilers/rbac.ts";
import type { Installation } from "../../src/api/installation.ts";
import type { KubeObject } from "../../src/api/meta.ts";
import { installationResource, resources } from "../../src/api/resources.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient, ResourceType } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { denied, OPERATOR_USER } from "../support/audit.ts";
import { recordUsage } from "../support/audit-usage.ts";
import { installOperatorRole, type RunningOperator, startOperator } from "../support/operator-process.ts";

const EDITED_FOR_MS = 120_000;
const EDIT_PERIOD_MS = 100;
const HELD_BACK_MS = 30;
const CONFIGURATION = resources.IPAMConfiguration.v3;

let cluster: ControlPlane;
let proxy: FaultProxy;
let admin: KubeClient;
let operator: RunningOperator;

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
  proxy = await startFaultProxy(cluster);
  admin = await connect({ kubeconfig: cluster.kubeconfig });
  const token = await installOperatorRole(cluster);
  proxy.delay({}, HELD_BACK_MS, Number.POSITIVE_INFINITY);
  operator = await startOperator(cluster, { kubeconfig: proxy.kubeconfigFor(token) });
});
afterAll(async () => {
  await operator?.stop();
  if (cluster) {
    expect(denied(await cluster.auditLog(), OPERATOR_USER)).toEqual([]);
    await recordUsage(cluster);
  }
  await admin?.close();
  await proxy?.stop();
  await cluster?.stop();
});

const merge = (type: ResourceType, name: string, patch: object) =>
  admin.patch<KubeObject>(type, name, patch, { type: "merge" });
const setCooldown = (ipCooldownSeconds: number) =>
  merge(installationResource, "default", { spec: { ipam: { ipCooldownSeconds } } });
const configured = async () =>
  (await admin.get<KubeObject & { spec: Record<string, unknown> }>(CONFIGURATION, "default")).spec;

/** @returns how often it was edited */
async function keepEditing(type: ResourceType, name: string, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now();
  let count = 0;
  while (!signal.aborted) {
    await merge(type, name, { metadata: { annotations: { "example.org/edit": String(++count) } } });
    await sleep(Math.max(0, startedAt + count * EDIT_PERIOD_MS - performance.now()));
  }
  return count;
}

/** Runs `work` while the objects are edited, each at least half as often as meant. */
async function whileEdited(objects: readonly [ResourceType, string][], work: () => Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const startedAt = performance.now();
  const edits = Promise.all(objects.map(([type, name]) => keepEditing(type, name, stop.signal)));
  await work().finally(() => stop.abort());
  const meant = (performance.now() - startedAt) / EDIT_PERIOD_MS;
  for (const count of await edits) expect(count).toBeGreaterThan(meant / 2);
}

/** Stored, and reported for the newest spec. */
const expectInForce = (ipCooldownSeconds: number, timeout: number) =>
  expect
    .poll(
      async () => {
        const { metadata, status } = await admin.get<Installation & KubeObject>(installationResource, "default");
        return {
          stored: (await configured())["ipCooldownSeconds"],
          reported: status?.effective?.ipCooldownSeconds,
          isNewest: status?.observedGeneration === metadata.generation,
          ready: status?.conditions?.find(({ type }) => type === "Ready")?.status,
        };
      },
      { timeout },
    )
    .toEqual({ stored: ipCooldownSeconds, reported: ipCooldownSeconds, isNewest: true, ready: "True" });

test("TRY-26: while the Installation is edited for two minutes, each new spec is in force within 5 s", {
  timeout: 240_000,
}, async () => {
  await admin.create(installationResource, {
    apiVersion: "ipam-operator.io/v1alpha1",
    kind: "Installation",
    metadata: { name: "default" },
    spec: { managementPolicy: "Enforce", ipam: { strictAffinity: true, ipCooldownSeconds: 10, maxBlocksPerHost: 7 } },
  });
  await whileEdited([[installationResource, "default"]], async () => {
    await expectInForce(10, 30_000);
    const until = performance.now() + EDITED_FOR_MS;
    for (let cooldown = 11; performance.now() < until; cooldown++) {
      await setCooldown(cooldown);
      await expectInForce(cooldown, 5000);
      await sleep(3000);
    }
  });
});

test("TRY-26: edits of the configuration and of a role do not stop a change, nor the correction of drift", async () => {
  const { items: roles } = await admin.list(RBAC_TYPES.ClusterRole, { labelSelector: RBAC_SELECTOR });
  const role = roles[0]!.metadata.name;
  const edited = [
    [installationResource, "default"],
    [CONFIGURATION, "default"],
    [RBAC_TYPES.ClusterRole, role],
  ] as const;
  await whileEdited(
    edited.map((object) => [...object]),
    async () => {
      await setCooldown(99);
      await expectInForce(99, 60_000);
      await merge(CONFIGURATION, "default", { spec: { maxBlocksPerHost: 3 } });
      await merge(RBAC_TYPES.ClusterRole, role, { rules: [] });
      const reverted = async () => [
        (await configured())["maxBlocksPerHost"],
        (await admin.get<KubeObject & { rules: unknown[] }>(RBAC_TYPES.ClusterRole, role)).rules.length > 0,
      ];
      await expect.poll(reverted, { timeout: 60_000 }).toEqual([7, true]);
    },
  );
});
