/** How full pools and blocks are. Stored data is counted as it is: what cools down is in use, and counted beside it. */
import type { IPAMBlock, IPPool } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { type IpVersion, width } from "../net/address.ts";
import { type AddressSet, addressSet, sizeOfDifference, union } from "../net/address-set.ts";
import { type Cidr, cidrOf, contains, formatCidr, size } from "../net/cidr.ts";
import { CidrIndex } from "../net/cidr-index.ts";
import { attributeAt, freeOrdinals, isCooling, rangeOf } from "./block.ts";
import { type Context, listBlocks, listPools, listReservations } from "./context.ts";
import { isCalled, type Pool, poolOverlapping, poolsOf } from "./pools.ts";
import { reservedIn, saturated, withheld } from "./reserved.ts";

/** Counts of addresses; from getUtilization none is above 2^63-1. */
export interface Utilization {
  /** The range. */
  readonly cidr: string;
  /** How many addresses it has. */
  readonly capacity: bigint;
  /** Allocated or cooling down. An address can be in use and reserved. */
  readonly inUse: bigint;
  /** Covered by a reservation. */
  readonly reserved: bigint;
  /** Neither: how many can still be handed out. */
  readonly available: bigint;
  /** Of those in use, how many were released and cool down. */
  readonly inCooldown: bigint;
}

/** How full one block is. */
export type BlockUtilization = Utilization;

/** How full one pool is, or the blocks that are in none. */
export interface PoolUtilization extends Utilization {
  /** The pool's name, or `orphaned allocation blocks`. */
  readonly name: string;
  /** Its blocks. */
  readonly blocks: readonly BlockUtilization[];
}

/** Which pools to look at. */
export interface GetUtilizationArgs {
  /** Names or CIDRs of pools. Default: all, and after them the blocks that are in none. */
  readonly pools?: readonly string[] | undefined;
}

/** Name under which blocks outside every pool are listed. */
export const ORPHANS = "orphaned allocation blocks";

export async function getUtilization(
  context: Context,
  { pools: wanted = [] }: GetUtilizationArgs,
  options: CallOptions,
): Promise<PoolUtilization[]> {
  const pools = await listPools(context, options);
  const reserved = await listReservations(context, options);
  const { blocks, unsoundRefs } = await listBlocks(context, options);
  const unsoundRanges = unsoundRefs.map(({ range }) => range);
  const rows = utilizationOf(pools, blocks, reserved, wanted, unsoundRanges);
  return rows.map((row) => ({ ...saturatedCounts(row), blocks: row.blocks.map(saturatedCounts) }));
}

/**
 * The same of objects at hand, and exact: a /48 has more addresses than 63 bits count. Blocks must be sound; the ranges of
 * others are not counted as free, as nothing is handed out of them.
 */
export function utilizationOf(
  sources: readonly IPPool[],
  blocks: readonly IPAMBlock[],
  reserved: AddressSet,
  wanted: readonly string[] = [],
  unsoundRanges: readonly Cidr[] = [],
): PoolUtilization[] {
  const pools = poolsOf(sources);
  const overlapped = overlapsAmong(blocks, unsoundRanges);
  const counted = blocks.map((block) => countedBlock(block, reserved, overlapped.get(block) ?? []));
  const ofPool = Map.groupBy(counted, ({ range }) => poolOverlapping(pools, range));
  const isWanted = (pool: Pool) => wanted.some((text) => isCalled(pool, text));
  const rows = pools
    .filter((pool) => wanted.length === 0 || isWanted(pool))
    .map((pool) => poolUtilization(pool, ofPool.get(pool) ?? [], reserved, unsoundRanges));
  return wanted.length > 0 ? rows : [...rows, ...orphans(ofPool.get(undefined) ?? [])];
}

function saturatedCounts<T extends Utilization>(row: T): T {
  return {
    ...row,
    capacity: saturated(row.capacity),
    inUse: saturated(row.inUse),
    reserved: saturated(row.reserved),
    available: saturated(row.available),
    inCooldown: saturated(row.inCooldown),
  };
}

/** A block with its counts; where other blocks overlap it, its addresses are looked at one by one. */
interface CountedBlock {
  readonly block: IPAMBlock;
  readonly range: Cidr;
  readonly counts: BlockUtilization;
  /** Ranges of other blocks that overlap it. */
  readonly others: readonly Cidr[];
}

