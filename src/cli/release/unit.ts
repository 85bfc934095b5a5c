/** The addresses that are released together, wholly or not at all: those of one handle. */
import { blockName } from "../../api/names.ts";
import { isDatastoreError } from "../../datastore/datastore.ts";
import { attributeAt, handleOf, isCooling, sequenceAt } from "../../ipam/block.ts";
import { isIpamError } from "../../ipam/errors.ts";
import type { Allocation } from "../../judgement/allocations.ts";
import type { Item, Step } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";

export interface Unit {
  readonly handle: string | undefined;
  readonly allocations: readonly Allocation[];
}

/** By handle; an address without one is a unit by itself. */
export function unitsOf(allocations: Iterable<Allocation>): Unit[] {
  const byHandle = Map.groupBy(allocations, ({ handle, address }) => (handle === undefined ? `\0${address}` : handle));
  return Array.from(byHandle.values(), (members) => ({ handle: members[0]!.handle, allocations: members }));
}

/** What rows say of a unit. */
export function unitItem(action: string, { handle, allocations }: Unit, why: string): Item {
  const addresses = allocations.map(({ address }) => address);
  const sequenceNumbers = allocations.map(({ sequenceNumber }) => sequenceNumber);
  return { action, object: addresses.join(" "), why, facts: { addresses, sequenceNumbers, ...(handle && { handle }) } };
}

/** Releases a unit as it was looked at, after looking once more. */
export function releaseStep(workplace: Workplace, unit: Unit, why: string): Step {
  return {
    ...unitItem("release", unit, why),
    lane: unit.allocations[0]!.block.metadata.name,
    run: () => releaseUnit(workplace, unit),
  };
}

async function releaseUnit({ datastore, ipam }: Workplace, { handle, allocations }: Unit): Promise<string | undefined> {
  for (const allocation of allocations) {
    const changed = await changedSince(datastore, allocation);
    if (changed !== undefined) return changed;
  }
  const releases = allocations.map(({ address, sequenceNumber }) => ({ address, handle, sequenceNumber }));
  try {
    const { unallocated } = await ipam.releaseIPs(releases);
    return unallocated.length > 0 ? `${unallocated.join(" ")} was released by somebody else meanwhile` : undefined;
  } catch (error) {
    if (!isIpamError(error, "BadSequenceNumber", "BadHandle")) throw error;
    return `was allocated anew meanwhile: ${error.message}`;
  }
}

/** Every address is looked at before the first is released, so that none of a handle is where another cannot be. */
async function changedSince(datastore: Workplace["datastore"], allocation: Allocation): Promise<string | undefined> {
  const { address, block, ordinal, handle, sequenceNumber } = allocation;
  try {
    const now = await datastore.get("IPAMBlock", blockName(block.spec.cidr), { fresh: true });
    const attribute = attributeAt(now, ordinal);
    if (attribute === undefined || isCooling(attribute)) return `${address} was released by somebody else meanwhile`;
    const isSame = handleOf(attribute) === handle && sequenceAt(now, ordinal) === sequenceNumber;
    return isSame ? undefined : `${address} was allocated anew meanwhile`;
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return `the block of ${address} is gone`;
    throw error;
  }
}
