/**
 * Every request of a running operator, and of a library with a cache, is answered with status 200 and something else than what
 * was asked for, in each way in turn. Both stay up, report what they got from whom, and work once the answers are right.
 */
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeAll, expect, onTestFailed, test } from "vitest";
import { CACHED_KINDS, cachedDatastore } from "../../src/datastore/cached.ts";
import { isDatastoreError } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import type { AutoAssignResult } from "../../src/ipam/assignments.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { type WrongAnswers, wrongAnswers } from "../faults/wrong-answers.ts";
import { check } from "../invariants/check.ts";
import { edit, eventually, FAST, readyReason, storedCooldown } from "../operator/cluster.ts";
import { type RunningOperator, startOperator } from "../operator/operator-process.ts";
import { createNodes, createPools, HOSTS } from "../races/racing.ts";
import { storedObjects } from "../races/stored.ts";

const SEED = 20_261_201;
const ELECTED = [
  "--namespace=default",
  "--leader-elect-lease-duration=3s",
  "--leader-elect-renew-deadline=2s",
  "--leader-elect-retry-period=500ms",
];
/** Of a phase of wrong answers; whatever is still to come then is left out. */
const PHASE_MS = 40_000;

let cluster: ControlPlane;
let proxy: FaultProxy;
let direct: KubeClient;
let proxied: KubeClient;
let operator: RunningOperator | undefined;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
  proxy = await startFaultProxy(cluster);
  direct = await connect({ kubeconfig: cluster.kubeconfig });
  proxied = await connect({ kubeconfig: proxy.kubeconfig });
  await createNodes(direct);
  await createPools(openKubernetes({ client: direct, flavour: "v3" }));
});
afterEach(() => proxy.clear());
afterAll(async () => {
  await operator?.stop("SIGKILL");
  await Promise.all([direct?.close(), proxied?.close()]);
  await proxy?.stop();
  await cluster?.stop();
});

function beginWith(seed: number): WrongAnswers {
  console.log(`Wrong answers by seed ${seed}`);
  const wrong = wrongAnswers(seed);
  proxy.meet(wrong.choose);
  return wrong;
}

/** Provokes requests until all that are made were answered wrongly in every way. */
async function whileWrong(wrong: WrongAnswers, provoke: (round: number) => Promise<unknown>): Promise<void> {
  const end = performance.now() + PHASE_MS;
  for (let round = 0; performance.now() < end && (round < 5 || wrong.left.length > 0); round++) await provoke(round);
}

