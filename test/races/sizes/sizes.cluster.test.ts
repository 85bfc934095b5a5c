/**
 * Processes that race over ranges which pools, affinities and blocks cut in different sizes, on a real API server: no
 * address is handed out twice, and no overlap stays that was not there before. IPAM_OPERATOR_SIZE_ROUNDS sets how many
 * rounds.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { IPPool } from "../../../src/api/v3.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import type { Flavour } from "../../../src/datastore/flavours.ts";
import { openKubernetes } from "../../../src/datastore/kubernetes.ts";
import { createIpam } from "../../../src/ipam/client.ts";
import { connect } from "../../../src/kube/rest.ts";
import type { KubeClient } from "../../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../../control-plane/control-plane.ts";
import { deleteAll } from "../../support/cluster-store.ts";
import { handle } from "../../support/ipam-data.ts";
import { callsIn } from "../journal.ts";
import { createNodes, HOSTS } from "../racing.ts";
import { failuresIn } from "../verdicts.ts";
import { type Outcome, type Race, SizeField } from "./field.ts";
import { GROUNDS, type Ground } from "./grounds.ts";
import { faultsOf } from "./verdicts.ts";

const ROUNDS = Number(process.env["IPAM_OPERATOR_SIZE_ROUNDS"] ?? 8);
const DEADLY_ROUNDS = Math.ceil(ROUNDS / 4);
const CALLS = 10;
const DEADLINESS = 0.06;
const GENERATIONS = ["v1", "v3"] as const;
const STRICT = [false, true, "toggled"] as const;

let cluster: ControlPlane;
let client: KubeClient;
let field: SizeField;
let stores: Record<Flavour, Datastore>;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  client = await connect({ kubeconfig: cluster.kubeconfig });
  stores = { v1: openKubernetes({ client, flavour: "v1" }), v3: openKubernetes({ client, flavour: "v3" }) };
  await createNodes(client);
  field = new SizeField(cluster.kubeconfig, cluster.dir);
});
afterAll(async () => {
  await field?.end();
  await client?.close();
  await cluster?.stop();
});

const ipamOf = (store: Datastore, hostname?: string) =>
  createIpam({ datastore: store, blockOrder: () => 0n, warn: () => {}, ...(hostname && { hostname }) });

async function plant(store: Datastore, { pools, affinities = [], blocks = [] }: Ground) {
  const created: string[] = [];
  for (const pool of pools) created.push((await store.create<"IPPool">(pool)).metadata.uid!);
  for (const affinity of affinities) await store.create<"BlockAffinity">(affinity);
  const planted = await Promise.all(blocks.map((block) => store.create<"IPAMBlock">(block)));
  for (const { spec } of blocks) {
    for (const { handle_id } of spec.attributes) {
      await store.create<"IPAMHandle">(handle(handle_id!, { [spec.cidr]: 1 }));
    }
  }
  return { pools: created, planted };
}

/** The pool and the one in its place take turns until the race is over. */
async function recut(store: Datastore, { pools: [first], recut: turn }: Ground, over: AbortSignal): Promise<number> {
  if (!turn) return 0;
  let times = 0;
  for (let [next, later] = [turn.to, first!] as [IPPool, IPPool]; !over.aborted; [next, later] = [later, next]) {
    await sleep(50 + Math.random() * 200);
    const [stored] = (await store.list("IPPool")).items;
    await store.delete<"IPPool">(stored!);
    if (turn.pauseMs > 0) await sleep(Math.random() * turn.pauseMs);
    await store.create<"IPPool">(next);
    times++;
  }
  return times;
}

