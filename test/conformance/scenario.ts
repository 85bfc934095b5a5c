/** Replays a recorded scenario through the library's public interface, a step at a time, and compares what came of it. */
import { readFileSync } from "node:fs";
import { blockName } from "../../src/api/names.ts";
import type { IPAMBlock } from "../../src/api/v3.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { contains, parseCidr } from "../../src/net/cidr.ts";
import type { ListedObjects } from "../invariants/check.ts";
import { hostRange } from "../invariants/log.ts";
import { Recorder } from "../invariants/recorder.ts";
import { frozen } from "../support/ipam.ts";
import { pool, reservation } from "../support/ipam-data.ts";
import type { Step } from "./recording.ts";

/** Where the reference starts in a pool, per host and size: injected, as the product has an order of its own. */
const STARTS: ReadonlyMap<string, number> = new Map(
  JSON.parse(readFileSync(new URL("../golden/block-order.json", import.meta.url), "utf8")).starts.map(
    (start: { host: string; log2NumBlocks: number; startIndex: number }) => [
      `${start.host} ${2n ** BigInt(start.log2NumBlocks)}`,
      start.startIndex,
    ],
  ),
);

export function recordedOrder(host: string, blockCount: bigint): bigint {
  const start = STARTS.get(`${host} ${blockCount}`);
  if (start === undefined) throw new Error(`block-order.json has no start of ${host} among ${blockCount} blocks`);
  return BigInt(start);
}

const FIRST_STEP = Date.parse("2026-11-29T16:00:00Z");
const STEP_MS = 10;

/** A datastore with the library over it, its own clock, and the nodes a scenario has made. */
export class Scene {
  readonly ipam: Ipam;
  readonly recorder: Recorder;
  readonly #store: Datastore;
  readonly #nodes = new Map<string, { metadata: { labels: Record<string, string> } }>();
  #now = FIRST_STEP;

  constructor(store: Datastore) {
    const clock = () => new Date(this.#now);
    this.recorder = new Recorder(clock);
    const datastore = this.recorder.datastore(frozen(store));
    this.#store = datastore;
    const nodes = async (name: string) => this.#nodes.get(name);
    this.ipam = createIpam({ datastore, clock, blockOrder: recordedOrder, nodes, windowsHost: false });
  }

  get now(): Date {
    return new Date(this.#now);
  }

  /** Time passes between steps, and a cooldown where the recording waited for one. */
  advance({ note }: Step): void {
    this.#now += STEP_MS + (note?.startsWith("after the cooldown") ? 5000 : 0);
  }

  async ensurePool({ name, cidr, ...spec }: { name: string; cidr: string }): Promise<void> {
    const stored = (await this.#store.list("IPPool")).items.find(({ metadata }) => metadata.name === name);
    const wanted = pool(name, cidr, spec);
    if (!stored) await this.#store.create(wanted);
    else await this.#store.update({ ...wanted, metadata: stored.metadata });
  }

  async ensureReservation({ name, cidrs }: { name: string; cidrs: string[] }): Promise<void> {
    await this.#store.create(reservation(name, ...cidrs));
  }

  ensureNode({ name, labels }: { name: string; labels: Record<string, string> | null }): void {
    this.#nodes.set(name, { metadata: { labels: labels ?? {} } });
  }

  block(cidr: string): Promise<IPAMBlock> {
    return this.#store.get("IPAMBlock", blockName(cidr));
  }

  async stored(): Promise<ListedObjects> {
    const list = async <K extends Parameters<Datastore["list"]>[0]>(kind: K) => (await this.#store.list(kind)).items;
    return {
      blocks: await list("IPAMBlock"),
      affinities: await list("BlockAffinity"),
      handles: await list("IPAMHandle"),
      configurations: await list("IPAMConfiguration"),
      pools: await list("IPPool"),
      reservations: await list("IPReservation"),
      nodes: [...this.#nodes].map(([name, { metadata }]) => ({ name, labels: metadata.labels })),
    };
  }
}

/** The step with the sequence numbers of our blocks in place of the recorded ones: both count from their own start. */
export function withOwnNumbers(step: Step, recorded: readonly IPAMBlock[], own: readonly IPAMBlock[]): Step {
  const releases = step.args["releases"] as readonly { address: string; seq?: string }[] | undefined;
  if (!releases) return step;
  const translated = releases.map((release) => {
    const numberIn = (blocks: readonly IPAMBlock[]) =>
      blocks.find(({ spec }) => isIn(release.address, spec.cidr))?.spec.sequenceNumber ?? 0n;
    if (release.seq === undefined || BigInt(release.seq) < EARLIEST_START) return release;
    return { ...release, seq: String(BigInt(release.seq) - numberIn(recorded) + numberIn(own)) };
  });
  return { ...step, args: { ...step.args, releases: translated } };
}

/** Numbers below are made up by the scenario's author. */
const EARLIEST_START = 10n ** 18n;
const isIn = (address: string, cidr: string) => contains(parseCidr(cidr)!, hostRange(address));
