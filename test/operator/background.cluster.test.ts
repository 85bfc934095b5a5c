/**
 * A failure that a background task does not handle itself: it is logged and counted, the task starts again, and the process
 * stays up. The API server refuses something once, and the line that reports the refusal cannot be written.
 */
import { mkdtemp, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFailed, onTestFinished, test, vi } from "vitest";
import { cachedDatastore } from "../../src/datastore/cached.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { connect } from "../../src/kube/rest.ts";
import { createCertificateAuthority } from "../control-plane/certificates.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { edit, eventually, FAST, storedCooldown } from "./cluster.ts";
import { type RunningOperator, startOperator } from "./operator-process.ts";

/** What a task logs when it is refused something, by the task. */
const REFUSALS = {
  events: "Event dropped: it could not be written",
  reflectors: "Cannot list and watch ipaminstallations",
  discovery: "Cannot read the definition ipamblocks.projectcalico.org",
  leases: "Cannot renew the Lease",
  metrics: "The certificate for metrics cannot be renewed",
  controllers: "Reconciliation failed",
} as const;
type Task = keyof typeof REFUSALS;

let cluster: ControlPlane;
let proxy: FaultProxy;
let certDir: string;
let operator: RunningOperator;
let cooldown = 100;

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
  await cluster.kubectlOk(["create", "namespace", "ipam-operator"]);
  proxy = await startFaultProxy(cluster);
  certDir = await mkdtemp(join(cluster.dir, "certificate-"));
  await renewCertificate();
  await edit(cluster, cooldown);
  operator = await startOperator(
    [
      ...FAST,
      "--leader-elect-retry-period=200ms",
      "--metrics-secure",
      `--metrics-cert-dir=${certDir}`,
      "--kubeconfig",
      proxy.kubeconfig,
    ],
    {
      entry: join(import.meta.dirname, "full-disk.ts"),
      env: { UNWRITABLE_ONCE: JSON.stringify(Object.values(REFUSALS)) },
    },
  );
  await vi.waitFor(async () => expect(await storedCooldown(cluster)).toBe(cooldown), {
    timeout: 90_000,
    interval: 200,
  });
});
beforeEach(() => {
  onTestFailed(() => console.error(operator.stderr.slice(-30).join("\n")));
});
afterEach(() => proxy.clear());
afterAll(async () => {
  await operator?.stop("SIGKILL");
  await proxy?.stop();
  await cluster?.stop();
});

async function renewCertificate(): Promise<string> {
  const authority = await createCertificateAuthority("metrics");
  const { certificate, privateKey } = await authority.server({ ip: ["127.0.0.1"], dns: [] });
  await writeFile(join(certDir, "tls.crt"), certificate);
  await writeFile(join(certDir, "tls.key"), privateKey);
  return authority.certificate;
}

/** `ca` absent: whatever the certificate. */
function scrape(ca?: string): Promise<string> {
  const headers = { authorization: `Bearer ${cluster.adminToken}` };
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
  const options = {
    host: "127.0.0.1",
    port: operator.ports.metrics,
    path: "/metrics",
    headers,
    agent: false,
    ...trust,
  };
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve(body));
    });
    call.on("error", reject).end();
  });
}

/** The failure is logged with its cause and what happens next, and counted; the process that was started still runs. */
async function survived(task: Task): Promise<void> {
  const lines = () => operator.stderr.map((line) => JSON.parse(line) as Record<string, string>);
  await eventually(() => lines().filter((line) => line["task"] === task)).toEqual([
    expect.objectContaining({
      level: "error",
      msg: expect.stringMatching(/^Failed to .*, trying again$/),
      error: expect.stringContaining(`no space left on device, write "${REFUSALS[task]}"`),
    }),
  ]);
  const counted = `ipam_operator_background_task_failures_total{task="${task}"} 1`;
  await eventually(async () => (await scrape()).split("\n")).toContain(counted);
  expect(process.kill(operator.pid, 0), "the process that was started still runs").toBe(true);
}

async function followsAnEdit(): Promise<void> {
  await edit(cluster, ++cooldown);
  await eventually(() => storedCooldown(cluster)).toBe(cooldown);
}

test("events", async () => {
  const writes = { method: "POST", path: "/events" };
  proxy.fail(writes, { status: 403, times: 1 });
  await followsAnEdit();
  await survived("events");
  await followsAnEdit();
  const eventOf = (value: number) => `to ${value}`;
  await eventually(() =>
    cluster.kubectlOk(["get", "events", "-o", "jsonpath={.items[*].note}{.items[*].message}"]),
  ).toContain(eventOf(cooldown));
});

test("reflectors", async () => {
  const installations = { path: "ipaminstallations" };
  proxy.fail({ ...installations, method: "GET" }, { status: 403, times: 1 });
  proxy.cutWatches(installations);
  await survived("reflectors");
  await followsAnEdit();
});

test("discovery", async () => {
  const definition = { method: "GET", path: /customresourcedefinitions\/ipamblocks\.projectcalico\.org$/ };
  proxy.fail(definition, { status: 403, times: 1 });
  const before = proxy.requestsMatching(definition).length;
  await cluster.kubectlOk(["annotate", "crd", "ipamblocks.projectcalico.org", "looked-at=once"]);
  await survived("discovery");
  await eventually(() =>
    proxy
      .requestsMatching(definition)
      .slice(before)
      .map(({ status }) => status),
  ).toEqual([403, 200]);
  await followsAnEdit();
});

test("leases", async () => {
  proxy.fail({ method: "PUT", path: "/leases/" }, { status: 403, times: 1 });
  await survived("leases");
  await eventually(async () => scrape()).toContain('leader_election_master_status{name="ipam-operator"} 1');
  await followsAnEdit();
});

test("metrics", async () => {
  await writeFile(join(certDir, "tls.key"), "");
  await survived("metrics");
  const renewed = await renewCertificate();
  await eventually(() => scrape(renewed).catch(String)).toContain("controller_runtime_reconcile_total");
});

test("controllers", async () => {
  proxy.fail({ write: true, path: "ipaminstallations/default/status" }, { status: 403, times: 1 });
  await followsAnEdit();
  await survived("controllers");
  await followsAnEdit();
});

test("caches: a cached library whose callback throws", async () => {
  const client = await connect({ kubeconfig: proxy.kubeconfig });
  onTestFinished(() => client.close());
  const pools = { method: "GET", path: "ippools" };
  proxy.fail(pools, { status: 403, times: 1 });
  const told: string[] = [];
  const onError = (kind: string, error: unknown) => {
    told.push(`${kind}: ${(error as Error).message}`);
    if (told.length === 1) throw new Error("a fault of the callback");
  };
  const store = openKubernetes({ client, flavour: "v3" });
  const cached = cachedDatastore(store, { kinds: ["IPPool"], onError, backoff: { baseMs: 10, maxMs: 10 } });
  onTestFinished(() => cached.close());
  await cached.synced();
  expect(told).toEqual([expect.stringMatching(/^IPPool: .*[Ff]orbidden/), "IPPool: a fault of the callback"]);
  await cluster.apply(
    "\napiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: late}\nspec: {cidr: 10.9.0.0/16}\n",
  );
  await eventually(async () => (await cached.list("IPPool")).items.map(({ metadata }) => metadata.name)).toEqual([
    "late",
  ]);
  const before = proxy.requestsMatching(pools).length;
  expect((await cached.list("IPPool")).items).toHaveLength(1);
  expect(proxy.requestsMatching(pools)).toHaveLength(before);
});

test("after all of this it stops cleanly", async () => {
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
});
