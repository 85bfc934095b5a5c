/** What the invariants are asked of, and what they answer. Pure data; nothing here comes from the core under test. */
import { WINDOWS_RESERVED_HANDLE } from "../../src/api/names.ts";
import type {
  BlockAffinity,
  IPAMBlock,
  IPAMBlockSpec,
  IPAMConfiguration,
  IPAMHandle,
  IPPool,
  IPReservation,
} from "../../src/api/v3.ts";
import { type Cidr, contains, parseCidr } from "../../src/net/cidr.ts";

/** Addresses counted by getUtilization; above 2^63-1 a count may stand still. */
export interface Counts {
  readonly cidr: string;
  readonly capacity: bigint | number;
  readonly inUse: bigint | number;
  readonly reserved: bigint | number;
  readonly available: bigint | number;
}
export interface PoolReport extends Counts {
  readonly name: string;
  readonly blocks: readonly Counts[];
}

/** The part of a Node that pools select by. */
export interface NodeLabels {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Everything stored at one moment, and what getUtilization said of it. Rows marked as deleted may be among it. */
export interface ListedObjects {
  readonly blocks: readonly IPAMBlock[];
  readonly affinities: readonly BlockAffinity[];
  readonly handles: readonly IPAMHandle[];
  readonly configurations: readonly IPAMConfiguration[];
  readonly pools: readonly IPPool[];
  readonly reservations: readonly IPReservation[];
  readonly nodes: readonly NodeLabels[];
  readonly utilization?: readonly PoolReport[];
}

export interface CheckOptions {
  /** `always`: what holds at every instant. `atRest`: also what holds when nothing is in flight and nothing crashed. */
  readonly mode: "always" | "atRest";
  readonly now: Date;
  /** How far the writers' clocks may be ahead of `now`. Default 0. */
  readonly clockSkewSeconds?: number;
  /** The block cap that callers pass to autoAssign. Default 0: none. */
  readonly maxBlocksPerHost?: number;
}

export interface Finding {
  /** Number in the list of invariants. */
  readonly invariant: number;
  /** Kind and name: `IPAMBlock 10-0-0-0-26`. */
  readonly object: string;
  readonly message: string;
}

/** Names an object in findings. */
export const nameOf = (object: { readonly kind: string; readonly metadata: { readonly name: string } }): string =>
  `${object.kind} ${object.metadata.name}`;

/** Findings about one object, each under its number. */
export type Report = (invariant: number, message: string) => void;

/** Runs `look` over each object and collects what it reports, in order. */
export function findings<T extends { readonly kind: string; readonly metadata: { readonly name: string } }>(
  objects: readonly T[],
  look: (object: T, report: Report) => void,
): Finding[] {
  const found: Finding[] = [];
  for (const object of objects) {
    look(object, (invariant, message) => found.push({ invariant, object: nameOf(object), message }));
  }
  return found;
}

export const isLive = (object: { readonly spec: { readonly deleted?: boolean | undefined } }): boolean =>
  object.spec.deleted !== true;

/** The handle of an ordinal's attribute entry: undefined where it is free, cooling down or without one. */
export function handleAt(spec: IPAMBlockSpec, ordinal: number): string | undefined {
  const index = spec.allocations[ordinal];
  return index == null ? undefined : spec.attributes[index]?.handle_id;
}

export const isWindowsReserved = (handleID: string | undefined): boolean =>
  handleID?.toLowerCase() === WINDOWS_RESERVED_HANDLE;

/** Block size of a pool: what is absent or zero has the family's default. */
export function blockSizeOf({ spec }: IPPool): number {
  return spec.blockSize || (spec.cidr.includes(":") ? 122 : 26);
}

/** The first pool that holds all of a range. */
export function poolOf(pools: readonly IPPool[], range: Cidr): IPPool | undefined {
  return pools.find(({ spec }) => {
    const poolRange = parseCidr(spec.cidr);
    return poolRange !== undefined && contains(poolRange, range);
  });
}

/** A sequence number as it is compared: absent counts as 0, and a store may give a small one as a number. */
export const numberOf = (stored: bigint | number | undefined): bigint => BigInt(stored ?? 0);
