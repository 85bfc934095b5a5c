/**
 * Sets of addresses as sorted, disjoint ranges on bigint. Every count and every "is it covered" of reservations goes
 * through here, so that allocation and reporting cannot disagree. Exact at IPv6 sizes.
 */
import type { Address, IpVersion } from "./address.ts";
import { type Cidr, size } from "./cidr.ts";

/** All addresses from `first` to `last`, both included. */
export interface AddressRange {
  readonly version: IpVersion;
  readonly first: bigint;
  readonly last: bigint;
}

/** Sorted by version and address; no two ranges overlap or touch. */
export type AddressSet = readonly AddressRange[];

export const EMPTY_SET: AddressSet = Object.freeze([]);

/** The union of ranges, which may overlap and nest. */
export function addressSet(cidrs: Iterable<Cidr>): AddressSet {
  return merged(Array.from(cidrs, rangeOf));
}

/** What is in `a` or in `b`. */
export function union(a: AddressSet, b: AddressSet): AddressSet {
  if (b.length === 0) return a;
  if (a.length === 0) return b;
  return merged([...a, ...b]);
}

/** What is in `a` and in `b`. */
export function intersection(a: AddressSet, b: AddressSet): AddressSet {
  const common: AddressRange[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [x, y] = [a[i]!, b[j]!];
    const both = overlap(x, y);
    if (both) common.push(both);
    if (endsFirst(x, y)) i++;
    else j++;
  }
  return common;
}

/** Number of addresses in `a` that are not in `b`. */
export function sizeOfDifference(a: AddressSet, b: AddressSet): bigint {
  return sizeOf(a) - sizeOf(intersection(a, b));
}

/** Number of addresses. */
export function sizeOf(set: AddressSet): bigint {
  return set.reduce((sum, { first, last }) => sum + last - first + 1n, 0n);
}

/** Whether the set has this address. */
export function has(set: AddressSet, { version, value }: Address): boolean {
  return rangeAround(set, { version, first: value, last: value }) !== undefined;
}

/** The range of the set that has all of `cidr`, if one has; ranges are maximal, so no two do so jointly. */
export function rangeCovering(set: AddressSet, cidr: Cidr): AddressRange | undefined {
  return rangeAround(set, rangeOf(cidr));
}

/** Whether the set has an address of `cidr`. */
export function touches(set: AddressSet, cidr: Cidr): boolean {
  const range = rangeOf(cidr);
  const candidate = set[lastStartingBy(set, range.version, range.last)];
  return candidate !== undefined && overlap(candidate, range) !== undefined;
}

function rangeOf(cidr: Cidr): AddressRange {
  return { version: cidr.version, first: cidr.base, last: cidr.base + size(cidr) - 1n };
}

function merged(ranges: AddressRange[]): AddressSet {
  const set: AddressRange[] = [];
  for (const range of ranges.sort(byStart)) {
    const before = set.at(-1);
    const apart = before === undefined || before.version !== range.version || before.last + 1n < range.first;
    if (apart) set.push(range);
    else if (range.last > before.last) set[set.length - 1] = { ...before, last: range.last };
  }
  return set;
}

function byStart(a: AddressRange, b: AddressRange): number {
  if (a.version !== b.version) return a.version - b.version;
  return a.first < b.first ? -1 : Number(a.first > b.first);
}

function endsFirst(a: AddressRange, b: AddressRange): boolean {
  return a.version === b.version ? a.last < b.last : a.version < b.version;
}

function overlap(a: AddressRange, b: AddressRange): AddressRange | undefined {
  const { first } = a.first < b.first ? b : a;
  const { last } = endsFirst(a, b) ? a : b;
  return a.version === b.version && first <= last ? { version: a.version, first, last } : undefined;
}

function rangeAround(set: AddressSet, { version, first, last }: AddressRange): AddressRange | undefined {
  const candidate = set[lastStartingBy(set, version, first)];
  return candidate?.version === version && candidate.last >= last ? candidate : undefined;
}

/** Index of the last range that starts at or before `value`; -1 where none does. */
function lastStartingBy(set: AddressSet, version: IpVersion, value: bigint): number {
  let [low, high] = [0, set.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byStart(set[middle]!, { version, first: value, last: value }) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
