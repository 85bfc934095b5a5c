/** One operator lives through every fault, without a restart and without missing a change; idle, it asks nothing. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { expectPlain, PORTABLE } from "../escapes/evil.ts";
import { IPAMCTL, OPERATOR, run } from "../escapes/process.ts";
import { type FaultProxy, type LoggedRequest, startFaultProxy } from "../faults/proxy.ts";
import { comesToRest } from "../faults/quiet.ts";
import { calicoInstallationCrd } from "../installation/fixtures.ts";
import { ALONE, edit, eventually, FAST, readyMessage, readyReason, storedCooldown } from "./cluster.ts";
import { type RunningOperator, startOperator } from "./operator-process.ts";

let cluster: ControlPlane;
let proxy: FaultProxy;
let operator: RunningOperator;
let cooldown = 100;

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
  proxy = await startFaultProxy(cluster);
  await edit(cluster, cooldown);
  operator = await startOperator([...FAST, ...ALONE, "--kubeconfig", proxy.kubeconfig]);
  await vi.waitFor(async () => expect(await storedCooldown(cluster)).toBe(cooldown), {
    timeout: 90_000,
    interval: 200,
  });
});
afterEach(() => proxy.clear());
afterAll(async () => {
  await operator?.stop("SIGKILL");
  await proxy?.stop();
  await cluster?.stop();
});

/** The next edit arrives, in the process that was started. */
async function followsAnEdit(): Promise<void> {
  const { pid } = operator;
  await edit(cluster, ++cooldown);
  await eventually(() => storedCooldown(cluster)).toBe(cooldown);
  expect(process.kill(pid, 0), "the process that was started still runs").toBe(true);
}

const installations = { path: "ipaminstallations" };

const isLook = ({ query }: LoggedRequest) => query.get("fieldSelector")?.startsWith("metadata.name=") ?? false;

test("idle, it renews its watches, each after a look at revisions, and asks nothing else", async () => {
  await comesToRest(proxy, isLook);
  const before = proxy.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 8000));
  const idle = proxy.requests.slice(before);
  expect(idle.filter(({ watch }) => watch).length, "watches are renewed after 3 s").toBeGreaterThan(0);
  const others = idle.filter((request) => !request.watch && !isLook(request));
  expect(others.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

test("a watch cut in the middle of a line", async () => {
  // A watch is renewed every three seconds: at this moment there may be none.
  await eventually(() => proxy.cutWatches(installations, { midLine: true })).toBe(1);
  await followsAnEdit();
});

test("a change made while the watch was cut", async () => {
  proxy.fail({ ...installations, watch: true }, { status: 500, times: 1 });
  proxy.cutWatches(installations);
  await followsAnEdit();
});

test("a stalled watch", async () => {
  await eventually(() => proxy.stallWatches(installations)).toBe(1);
  await edit(cluster, ++cooldown);
  proxy.resume();
  await eventually(() => storedCooldown(cluster)).toBe(cooldown);
});

test.each([{ inStream: true }, { inStream: false }])("410 Gone, %j", async (how) => {
  proxy.expireWatch(installations, 1, how);
  proxy.cutWatches(installations);
  await followsAnEdit();
});

test.each([429, 500, 503])("%d to every second call for a while", async (status) => {
  for (let round = 0; round < 3; round++) {
    proxy.fail({}, { status, times: 1, headers: status === 429 ? { "retry-after": "1" } : {} });
    proxy.cutWatches(installations);
    await followsAnEdit();
  }
});

test("403 that becomes 200", async () => {
  proxy.fail({ path: "projectcalico.org", method: "PUT" }, { status: 403, times: 3 });
  await edit(cluster, ++cooldown);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  proxy.clear();
  await eventually(() => storedCooldown(cluster)).toBe(cooldown);
});

test("a definition that could not be read is asked for again", async () => {
  const name = "ipamconfigurations.projectcalico.org";
  const definition = { method: "GET", path: new RegExp(`/customresourcedefinitions/${name}$`) };
  proxy.fail(definition, { status: 500, times: 6 });
  await cluster.kubectlOk(["annotate", "--overwrite", `crd/${name}`, "seen=again"]);
  await eventually(() => proxy.requestsMatching(definition).at(-1)?.status).toBe(500);
  await eventually(() => proxy.requestsMatching(definition).at(-1)?.status).toBe(200);
  await followsAnEdit();
});

test("a connection lost before and after the write arrived", async () => {
  proxy.reset({ path: "ipamconfigurations", method: "PUT" }, 1);
  await followsAnEdit();
  proxy.reset({ path: "ipamconfigurations", method: "PUT" }, 1, { afterUpstream: true });
  await followsAnEdit();
});

test("the API server away, then back, with a change in between", async () => {
  await proxy.refuseAll();
  await edit(cluster, ++cooldown);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await proxy.acceptAll();
  await eventually(() => storedCooldown(cluster)).toBe(cooldown);
});

test("the API server restarted", async () => {
  await cluster.restartApiServer();
  await followsAnEdit();
});

describe("a server that tells of a definition before it serves it, or while it still does", () => {
  const crd = `crd/${calicoInstallationCrd.metadata.name}`;
  const discovery = { path: /\/apis\/operator\.tigera\.io\/v1$/ };
  const served = { groupVersion: "operator.tigera.io/v1", resources: [{ name: "installations" }] };
  const lagging = (answer: { status: number; body?: unknown }) => proxy.fail(discovery, { ...answer, times: 3 });

  test("what is served, and what is not any more, is seen all the same", async () => {
    lagging({ status: 404 });
    await cluster.apply(JSON.stringify(calicoInstallationCrd));
    await cluster.kubectlOk(["wait", "--for=condition=Established", crd, "--timeout=20s"]);
    const hostLocal = { cni: { ipam: { type: "HostLocal" } } };
    await cluster.apply(
      JSON.stringify({
        apiVersion: "operator.tigera.io/v1",
        kind: "Installation",
        metadata: { name: "default" },
        spec: hostLocal,
      }),
    );
    await eventually(() => readyReason(cluster)).toBe("NotApplicable");
    lagging({ status: 200, body: served });
    await cluster.kubectlOk(["delete", crd]);
    await eventually(() => readyReason(cluster)).toBe("Succeeded");
    await followsAnEdit();
  });
});

describe("a server whose messages would steer a terminal", () => {
  const message = PORTABLE;
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", message, code: 403 };

  test("the status and the events of the Installation are plain", async () => {
    proxy.fail({ path: "ipamconfigurations", method: "PUT" }, { status: 403, body, times: Number.POSITIVE_INFINITY });
    await edit(cluster, ++cooldown);
    await eventually(() => readyReason(cluster)).toBe("Forbidden");
    expectPlain(await readyMessage(cluster));
    const notes = ["get", "events.events.k8s.io", "-A", "-o", "jsonpath={.items[*].note}"];
    await eventually(() => cluster.kubectlOk(notes)).toContain("all is well");
    expectPlain(await cluster.kubectlOk(notes));
    proxy.clear();
    await followsAnEdit();
  });

  test.each([
    [OPERATOR, [...ALONE, "--log-encoding=text", "--health-probe-bind-address=0", "--metrics-bind-address=0"]],
    [IPAMCTL, ["show"]],
  ] as const)("%s is plain", async (program, args) => {
    proxy.fail({ path: /ippools|apis$/ }, { status: 403, body, times: Number.POSITIVE_INFINITY });
    const { text } = await run(program, [...args, "--kubeconfig", proxy.kubeconfig], { until: /all is well/ });
    expectPlain(text);
  });
});

test("after all of this it stops cleanly", async () => {
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
});
