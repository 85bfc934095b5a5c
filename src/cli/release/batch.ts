/**
 * Releases of addresses, a batch for each block: one look at the block and its owners, one write of it. What is looked at
 * last decides, however long ago the plan was made.
 */
import { blockName } from "../../api/names.ts";
import type { IPAMBlock } from "../../api/v3.ts";
import { isDatastoreError } from "../../datastore/datastore.ts";
import { partialResult } from "../../ipam/assignments.ts";
import { attributeAt, handleOf, isCooling, sequenceAt } from "../../ipam/block.ts";
import { isIpamError } from "../../ipam/errors.ts";
import type { ReleaseResult } from "../../ipam/release.ts";
import type { Allocation } from "../../judgement/allocations.ts";
import { usageOf } from "../../judgement/in-use.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import type { Step } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";
import { type Unit, unitItem } from "./unit.ts";

/** Addresses to release, and what the plan says of them. */
export interface Planned {
  readonly unit: Unit;
  readonly why: string;
}

/** Asked with what is so right before the write. @returns why an address must stay, where it must */
export type KeptBecause = (now: Snapshot) => (allocation: Allocation) => string | undefined;

/** Releases only addresses that are not in use. */
export const unlessInUse: KeptBecause = (now) => (allocation) => {
  const { inUse, because } = usageOf(now).of(allocation);
  return inUse === "no" ? undefined : `${allocation.address} is kept: ${because}`;
};

export interface Releasing {
  readonly workplace: Workplace;
  /** What the plan was made from. */
  readonly seen: Snapshot;
  readonly keptBecause: KeptBecause;
}

/** A step for each unit, in their order. */
export function releaseSteps(releasing: Releasing, planned: readonly Planned[]): Step[] {
  const batchOf = new Map<Unit, Batch>();
  for (const units of joined(planned.map(({ unit }) => unit))) {
    const batch = new Batch(releasing, units);
    for (const unit of units) batchOf.set(unit, batch);
  }
  return planned.map(({ unit, why }) => {
    const batch = batchOf.get(unit)!;
    return {
      ...unitItem("release", unit, why),
      lane: batch.lane,
      hasBegun: () => batch.hasBegun,
      run: () => batch.resultOf(unit),
    };
  });
}

const blocksOf = ({ allocations }: Unit) => allocations.map(({ block }) => block.metadata.name);

/** Units that have a block in common, directly or by others, are released together. */
function joined(units: readonly Unit[]): Unit[][] {
  const groups = new Map<string, Unit[]>();
  for (const unit of units) {
    const names = new Set(blocksOf(unit));
    const together = [...new Set(Array.from(names, (name) => groups.get(name) ?? []))].flat();
    const group = [...together, unit];
    for (const name of group.flatMap(blocksOf)) groups.set(name, group);
  }
  return [...new Set(groups.values())];
}

/** What became of a unit: released, or why not. */
type Outcome = { readonly kept?: string } | { readonly error: unknown };

class Batch {
  readonly lane: string;
  readonly #releasing: Releasing;
  readonly #units: readonly Unit[];
  #outcomes: Promise<ReadonlyMap<Unit, Outcome>> | undefined;

  constructor(releasing: Releasing, units: readonly Unit[]) {
    this.#releasing = releasing;
    this.#units = units;
    this.lane = blocksOf(units[0]!)[0]!;
  }

  get hasBegun(): boolean {
    return this.#outcomes !== undefined;
  }