function report({ given, left }: WrongAnswers): void {
  console.log(
    `${given.length} wrong answers, ${left.length} left: ${[...new Set(left.map(({ key }) => key))].join(", ")}`,
  );
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const configuration = "ipamconfigurations.projectcalico.org";
const definition = `crd/${configuration}`;
const drift = (value: number) =>
  cluster.kubectl([
    "patch",
    configuration,
    "default",
    "--type=merge",
    "-p",
    JSON.stringify({ spec: { ipCooldownSeconds: value } }),
  ]);

test("the operator", async () => {
  onTestFailed(() =>
    console.log(
      operator?.stderr
        .filter((line) => !line.includes("debug"))
        .slice(-60)
        .join("\n"),
    ),
  );
  await edit(cluster, 100);
  const wrong = beginWith(SEED);
  operator = await startOperator([...FAST, ...ELECTED, "--kubeconfig", proxy.kubeconfig]);
  await whileWrong(wrong, async (round) => {
    await edit(cluster, 100 + round);
    if (round === 3) await drift(7); // more of them would be a fight, in which the operator gives way
    await cluster.kubectl(["annotate", "--overwrite", definition, `round=${round}`]);
    await pause(500);
  });
  report(wrong);
  proxy.clear();
  expect(process.kill(operator.pid, 0), "the process that was started still runs").toBe(true);
  await edit(cluster, 555);
  await eventually(() => storedCooldown(cluster)).toBe(555);
  await eventually(() => readyReason(cluster)).toBe("Succeeded");
  await drift(7);
  await eventually(() => storedCooldown(cluster)).toBe(555);
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
  expect(unreported(wrong, operator.stderr.join("\n"))).toEqual([]);
});

test("a library with a cache", async () => {
  const store = openKubernetes({ client: direct, flavour: "v3" });
  const wrong = beginWith(SEED + 1);
  const said: string[] = [];
  const cached = cachedDatastore(openKubernetes({ client: proxied, flavour: "v3" }), {
    onError: (_, error) => said.push((error as Error).message),
    backoff: { baseMs: 20, maxMs: 200 },
  });
  const ipam = createIpam({ datastore: cached, warn: (message) => said.push(message) });
  const held = new Map<string, string[]>();
  await whileWrong(wrong, async (round) => {
    const failures = await Promise.all([takes(ipam, held, round), releases(ipam, held, round)]);
    for (const failure of failures) if (failure) said.push(failure);
  });
  report(wrong);
  proxy.clear();
  await cached.synced();
  const hostname = "host-a";
  const last = await ipam.autoAssign({ hostname, handleID: "last", intendedUse: "Workload", num4: 1, num6: 1 });
  note(held, "last", addressesOf(last));
  for (const kind of CACHED_KINDS) {
    const inStore = async () => (await store.list(kind)).items;
    await expect
      .poll(async () => isDeepStrictEqual((await cached.list(kind)).items, await inStore()), { message: kind })
      .toBe(true);
  }
  expect(check(await storedObjects(store), { mode: "always", now: new Date() })).toEqual([]);
  expect(unreported(wrong, said.join("\n"))).toEqual([]);
  await cached.close();
});

/** One assignment. @returns what it failed in */
async function takes(ipam: Ipam, held: Map<string, string[]>, round: number): Promise<string | undefined> {
  const handleID = `round-${round}`;
  const hostname = HOSTS[round % 2]!;
  try {
    const given = await ipam.autoAssign({ hostname, handleID, intendedUse: "Workload", num4: 1, num6: round % 2 });
    note(held, handleID, addressesOf(given));
    return undefined;
  } catch (error) {
    return failureOf(error);
  }
}

/** An earlier round gives back what it got; from then on it may be given again. */
async function releases(ipam: Ipam, held: Map<string, string[]>, round: number): Promise<string | undefined> {
  const handleID = `round-${round - 3}`;
  if (!held.delete(handleID)) return undefined;
  try {
    await ipam.releaseByHandle(handleID);
    return undefined;
  } catch (error) {
    return failureOf(error);
  }
}

const addressesOf = ({ v4, v6 }: AutoAssignResult) => [v4, v6].flatMap((family) => family?.ips ?? []);

function note(held: Map<string, string[]>, handleID: string, addresses: string[]): void {
  const twice = [...held].filter(([, others]) => others.some((address) => addresses.includes(address)));
  expect(twice, `given to ${handleID} too`).toEqual([]);
  held.set(handleID, addresses);
}

/** Of a call that met a wrong answer. Another error, such as a TypeError, is a fault. */
function failureOf(error: unknown): string {
  expect(isDatastoreError(error, "Unavailable") || isIpamError(error), String((error as Error).stack)).toBe(true);
  return (error as Error).message;
}

/**
 * Requests that were answered wrongly more than once, and of which nothing says what came from whom. A read of one object may
 * be answered truly before it is given up.
 */
function unreported({ given }: WrongAnswers, said: string): string[] {
  const failed = given.filter(({ key }) => !key.startsWith("GET "));
  const byKey = [...Map.groupBy(failed, ({ key }) => key)].filter(([, answers]) => answers.length > 1);
  const silent = byKey.filter(([, answers]) => !answers.some(({ path }) => said.includes(`${path} gave `)));
  return silent.map(([key, answers]) => `${key}: ${answers.map(({ how }) => how).join(", ")}`);
}
