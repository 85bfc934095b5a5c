/** Leader election on a real API server; the way there is disturbed by the fault proxy. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../../test/faults/proxy.ts";
import { createElector, type ElectorOptions } from "./lease.ts";
import { LEASES, type Lease } from "./lease-record.ts";
import { connect } from "./rest.ts";
import type { KubeClient } from "./types.ts";

const namespace = "default";
const scaledDown = { leaseDurationMs: 6000, renewDeadlineMs: 4000, retryPeriodMs: 500 };
/** Beyond any time that a leader may go without a renewal. */
const BEYOND_DEADLINE_MS = scaledDown.renewDeadlineMs + 1000;
const soon = { timeout: 30_000, interval: 10 };
const asByDefault = { leaseDurationMs: undefined, renewDeadlineMs: undefined, retryPeriodMs: undefined };
const holder = fileURLToPath(new URL("../../test/support/lease-holder.ts", import.meta.url));

let controlPlane: ControlPlane;
let proxy: FaultProxy;
let direct: KubeClient;
let viaProxy: KubeClient;
const running: { stop: AbortController; ended: Promise<void> }[] = [];
let leases = 0;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  proxy = await startFaultProxy(controlPlane);
  direct = await connect({ kubeconfig: controlPlane.kubeconfig });
  viaProxy = await connect({ kubeconfig: proxy.kubeconfig });
});
afterAll(async () => {
  await Promise.all([direct?.close(), viaProxy?.close()]);
  await proxy?.stop();
  await controlPlane?.stop();
});
afterEach(async () => {
  proxy.clear();
  await proxy.acceptAll();
  for (const { stop } of running) stop.abort();
  await Promise.allSettled(running.splice(0).map(({ ended }) => ended));
});

/** Runs an elector and notes what it says, with the time. */
function stand(name: string, identity: string, more: Partial<ElectorOptions> = {}) {
  const told: string[] = [];
  const stop = new AbortController();
  const elector = createElector({
    client: direct,
    namespace,
    name,
    identity,
    log: pino({ level: "silent" }),
    ...scaledDown,
    onStartedLeading: () => {
      told.push("started");
    },
    onStoppedLeading: () => {
      told.push("stopped");
    },
    onNewLeader: (leader) => {
      told.push(`leader ${leader}`);
    },
    ...more,
  });
  const ended = elector.run(stop.signal);
  ended.catch(() => {});
  running.push({ stop, ended });
  const leads = (timeout = soon.timeout) => vi.waitFor(() => expect(elector.isLeader).toBe(true), { ...soon, timeout });
  const stopsLeading = (timeout = soon.timeout) =>
    vi.waitFor(() => expect(elector.isLeader).toBe(false), { ...soon, timeout });
  return { elector, told, stop, ended, leads, stopsLeading };
}

const newName = () => `lease-${leases++}`;
const read = (name: string) => direct.get<Lease>(LEASES, name, { namespace });
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("WCH-05: the Lease is written as other clients expect it", async () => {
  const name = newName();
  const { leads, told, elector } = stand(name, "a");
  expect(elector.hasReachedApi).toBe(false);
  await leads();
  const { spec } = await read(name);
  const micro = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(spec).toEqual({
    holderIdentity: "a",
    leaseDurationSeconds: 6,
    leaseTransitions: 0,
    acquireTime: micro,
    renewTime: micro,
  });
  expect([told, elector.hasReachedApi]).toEqual([["leader a", "started"], true]);
});

test("idle: the leader only renews, the standby asks for nothing", async () => {
  const name = newName();
  const [one, other] = [stand(name, "a", { client: viaProxy }), stand(name, "b", { client: viaProxy })];
  await vi.waitFor(() => expect(one.elector.isLeader !== other.elector.isLeader).toBe(true), soon);
  await vi.waitFor(() => expect(other.elector.hasReachedApi && one.elector.hasReachedApi).toBe(true), soon);
  await pause(1000);
  const since = proxy.requests.length;
  await pause(4000);
  const asked = proxy.requests.slice(since).map(({ method, path }) => `${method} ${path}`);
  expect(new Set(asked)).toEqual(new Set([`PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/${name}`]));
  expect([one.told, other.told].flat().filter((each) => each === "started")).toHaveLength(1);
});

