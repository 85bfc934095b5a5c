/** Two operators on one cluster: one works, and the other takes over when it goes, cleanly or not. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { edit, eventually, FAST, storedCooldown } from "./cluster.ts";
import { type RunningOperator, startOperator } from "./operator-process.ts";

let cluster: ControlPlane;
let proxy: FaultProxy;
const operators: RunningOperator[] = [];
let cooldown = 300;

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v1" });
  await cluster.kubectlOk(["create", "namespace", "ipam-operator"]);
  proxy = await startFaultProxy(cluster);
});
afterEach(async () => {
  proxy.clear();
  await Promise.all(operators.splice(0).map((operator) => operator.stop("SIGKILL")));
  await cluster.kubectl(["delete", "lease", "ipam-operator", "-n", "ipam-operator"]);
});
afterAll(async () => {
  await proxy?.stop();
  await cluster?.stop();
});

async function start(kubeconfig = cluster.kubeconfig): Promise<RunningOperator> {
  const operator = await startOperator([...FAST, "--kubeconfig", kubeconfig]);
  operators.push(operator);
  await eventually(async () => (await operator.probe("/readyz")).body).toBe("ok\n");
  return operator;
}
const leads = async (operator: RunningOperator) => /master_status\{.*\} 1$/m.test(await operator.metrics());
const stored = () => storedCooldown(cluster, "v1");

async function leaderAndStandby(): Promise<[RunningOperator, RunningOperator]> {
  const leader = await start();
  await eventually(() => leads(leader)).toBe(true);
  const standby = await start();
  expect(await leads(standby)).toBe(false);
  return [leader, standby];
}

test("a clean stop hands over within three seconds", async () => {
  const [leader, standby] = await leaderAndStandby();
  await edit(cluster, ++cooldown);
  await eventually(stored).toBe(cooldown);
  expect(await leader.stop()).toEqual({ code: 0, signal: null });
  await edit(cluster, ++cooldown);
  await eventually(stored, 3000).toBe(cooldown);
  expect(await leads(standby)).toBe(true);
});

test("after kill -9 the other works within twenty seconds", async () => {
  const [leader, standby] = await leaderAndStandby();
  await leader.stop("SIGKILL");
  await edit(cluster, ++cooldown);
  await eventually(stored, 20_000).toBe(cooldown);
  expect(await leads(standby)).toBe(true);
});

test("a lost lease is not the end: it stops working, and stands again", async () => {
  const operator = await start(proxy.kubeconfig);
  await eventually(() => leads(operator)).toBe(true);
  proxy.fail({ path: "leases", watch: false }, { status: 500, times: Number.POSITIVE_INFINITY });
  await eventually(() => leads(operator)).toBe(false);
  expect((await operator.probe("/readyz")).status).toBe(200);
  proxy.clear();
  await eventually(() => leads(operator)).toBe(true);
  await edit(cluster, ++cooldown);
  await eventually(stored).toBe(cooldown);
});

test("a stop lets the write under way finish", async () => {
  const operator = await start(proxy.kubeconfig);
  await eventually(() => leads(operator)).toBe(true);
  await eventually(stored).toBe(cooldown);
  proxy.delay({ path: "ipamconfigs", method: "PUT" }, 8000, 1); // time enough to see it under way
  await edit(cluster, ++cooldown);
  await eventually(() =>
    proxy.requestsMatching({ path: "ipamconfigs", method: "PUT" }).some(({ status }) => status === 0),
  ).toBe(true);
  const ended = operator.stop();
  await eventually(async () => (await operator.probe("/readyz")).status).toBe(503);
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(await stored()).toBe(cooldown);
  const holder = await cluster.kubectlOk([
    "get",
    "lease",
    "ipam-operator",
    "-n",
    "ipam-operator",
    "-o",
    "jsonpath={.spec.holderIdentity}",
  ]);
  expect(holder).toBe("");
});
