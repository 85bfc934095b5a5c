/** The addresses that are released together, wholly or not at all: those of one handle. */
import type { Allocation } from "../../judgement/allocations.ts";
import type { Item } from "../writing/plan.ts";

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