/** Blocks that overlap others, sound or not, with the ranges of those. */
function overlapsAmong(
  blocks: readonly IPAMBlock[],
  unsoundRanges: readonly Cidr[],
): ReadonlyMap<IPAMBlock, readonly Cidr[]> {
  const index = new CidrIndex<Cidr>();
  const own = new Map(blocks.map((block) => [block, rangeOf(block)]));
  for (const range of [...own.values(), ...unsoundRanges]) index.add(range, range);
  const found = Array.from(own, ([block, range]) => {
    return [block, index.overlapping(range).filter((other) => other !== range)] as const;
  });
  return new Map(found.filter(([, others]) => others.length > 0));
}

function countedBlock(block: IPAMBlock, reserved: AddressSet, others: readonly Cidr[]): CountedBlock {
  const { allocations, unallocated, attributes } = block.spec;
  const range = rangeOf(block);
  const cooling = allocations.filter((index) => index !== null && isCooling(attributes[index]!));
  const counts: BlockUtilization = {
    cidr: formatCidr(range),
    capacity: size(range),
    inUse: size(range) - BigInt(unallocated.length),
    reserved: reservedIn(range, reserved),
    available: BigInt(freeOrdinals(block, withheld(reserved, addressSet(others))).length),
    inCooldown: BigInt(cooling.length),
  };
  return { block, range, counts, others };
}

/** Addresses in use and cooling, each once, of blocks that overlap others or reach beyond their pool. */
function addressesOnce(pool: Cidr, blocks: readonly CountedBlock[], reserved: AddressSet) {
  const live = new Set<bigint>();
  const cooling = new Set<bigint>();
  const free = new Set<bigint>();
  for (const { block, range, others } of blocks) {
    const first = range.base;
    const isInside = (value: bigint) => contains(pool, cidrOf({ version: pool.version, value }, width(pool.version)));
    for (const ordinal of block.spec.allocations.keys()) {
      const attribute = attributeAt(block, ordinal);
      const value = first + BigInt(ordinal);
      if (attribute && isInside(value)) (isCooling(attribute) ? cooling : live).add(value);
    }
    for (const ordinal of freeOrdinals(block, withheld(reserved, addressSet(others)))) {
      if (isInside(first + BigInt(ordinal))) free.add(first + BigInt(ordinal));
    }
  }
  const onlyCooling = Array.from(cooling).filter((value) => !live.has(value)).length;
  return {
    inUse: BigInt(live.size + onlyCooling),
    inCooldown: BigInt(onlyCooling),
    available: BigInt(free.size),
  };
}

/** Addresses of a range that are neither in a block nor reserved. */
export function uncoveredIn(range: Cidr, blocks: readonly Cidr[], reserved: AddressSet): bigint {
  return sizeOfDifference(addressSet([range]), union(reserved, addressSet(blocks)));
}

/**
 * Space that no block covers yet counts: what is neither reserved nor a block's is available. What two blocks cover counts
 * once, and is not available.
 */
function poolUtilization(
  { name, cidr }: Pool,
  stored: readonly CountedBlock[],
  reserved: AddressSet,
  unsoundRanges: readonly Cidr[],
): PoolUtilization {
  const isOrdinary = ({ range, others }: CountedBlock) => others.length === 0 && contains(cidr, range);
  const ordinary = stored.filter(isOrdinary).map(({ counts }) => counts);
  const others = addressesOnce(
    cidr,
    stored.filter((block) => !isOrdinary(block)),
    reserved,
  );
  const sum = (count: (counts: Pick<Utilization, "inUse" | "available" | "inCooldown">) => bigint) =>
    [...ordinary, others].reduce((total, counts) => total + count(counts), 0n);
  return {
    name,
    cidr: formatCidr(cidr),
    capacity: size(cidr),
    inUse: sum(({ inUse }) => inUse),
    reserved: reservedIn(cidr, reserved),
    available:
      sum(({ available }) => available) +
      uncoveredIn(cidr, [...stored.map(({ range }) => range), ...unsoundRanges], reserved),
    inCooldown: sum(({ inCooldown }) => inCooldown),
    blocks: stored.map(({ counts }) => counts),
  };
}

/** IPv4's row is always there, as Calico has it; IPv6's where there is something to say. */
function orphans(stored: readonly CountedBlock[]): PoolUtilization[] {
  const row = (version: IpVersion, cidr: string): PoolUtilization => {
    const blocks = stored.filter(({ range }) => range.version === version);
    const none = { capacity: 0n, inUse: 0n, reserved: 0n, available: 0n, inCooldown: 0n };
    return { name: ORPHANS, cidr, ...none, blocks: blocks.map(({ counts }) => counts) };
  };
  const v6 = row(6, "::/0");
  return [row(4, "0.0.0.0/0"), ...(v6.blocks.length > 0 ? [v6] : [])];
}
