/** Events as a real API server takes them and kubectl shows them. */
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import type { KubeObject } from "../api/meta.ts";
import { createEventRecorder, EVENTS, type KubeEventRecorder } from "./events.ts";
import { connect } from "./rest.ts";
import type { KubeClient } from "./types.ts";

let controlPlane: ControlPlane;
let client: KubeClient;
let events: KubeEventRecorder;
const logged: string[] = [];
const log = pino({ level: "warn" }, { write: (line: string) => logged.push(line) });

beforeAll(async () => {
  controlPlane = await startControlPlane();
  client = await connect({ kubeconfig: controlPlane.kubeconfig });
  events = createEventRecorder({ client, log, controller: "ipam-operator", instance: "ipam-operator-7d9f-abcde" });
});
afterAll(async () => {
  await client?.close();
  await controlPlane?.stop();
});

const clusterRole = (name: string): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name, uid: `uid-of-${name}` },
});
const about = async (name: string, namespace = "default") => {
  const { items } = await client.list<KubeObject & { regarding: { name: string } }>(EVENTS, { namespace });
  return items.filter(({ regarding }) => regarding.name === name);
};

test("an event about a cluster-scoped object is in `default` and complete", async () => {
  events.event(clusterRole("default"), "Warning", "Drift", "maxBlocksPerHost was changed", "Reconcile");
  await events.flush();
  expect(await about("default")).toEqual([
    expect.objectContaining({
      reportingController: "ipam-operator",
      reportingInstance: "ipam-operator-7d9f-abcde",
      type: "Warning",
      reason: "Drift",
      action: "Reconcile",
      note: "maxBlocksPerHost was changed",
      eventTime: expect.stringMatching(/\.\d{6}Z$/),
      regarding: expect.objectContaining({ kind: "ClusterRole", name: "default", uid: "uid-of-default" }),
    }),
  ]);
  expect(await controlPlane.kubectlOk(["get", "events"])).toContain("maxBlocksPerHost was changed");
});

test("an event about a namespaced object is in its namespace", async () => {
  const metadata = { name: "kube-root-ca.crt", namespace: "kube-system" };
  events.event({ apiVersion: "v1", kind: "ConfigMap", metadata }, "Normal", "Seen", "It was seen.", "Look");
  await events.flush();
  expect(await about("kube-root-ca.crt", "kube-system")).toHaveLength(1);
});

test("repeats become one series", async () => {
  for (let count = 0; count < 3; count++) {
    events.event(clusterRole("often"), "Normal", "Seen", "It was seen.", "Look");
    await events.flush();
  }
  const [event, ...others] = await about("often");
  expect(others).toEqual([]);
  expect(event).toMatchObject({ series: { count: 3, lastObservedTime: expect.stringMatching(/\.\d{6}Z$/) } });
});

test.each(["ipam-operator:cni-plugin", "UPPER.dots..and_more", "a".repeat(253)])(
  "an object's name may be %s",
  async (name) => {
    events.event(clusterRole(name), "Normal", "Seen", "It was seen.", "Look");
    await events.flush();
    expect(await about(name)).toHaveLength(1);
  },
);

test("a note that is too long is taken, cut", async () => {
  events.event(clusterRole("long"), "Normal", "Seen", "ü".repeat(2000), "Look");
  await events.flush();
  expect(await about("long")).toHaveLength(1);
  expect(logged).toEqual([]);
});