test("with the default times, a released Lease has its next leader within 3 s", async () => {
  const name = newName();
  const first = stand(name, "a", asByDefault);
  await first.leads();
  const second = stand(name, "b", asByDefault);
  await vi.waitFor(() => expect(second.told).toEqual(["leader a"]), soon);
  first.stop.abort();
  await second.leads(3000);
  await first.ended;
  expect(first.told).toEqual(["leader a", "started", "stopped"]);
  expect((await read(name)).spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
});

test("with the default times, a leader killed by -9 is followed within 20 s, and not before its lease is over", async () => {
  const name = newName();
  const child = spawn(process.execPath, [holder, controlPlane.kubeconfig, name, "child"], { stdio: "pipe" });
  try {
    await once(child.stdout, "data");
    const standby = stand(name, "b", asByDefault);
    await vi.waitFor(() => expect(standby.told).toEqual(["leader child"]), soon);
    await pause(3000);
    const lastRenewal = Date.parse((await read(name)).spec!.renewTime!);
    child.kill("SIGKILL");
    await standby.leads(20_000);
    expect(Date.now() - lastRenewal).toBeGreaterThan(14_000);
  } finally {
    child.kill("SIGKILL");
  }
});

test("leadership ends at the renew deadline though the API cannot be reached, before the Lease is over, and comes again", async () => {
  const { leads, stopsLeading, told } = stand(newName(), "a", { client: viaProxy });
  await leads();
  await proxy.refuseAll();
  await stopsLeading(scaledDown.leaseDurationMs);
  await proxy.acceptAll();
  await leads();
  expect(told).toEqual(["leader a", "started", "stopped", "started"]);
});

test("leadership ends at the renew deadline though renewals hang", async () => {
  const { leads, stopsLeading } = stand(newName(), "a", { client: viaProxy });
  await leads();
  proxy.delay({ method: "PUT" }, 60_000, Number.POSITIVE_INFINITY);
  await stopsLeading(scaledDown.leaseDurationMs);
});

test.each([
  ["one renewal that hangs", () => proxy.delay({ method: "PUT" }, 60_000, 1)],
  ["a renewal whose answer is lost", () => proxy.reset({ method: "PUT" }, 1, { afterUpstream: true })],
  ["a renewal refused with 500", () => proxy.fail({ method: "PUT" }, { status: 500, times: 1 })],
  ["a throttled renewal", () => proxy.fail({ method: "PUT" }, { status: 429, times: 1 })],
])("%s does not cost the leadership", async (_, disturb) => {
  const name = newName();
  const { leads, told } = stand(name, "a", { client: viaProxy });
  await leads();
  disturb();
  await pause(BEYOND_DEADLINE_MS);
  expect(told).toEqual(["leader a", "started"]);
  expect((await read(name)).spec?.leaseTransitions).toBe(0);
});

test("someone else's label on the Lease does not cost the leadership", async () => {
  const name = newName();
  const { leads, told } = stand(name, "a");
  await leads();
  await direct.patch(LEASES, name, { metadata: { labels: { seen: "yes" } } }, { namespace, type: "merge" });
  await pause(BEYOND_DEADLINE_MS);
  expect(told).toEqual(["leader a", "started"]);
  expect((await read(name)).metadata.labels).toEqual({ seen: "yes" });
});

test.each([
  ["taken by another", (name: string) => controlPlane.kubectlOk(["patch", "lease", name, "--type=merge", "-p", taken])],
  ["deleted", (name: string) => direct.delete(LEASES, name, { namespace })],
])("a Lease %s is lost at once, and stood for again", async (_, disturb) => {
  const { leads, stopsLeading, told } = stand(newName(), "a");
  await leads();
  await disturb(`lease-${leases - 1}`);
  await vi.waitFor(() => expect(told).toContain("stopped"), soon);
  await vi.waitFor(() => expect(told.filter((each) => each === "started")).toHaveLength(2), soon);
  await expect(stopsLeading(200)).rejects.toThrow();
});
const taken = JSON.stringify({ spec: { holderIdentity: "thief", renewTime: "2020-01-01T00:00:00.000000Z" } });

test("WCH-05: who may not write the Lease never leads and shows it; with the permission it leads", async () => {
  const jane = await connect({ kubeconfig: controlPlane.kubeconfigFor(controlPlane.janeToken) });
  const { elector, leads } = stand(newName(), "jane", { client: jane });
  await pause(1500);
  expect([elector.hasReachedApi, elector.isLeader]).toEqual([false, false]);
  const rule = ["--verb=get,list,watch,create,update", "--resource=leases.coordination.k8s.io"];
  await controlPlane.kubectlOk(["create", "role", "lease", ...rule]);
  await controlPlane.kubectlOk(["create", "rolebinding", "lease", "--role=lease", "--user=jane"]);
  await leads();
  expect(elector.hasReachedApi).toBe(true);
  running.at(-1)!.stop.abort();
  await running.at(-1)!.ended;
  await jane.close();
});

test("a standby whose watch is silent still takes over from a dead leader", async () => {
  const name = newName();
  const leader = stand(name, "a", { releaseOnCancel: false });
  await leader.leads();
  const standby = stand(name, "b", { client: viaProxy });
  await vi.waitFor(() => expect(standby.told).toEqual(["leader a"]), soon);
  await vi.waitFor(() => expect(proxy.stallWatches({ path: "/leases", watch: true })).toBe(1), soon);
  leader.stop.abort();
  await leader.ended;
  await standby.leads();
});

test("the Lease is kept until the work has ended, then given up", async () => {
  const name = newName();
  const work = async (signal: AbortSignal) => {
    await once(signal, "abort");
    await pause(scaledDown.leaseDurationMs + 2000);
    ending = false;
  };
  let ending = true;
  const first = stand(name, "a", { onStartedLeading: work });
  await first.leads();
  const second = stand(name, "b", { onStartedLeading: () => expect(ending).toBe(false) });
  await vi.waitFor(() => expect(second.told).toEqual(["leader a"]), soon);
  first.stop.abort();
  await first.ended;
  await second.leads();
  expect(ending).toBe(false);
  running.at(-1)!.stop.abort();
  await second.ended;
});

test("work that fails gives the Lease up and ends the run", async () => {
  const name = newName();
  const { ended, told } = stand(name, "a", { onStartedLeading: () => Promise.reject(new Error("no database")) });
  await expect(ended).rejects.toThrow("no database");
  expect(told).toEqual(["leader a", "stopped"]);
  expect((await read(name)).spec?.holderIdentity ?? "").toBe("");
});

test("three candidates that come and go: never two leaders at once", async () => {
  const name = newName();
  let leading = 0;
  let terms = 0;
  const work = async (signal: AbortSignal) => {
    leading++;
    terms++;
    expect(leading).toBe(1);
    await once(signal, "abort");
    leading--;
  };
  for (let round = 0; round < 5; round++) {
    const candidates = ["a", "b", "c"].map((id) => stand(name, `${id}${round}`, { onStartedLeading: work }));
    await vi.waitFor(() => expect(leading).toBe(1), soon);
    const leader = candidates.find(({ elector }) => elector.isLeader)!;
    leader.stop.abort();
    await leader.ended;
    await vi.waitFor(() => expect(leading).toBe(1), soon);
    for (const { stop } of candidates) stop.abort();
    await Promise.all(candidates.map(({ ended }) => ended));
  }
  expect(terms).toBeGreaterThanOrEqual(10);
});