  /** The first that is asked for does them all. */
  async resultOf(unit: Unit): Promise<string | undefined> {
    this.#outcomes ??= releaseAll(this.#releasing, this.#units);
    const outcome = (await this.#outcomes).get(unit)!;
    if ("error" in outcome) throw outcome.error;
    return outcome.kept;
  }
}

async function releaseAll(releasing: Releasing, units: readonly Unit[]): Promise<Map<Unit, Outcome>> {
  const outcomes = new Map<Unit, Outcome>();
  const because = await keptBecause(releasing, units);
  for (const unit of units) {
    const kept = because(unit);
    if (kept !== undefined) outcomes.set(unit, { kept });
  }
  const free = units.filter((unit) => !outcomes.has(unit));
  for (const [unit, outcome] of await released(releasing.workplace, free)) outcomes.set(unit, outcome);
  return outcomes;
}

/** Every address is looked at before the first is released, so that none of a handle is where another cannot be. */
async function keptBecause({ workplace, seen, keptBecause: decide }: Releasing, units: readonly Unit[]) {
  const allocations = units.flatMap((unit) => unit.allocations);
  const blocks = await blocksNow(workplace, allocations);
  const found = [...blocks.values()].filter((block) => block !== undefined);
  const because = decide(await workplace.ownersNow(seen, { blocks: found, allocations }));
  return ({ allocations: own }: Unit): string | undefined => {
    for (const allocation of own) {
      const changed = changedSince(blocks.get(allocation.block.metadata.name), allocation);
      if (changed !== undefined) return changed;
    }
    return own.map(because).find((reason) => reason !== undefined);
  };
}

async function blocksNow({ datastore }: Workplace, allocations: readonly Allocation[]) {
  const seen = new Map(allocations.map(({ block }) => [block.metadata.name, block]));
  const blocks = new Map<string, IPAMBlock | undefined>();
  for (const [name, { spec }] of seen) {
    try {
      blocks.set(name, await datastore.get("IPAMBlock", blockName(spec.cidr), { fresh: true }));
    } catch (error) {
      if (!isDatastoreError(error, "NotFound")) throw error;
    }
  }
  return blocks;
}

function changedSince(now: IPAMBlock | undefined, allocation: Allocation): string | undefined {
  const { address, ordinal, handle, sequenceNumber } = allocation;
  if (now === undefined) return `the block of ${address} is gone`;
  const attribute = attributeAt(now, ordinal);
  if (attribute === undefined || isCooling(attribute)) return `${address} was released by somebody else meanwhile`;
  const isSame = handleOf(attribute) === handle && sequenceAt(now, ordinal) === sequenceNumber;
  return isSame ? undefined : `${address} was allocated again meanwhile`;
}

/** All in one call; where somebody changed a block in between, each unit by itself. */
async function released(workplace: Workplace, units: readonly Unit[]): Promise<Map<Unit, Outcome>> {
  if (units.length === 0) return new Map();
  const releases = units.flatMap(releasesOf);
  try {
    const { unallocated } = await workplace.ipam.releaseIPs(releases);
    return new Map(units.map((unit) => [unit, releasedMeanwhile(unit, unallocated)]));
  } catch (error) {
    if (units.length === 1) return new Map([[units[0]!, refused(error)]]);
    const done = new Set(partialResult<ReleaseResult>(error)?.processed.map(({ address }) => address));
    const outcomes = new Map<Unit, Outcome>();
    for (const unit of units) {
      if (unit.allocations.every(({ address }) => done.has(address))) outcomes.set(unit, {});
      else if (!isChange(error)) outcomes.set(unit, { error });
      else outcomes.set(unit, (await released(workplace, [unit])).get(unit)!);
    }
    return outcomes;
  }
}

const releasesOf = ({ handle, allocations }: Unit) =>
  allocations.map(({ address, sequenceNumber }) => ({ address, handle, sequenceNumber }));

function releasedMeanwhile({ allocations }: Unit, unallocated: readonly string[]): Outcome {
  const gone = allocations.map(({ address }) => address).filter((address) => unallocated.includes(address));
  return gone.length > 0 ? { kept: `${gone.join(" ")} was released by somebody else meanwhile` } : {};
}

const isChange = (error: unknown) => isIpamError(error, "BadSequenceNumber", "BadHandle");

function refused(error: unknown): Outcome {
  return isChange(error) ? { kept: `was allocated again meanwhile: ${(error as Error).message}` } : { error };
}
