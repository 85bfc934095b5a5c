/**
 * Measures the bundled operator, in its own process, against a real API server: from an accepted edit of the
 * Installation to the stored configuration, memory, and CPU while idle.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleOperator } from "../scripts/build.ts";
import type { Installation } from "../src/api/installation.ts";
import type { KubeObject } from "../src/api/meta.ts";
import { installationResource, resources } from "../src/api/resources.ts";
import { connect } from "../src/kube/rest.ts";
import type { KubeClient, ResourceType } from "../src/kube/types.ts";
import { startControlPlane } from "../test/control-plane/control-plane.ts";
import { startOperator } from "../test/operator/operator-process.ts";
import { type BenchOptions, cpuSeconds, pause, percentile, residentBytes, timed } from "./measures.ts";

/** With fewer, the 99th percentile is the slowest round alone: no measure of anything. */
const ENOUGH_ROUNDS = 100;
const LATENCY_TARGET_MS = 100;
const RSS_TARGET_MB = 120;

const root = join(import.meta.dirname, "..");
const CONFIGURATION = resources.IPAMConfiguration.v3;
const CONFIG_MAPS: ResourceType = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

type Stored = KubeObject & { readonly spec?: { readonly ipCooldownSeconds?: number } };

/** Calls `seen` with each object of a kind as the server reports it, until the signal aborts. */
async function follow<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  signal: AbortSignal,
  seen: (object: T) => void,
): Promise<void> {
  const { items, resourceVersion } = await client.list<T>(type, { signal });
  for (const item of items) seen(item);
  for await (const event of client.watch<T>(type, {
    signal,
    resourceVersion,
    timeoutSeconds: 3600,
    idleTimeoutMs: 600_000,
  })) {
    if (event.type !== "BOOKMARK") seen(event.object);
  }
}

/** The newest state of what the operator writes, and a way to wait for it. */
function observer(client: KubeClient, signal: AbortSignal) {
  let cooldown: number | undefined;
  let answered: number | undefined;
  let wake = Promise.withResolvers<void>();
  const woken =
    <T>(take: (object: T) => void) =>
    (object: T) => {
      take(object);
      wake.resolve();
      wake = Promise.withResolvers();
    };
  const ended = (error: unknown) => {
    if (!signal.aborted) throw error;
  };
  const onStored = woken<Stored>(({ spec }) => {
    cooldown = spec?.ipCooldownSeconds;
  });
  const onAnswer = woken<Installation & KubeObject>(({ status }) => {
    answered = status?.observedGeneration;
  });
  follow(client, CONFIGURATION, signal, onStored).catch(ended);
  follow(client, installationResource, signal, onAnswer).catch(ended);
  const until = async (holds: () => boolean) => {
    while (!holds()) await wake.promise;
  };
  return {
    stored: (value: number) => until(() => cooldown === value),
    answered: (generation: number) => until(() => answered === generation),
  };
}

async function measureLatency(client: KubeClient, rounds: number, signal: AbortSignal) {
  const see = observer(client, signal);
  const accepted: number[] = [];
  const raw: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    raw.push(await timed(() => rawWrites(client, round)));
    const current = await client.get<Installation & KubeObject>(installationResource, "default");
    const spec = { ...current.spec, ipam: { ipCooldownSeconds: round } };
    const edited = await client.update(installationResource, { ...current, spec });
    accepted.push(await timed(() => see.stored(round)));
    await see.answered(edited.metadata.generation ?? 0);
    await pause(20); // idle again: the next edit meets a sleeping operator
  }
  return { accepted, raw };
}

/** What any operator must at least do, two writes one after the other: here to an object that nobody watches. */
async function rawWrites(client: KubeClient, round: number): Promise<void> {
  const options = { namespace: "default" };
  for (const step of [0, 1]) {
    const map: KubeObject & { data: object } = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "bench" },
      data: { value: `${round}.${step}` },
    };
    await client.update(CONFIG_MAPS, map, options);
  }
}

function report(latency: Awaited<ReturnType<typeof measureLatency>>, rssMb: number, cpuShare: number): void {
  const row = (name: string, samples: readonly number[]) => ({
    "": name,
    "p50 ms": percentile(samples, 0.5).toFixed(1),
    "p99 ms": percentile(samples, 0.99).toFixed(1),
    rounds: samples.length,
  });
  console.table([row("two raw writes", latency.raw), row("edit accepted → configuration stored", latency.accepted)]);
  const [reached, raw] = [percentile(latency.accepted, 0.99), percentile(latency.raw, 0.99)];
  const verdict = (met: boolean) => (met ? "met" : "MISSED");
  console.table([
    {
      "": "p99 over two raw writes",
      measured: `${(reached - raw).toFixed(1)} ms (${(reached / raw).toFixed(2)} times)`,
      target: `below ${LATENCY_TARGET_MS} ms`,
      verdict: latency.raw.length < ENOUGH_ROUNDS ? "too few rounds" : verdict(reached - raw < LATENCY_TARGET_MS),
    },
    {
      "": "memory, idle (RSS)",
      measured: `${rssMb.toFixed(0)} MB`,
      target: `below ${RSS_TARGET_MB} MB`,
      verdict: verdict(rssMb < RSS_TARGET_MB),
    },
    { "": "CPU, idle", measured: `${(cpuShare * 100).toFixed(2)} % of one core`, target: "–", verdict: "–" },
  ]);
}

/** Prints what was measured. */
export async function benchOperator({ smoke }: BenchOptions): Promise<void> {
  const idleMs = smoke ? 5000 : 20_000;
  const folder = await mkdtemp(join(tmpdir(), "bench-operator-"));
  const entry = join(folder, "ipam-operator.mjs");
  await bundleOperator(entry);
  const cluster = await startControlPlane({ crds: "v3" });
  const stop = new AbortController();
  try {
    await cluster.kubectlOk(["create", "namespace", "ipam-operator"]);
    await cluster.kubectlOk(["create", "configmap", "bench"]);
    await cluster.apply(join(root, "examples/installation.yaml"));
    const args = ["--kubeconfig", cluster.kubeconfig];
    const operator = await startOperator(args, { entry });
    await cluster.kubectlOk(["wait", "--for=condition=Ready", "ipaminst/default", "--timeout=60s"]);
    await pause(idleMs / 2); // what the start left behind is collected
    const before = await cpuSeconds(operator.pid);
    await pause(idleMs);
    const cpuShare = (await cpuSeconds(operator.pid)) - before;
    const rssMb = (await residentBytes(operator.pid)) / 1e6;
    const client = await connect({ kubeconfig: cluster.kubeconfig });
    const latency = await measureLatency(client, smoke ? 10 : 300, stop.signal);
    stop.abort();
    report(latency, rssMb, cpuShare / (idleMs / 1000));
    await client.close();
    await operator.stop();
  } finally {
    await cluster.stop();
    await rm(folder, { recursive: true });
  }
}