async function runRound(number: number, deadliness: number, afterRace: (store: Datastore) => Promise<void>) {
  const ground = GROUNDS[number % GROUNDS.length]!;
  const flavour = GENERATIONS[(number + Math.floor(number / GROUNDS.length)) % GENERATIONS.length]!;
  const strict = STRICT[number % STRICT.length]!;
  const store = stores[flavour];
  await deleteAll(cluster, flavour);
  if (strict === true) await ipamOf(store).setIPAMConfig({ strictAffinity: true });
  const { pools, planted } = await plant(store, ground);
  const over = new AbortController();
  const race: Race = { ground, number, flavour, calls: CALLS, pools, toggles: strict === "toggled", deadliness };
  const recutting = recut(store, ground, over.signal);
  const outcome = await field.race(race).finally(() => over.abort());
  const recuts = await recutting;
  await afterRace(store);
  const sizes = [...ground.pools, ...(ground.recut ? [ground.recut.to] : [])].map(({ spec }) => spec.blockSize!);
  const { items: blocks } = await store.list("IPAMBlock");
  const { items: affinities } = await store.list("BlockAffinity");
  const faults = faultsOf({ journals: outcome.journals, blocks, affinities, planted, sizes });
  const what = `round ${number} on ${flavour}, ${ground.name}, strict affinity ${strict}`;
  return { ...outcome, recuts, what, faults: faults.map((fault) => `${what}: ${fault}`) };
}

const summaryOf = (outcomes: readonly (Outcome & { readonly recuts: number })[]) => {
  const entries = outcomes.flatMap(({ journals }) => journals.flatMap((journal) => journal.entries));
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
  return [
    `${outcomes.length} rounds, ${callsIn(entries)} calls`,
    `${entries.filter(({ what, ips }) => what === "got" && ips.length > 0).length} took addresses`,
    `${entries.filter(({ what }) => what === "gaveUp").length} gave up`,
    `${sum(outcomes.map(({ recuts }) => recuts))} pools re-created`,
    `${sum(outcomes.map(({ kills }) => kills))} kills`,
  ].join(", ");
};

async function lostRaces(): Promise<number> {
  const events = await cluster.auditLog();
  return events.filter(({ responseStatus }) => responseStatus?.code === 409).length;
}

async function runRounds(from: number, count: number, deadliness: number, after: (store: Datastore) => Promise<void>) {
  const started = Date.now();
  const lostBefore = await lostRaces();
  const outcomes: Awaited<ReturnType<typeof runRound>>[] = [];
  for (let number = from; number < from + count; number++) outcomes.push(await runRound(number, deadliness, after));
  const seconds = Math.round((Date.now() - started) / 1000);
  const faults = outcomes.flatMap((outcome) => outcome.faults);
  const lost = (await lostRaces()) - lostBefore;
  const bad = outcomes.filter(({ faults: { length } }) => length > 0).length;
  process.stderr.write(
    `races over sizes: ${summaryOf(outcomes)}, ${lost} writes refused, ${faults.length} faults in ${bad} rounds, ${seconds} s\n`,
  );
  return { faults, failures: outcomes.flatMap(({ journals }) => failuresIn(journals)), outcomes };
}

test("no address twice, and no overlap that was not there before", { timeout: 60_000 + ROUNDS * 60_000 }, async () => {
  const { faults, failures } = await runRounds(0, ROUNDS, 0, async () => {});
  expect(faults).toEqual([]);
  expect(failures).toEqual([]);
});

test("nor where processes die in the middle of claims, after one quiet call of each host", {
  timeout: 60_000 + DEADLY_ROUNDS * 90_000,
}, async () => {
  const quiet = async (store: Datastore) => {
    for (const host of HOSTS) {
      const ipam = ipamOf(store, host);
      const handleID = `quiet-${host}`;
      await ipam.autoAssign({ num4: 1, handleID, intendedUse: "Workload" });
      await ipam.releaseByHandle(handleID).catch(() => {});
    }
  };
  const { faults, failures, outcomes } = await runRounds(1000, DEADLY_ROUNDS, DEADLINESS, quiet);
  expect(faults).toEqual([]);
  expect(failures).toEqual([]);
  expect(outcomes.some(({ kills }) => kills > 0)).toBe(true);
});
