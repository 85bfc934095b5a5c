/** SIGTERM ends the process in its time, whatever hangs or fails just then. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, onTestFailed, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { edit, eventually, FAST } from "./cluster.ts";
import { type RunningOperator, startOperator } from "./operator-process.ts";

let cluster: ControlPlane;
let proxy: FaultProxy;
let operator: RunningOperator | undefined;

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
  await cluster.kubectlOk(["create", "namespace", "ipam-operator"]);
  proxy = await startFaultProxy(cluster);
  await edit(cluster, 5);
});
afterEach(async () => {
  await operator?.stop("SIGKILL");
  proxy.clear();
});
afterAll(async () => {
  await proxy?.stop();
  await cluster?.stop();
});

const GRACE_MS = 10_000;
const limit = `--graceful-shutdown-timeout=${GRACE_MS / 1000}s`;

async function start(unwritable: readonly string[] = [], kubeconfig = proxy.kubeconfig): Promise<RunningOperator> {
  const started = await startOperator([...FAST, limit, "--kubeconfig", kubeconfig], {
    entry: join(import.meta.dirname, "full-disk.ts"),
    env: { UNWRITABLE_ONCE: JSON.stringify(unwritable) },
  });
  operator = started;
  onTestFailed(() => console.error(started.stderr.slice(-20).join("\n")));
  return started;
}
const leads = (of: RunningOperator) =>
  eventually(() => of.metrics().catch(String)).toContain('leader_election_master_status{name="ipam-operator"} 1');

/** Connections are accepted, and nothing is answered. */
const hang = (path?: string | RegExp) => proxy.delay(path === undefined ? {} : { path }, 600_000, Infinity);

/** How it ended within its time; a second more for the end of the process itself. */
async function stops(stopping: RunningOperator): Promise<unknown> {
  const late = new Promise((resolve) => setTimeout(resolve, GRACE_MS + 1000, "still running").unref());
  return Promise.race([stopping.stop(), late]);
}
const CLEAN = { code: 0, signal: null };

test("before the lease is held, while the API server does not answer", async () => {
  hang();
  const before = proxy.requests.length;
  const started = await start();
  await eventually(() => proxy.requests.slice(before).some(({ path }) => path.includes("/leases"))).toBe(true);
  expect(await stops(started)).toEqual(CLEAN);
});

test("while discovery does not answer", async () => {
  const discovery = /^\/apis\/[^/]+\/v[^/]+$/;
  hang(discovery);
  const before = proxy.requestsMatching({ path: discovery }).length;
  const started = await start();
  await eventually(() => proxy.requestsMatching({ path: discovery }).length).toBeGreaterThan(before);
  expect(await stops(started)).toEqual(CLEAN);
});

test("as the leader, when the API server stops to answer", async () => {
  const started = await start();
  await leads(started);
  hang();
  proxy.cutWatches({});
  await eventually(() => started.stderr.join("\n")).toContain("Cannot renew the Lease");
  expect(await stops(started)).toEqual(CLEAN);
});

test("while failed background tasks wait to start again", async () => {
  const started = await start(["Cannot list and watch ipaminstallations", "Event dropped"]);
  await leads(started);
  proxy.fail({ path: "ipaminstallations", method: "GET" }, { status: 403, times: Infinity });
  proxy.fail({ path: "/events", method: "POST" }, { status: 403, times: Infinity });
  proxy.cutWatches({ path: "ipaminstallations" });
  await eventually(() => started.stderr.join("\n")).toContain("Failed to watch ipaminstallations, trying again");
  expect(await stops(started)).toEqual(CLEAN);
});

test("while a credential plugin hangs, it ends with code 1 and says so", async () => {
  const user = { name: "u", user: { exec: PLUGIN } };
  const file = join(cluster.dir, "hanging-plugin.kubeconfig");
  const cluster_ = { server: proxy.server, "certificate-authority-data": proxy.caData };
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
      clusters: [{ name: "k", cluster: cluster_ }],
      users: [user],
    }),
  );
  const started = await start([], file);
  await eventually(() => started.stderr.join("\n")).toContain("Working on");
  expect(await stops(started)).toEqual({ code: 1, signal: null });
  expect(started.stderr.at(-1)).toContain("The clean stop took longer than 10 s; ending the process");
});
const PLUGIN = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: process.execPath,
  args: ["-e", "setTimeout(() => {}, 40_000)"],
  interactiveMode: "Never",
};
