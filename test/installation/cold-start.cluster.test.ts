/** Starting, and being unable to write: nothing is decided before all is known, and no edit is lost or half answered. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { comesToRest } from "../faults/quiet.ts";
import { installOperatorRole, type RunningOperator, startOperator } from "../support/operator-process.ts";
import { type User, userOf } from "./user.ts";

const CONFIGURATIONS = /\/ipamconfigurations(\/default)?$/;
const NODES = /\/nodes$/;

let cluster: ControlPlane;
let proxy: FaultProxy;
let operators: RunningOperator[];
let user: User;

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
  proxy = await startFaultProxy(cluster);
  user = userOf(cluster, "v3");
  await user.enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
  proxy.delay({ path: NODES, watch: false }, 1500, 2);
  const kubeconfig = proxy.kubeconfigFor(await installOperatorRole(cluster));
  operators = await Promise.all([startOperator(cluster, { kubeconfig }), startOperator(cluster, { kubeconfig })]);
});
afterAll(async () => {
  await Promise.all((operators ?? []).map((operator) => operator.stop()));
  await proxy?.stop();
  await cluster?.stop();
});

const writesOfConfiguration = () =>
  proxy.requestsMatching({ path: CONFIGURATIONS }).filter(({ method }) => method === "POST" || method === "PUT");

it("CFG-14: two replicas start at once; one of them writes, once, and not before it has seen the nodes", async () => {
  await expect.poll(user.reasons).toEqual(["Ready=True Succeeded"]);
  expect(writesOfConfiguration().map(({ method, status }) => `${method} ${status}`)).toEqual(["POST 201"]);
  const [firstNodes] = proxy.requestsMatching({ path: NODES, watch: false });
  const [write] = writesOfConfiguration();
  expect(write!.time - firstNodes!.time).toBeGreaterThanOrEqual(1500);
});

it("idle, the leader renews its lease and the other asks nothing; watches are not even renewed yet", async () => {
  await comesToRest(proxy, ({ path }) => path.includes("/leases/"));
  const before = proxy.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 8000));
  const asked = proxy.requests.slice(before).filter(({ watch }) => !watch);
  expect(asked.length).toBeGreaterThan(1);
  expect([...new Set(asked.map(({ method, path }) => `${method} ${path}`))]).toEqual([
    "PUT /apis/coordination.k8s.io/v1/namespaces/ipam-operator/leases/ipam-operator",
  ]);
});

it("CFG-11: three quick edits while nothing can be written end in one true status, without a restart", async () => {
  proxy.fail({ method: "PUT", path: CONFIGURATIONS }, { status: 503, times: Number.POSITIVE_INFINITY });
  for (const maxBlocksPerHost of [9, 10, 11]) await user.enforce({ strictAffinity: true, maxBlocksPerHost });
  await expect
    .poll(user.reasons, { timeout: 60_000 })
    .toEqual(["Ready=Unknown Unavailable", "Reconciling=True Unavailable"]);
  const { metadata, status } = (await user.installation())!;
  expect(status?.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([
    metadata.generation,
    metadata.generation,
  ]);
  expect(await user.message()).toMatch(/503|unavailable/i);
  expect((await user.spec())?.maxBlocksPerHost).toBe(8);
  proxy.clear();
  await expect.poll(user.reasons, { timeout: 60_000 }).toEqual(["Ready=True Succeeded"]);
  expect((await user.spec())?.maxBlocksPerHost).toBe(11);
});
