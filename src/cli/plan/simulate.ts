/** Fills nodes with pods on an embedded store in memory, by the real library, and tells where it ran out first. */
import { cachedDatastore } from "../../datastore/cached.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { openCopy } from "../../datastore/embedded.ts";
import { type AutoAssignResult, partialResult } from "../../ipam/assignments.ts";
import { createIpam, type Ipam } from "../../ipam/client.ts";
import { isIpamError } from "../../ipam/errors.ts";
import { allocationsOf } from "../../judgement/allocations.ts";
import { inventoryOf, soundBlocks } from "../../judgement/inventory.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { familiesOf, nextOn, versionOf } from "../../judgement/why/asking.ts";
import { verdictOn } from "../../judgement/why/causes.ts";
import type { Cause } from "../../judgement/why/codes.ts";
import { momentOf } from "../../judgement/why/moment.ts";
import type { IpVersion } from "../../net/address.ts";
import { takeFromStore } from "../snapshot/embedded.ts";
import type { TakeOptions } from "../snapshot/take.ts";
import type { PlannedNode, Scenario } from "./scenario.ts";

export interface Outcome {
  /** Nodes that were filled, and how many of them got all that they want. */
  readonly nodes: number;
  readonly fullNodes: number;
  /** Addresses that all nodes want, of the family that got fewest, and how many they have. */
  readonly wanted: number;
  readonly placed: number;
  /** Where it ran out first; absent where it did not. */
  readonly first?: RanOut;
  /** The data at the end. */
  readonly after: Snapshot;
}

export interface RanOut {
  readonly node: string;
  readonly family: "IPv4" | "IPv6";
  /** Addresses that the node got, and wants. */
  readonly got: number;
  readonly wants: number;
  readonly cause?: Cause;
}

/** Nothing of the given data is changed. @throws the signal's reason when it is stopped */
export async function simulate(scenario: Scenario, options: TakeOptions): Promise<Outcome> {
  const store = openCopy(":memory:");
  try {
    await load(store, scenario.snapshot);
    return await onCache(store, (cache) => new Simulation(scenario, store, cache, options).run());
  } finally {
    await store.close();
  }
}

/** With a cache that begins when everything is there: it is behind on what others write. */
async function onCache<T>(store: Datastore, work: (cache: Datastore) => Promise<T>): Promise<T> {
  const cache = cachedDatastore(store, { onError: () => {} });
  try {
    await cache.synced();
    return await work(cache);
  } finally {
    await cache.close();
  }
}

async function load(store: Datastore, snapshot: Snapshot): Promise<void> {
  const { pools, reservations, configurations, blocks, affinities, handles } = snapshot;
  for (const object of [...pools, ...reservations, ...configurations, ...blocks, ...affinities, ...handles]) {
    const { name, labels, creationTimestamp } = object.metadata;
    const metadata = { name, ...(labels && { labels }), ...(creationTimestamp && { creationTimestamp }) };
    await store.create({ ...object, metadata } as typeof object);
  }
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #store: Datastore;
  readonly #options: TakeOptions;
  readonly #ipam: Ipam;
  readonly #families: readonly IpVersion[];
  #first: RanOut | undefined;

  constructor(scenario: Scenario, store: Datastore, cache: Datastore, options: TakeOptions) {
    this.#scenario = scenario;
    this.#store = store;
    this.#options = options;
    this.#families = familiesOf(inventoryOf(scenario.snapshot));
    const labels = new Map(scenario.nodes.map((node) => [node.name, { metadata: { labels: node.labels } }]));
    this.#ipam = createIpam({
      datastore: cache,
      clock: options.now,
      windowsHost: false,
      nodes: async (name) => labels.get(name),
      warn: () => {},
    });
  }

  async run(): Promise<Outcome> {
    const { nodes, untilFull, snapshot } = this.#scenario;
    const held = heldByNode(snapshot);
    let [fullNodes, wanted, placed, tried] = [0, 0, 0, 0];
    for (const node of nodes) {
      this.#options.signal.throwIfAborted();
      this.#options.progress?.(`node ${++tried} of at most ${nodes.length}`);
      const wants = node.pods + node.cooling;
      const got = await this.#fill(node, wants, held);
      if (untilFull && got < wants) break;
      fullNodes += Number(got >= wants);
      wanted += wants;
      placed += Math.min(got, wants);
    }
    const after = { ...snapshot, ...(await this.#take()) };
    const count = untilFull ? fullNodes : nodes.length;
    return { nodes: count, fullNodes, wanted, placed, after, ...(this.#first && { first: this.#first }) };
  }

  /** How many addresses the node has then, of the family that it has fewest of. */
  async #fill(node: PlannedNode, wants: number, held: ReadonlyMap<string, number>): Promise<number> {
    const counts: number[] = [];
    for (const version of this.#families) {
      const had = held.get(`${node.name} ${version}`) ?? 0;
      const got = had + (had < wants ? await this.#assign(node.name, version, wants - had) : 0);
      if (got < wants) this.#first ??= await this.#ranOut(node.name, version, got, wants);
      counts.push(got);
    }
    return Math.min(...counts);
  }

  async #assign(hostname: string, version: IpVersion, count: number): Promise<number> {
    const asked = version === 4 ? { num4: count } : { num6: count };
    const attrs = { node: hostname };
    const call = { ...asked, handleID: `plan.${hostname}`, hostname, intendedUse: "Workload", attrs } as const;
    try {
      const { signal } = this.#options;
      return given(await this.#ipam.autoAssign(call, { signal }), version);
    } catch (error) {
      if (!isIpamError(error) || isIpamError(error, "InvalidArgument")) throw error;
      return given(partialResult(error), version);
    }
  }

  async #ranOut(node: string, version: IpVersion, got: number, wants: number): Promise<RanOut> {
    const snapshot: Snapshot = { ...(await this.#take()), nodes: this.#scenario.nodes };
    const inventory = inventoryOf(snapshot);
    const moment = momentOf({ ...this.#scenario.snapshot, blocks: snapshot.blocks }, this.#options.now());
    const { causes } = verdictOn(inventory, nextOn(inventory, node, undefined), version, moment);
    return { node, family: `IPv${version}`, got, wants, ...(causes[0] && { cause: causes[0] }) };
  }

  #take(): Promise<Snapshot> {
    return takeFromStore(this.#store, { ...this.#options, progress: undefined });
  }
}

const given = (result: AutoAssignResult | undefined, version: IpVersion) => result?.[`v${version}`]?.ips.length ?? 0;

/** How many addresses each node's pods have, by node and family; what leaks or cools down is nobody's. */
function heldByNode(snapshot: Snapshot): Map<string, number> {
  const held = new Map<string, number>();
  for (const block of soundBlocks(inventoryOf(snapshot))) {
    for (const { owner, address, node, releasedAt } of allocationsOf(block)) {
      if (releasedAt !== undefined || node === undefined || owner["type"] !== undefined) continue;
      const key = `${node} ${versionOf(address)}`;
      held.set(key, (held.get(key) ?? 0) + 1);
    }
  }
  return held;
}
