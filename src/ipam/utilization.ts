/** How full pools and blocks are. Stored data is counted as it is: what cools down is in use, and counted beside it. */
import type { IPAMBlock, IPPool } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import { type AddressSet, addressSet, sizeOfDifference, union } from "../net/address-set.ts";
import { type Cidr, formatCidr, overlaps, size } from "../net/cidr.ts";
import { freeOrdinals, isCooling, rangeOf } from "./block.ts";
import { type Context, listBlocks, listPools, listReservations } from "./context.ts";
import { type Pool, poolsOf } from "./pools.ts";
import { reservedIn, saturated } from "./reserved.ts";

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
  const { blocks, unsoundRanges } = await listBlocks(context, options);
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
  const ofPool = Map.groupBy(blocks, (block) => pools.find(({ cidr }) => overlaps(cidr, rangeOf(block))));
  const isWanted = ({ name, source }: Pool) => wanted.includes(name) || wanted.includes(source.spec.cidr);
  const rows = pools
    .filter((pool) => wanted.length === 0 || isWanted(pool))
    .map((pool) => poolUtilization(pool, ofPool.get(pool) ?? [], reserved, unsoundRanges));
  return wanted.length > 0 ? rows : [...rows, ...orphans(ofPool.get(undefined) ?? [], reserved)];
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

function blockUtilization(block: IPAMBlock, reserved: AddressSet): BlockUtilization {
  const { allocations, unallocated, attributes } = block.spec;
  const range = rangeOf(block);
  const cooling = allocations.filter((index) => index !== null && isCooling(attributes[index]!));
  return {
    cidr: formatCidr(range),
    capacity: size(range),
    inUse: size(range) - BigInt(unallocated.length),
    reserved: reservedIn(range, reserved),
    available: BigInt(freeOrdinals(block, reserved).length),
    inCooldown: BigInt(cooling.length),
  };
}

/** Space that no block covers yet counts: what is neither reserved nor a block's is available. */
function poolUtilization(
  { name, cidr }: Pool,
  stored: readonly IPAMBlock[],
  reserved: AddressSet,
  unsoundRanges: readonly Cidr[],
): PoolUtilization {
  const blocks = stored.map((block) => blockUtilization(block, reserved));
  const taken = union(reserved, addressSet([...stored.map(rangeOf), ...unsoundRanges]));
  const sum = (count: (block: BlockUtilization) => bigint) => blocks.reduce((total, block) => total + count(block), 0n);
  return {
    name,
    cidr: formatCidr(cidr),
    capacity: size(cidr),
    inUse: sum(({ inUse }) => inUse),
    reserved: reservedIn(cidr, reserved),
    available: sum(({ available }) => available) + sizeOfDifference(addressSet([cidr]), taken),
    inCooldown: sum(({ inCooldown }) => inCooldown),
    blocks,
  };
}

/** IPv4's row is always there, as Calico has it; IPv6's where there is something to say. */
function orphans(stored: readonly IPAMBlock[], reserved: AddressSet): PoolUtilization[] {
  const row = (version: IpVersion, cidr: string): PoolUtilization => {
    const blocks = stored.filter((block) => rangeOf(block).version === version);
    const none = { capacity: 0n, inUse: 0n, reserved: 0n, available: 0n, inCooldown: 0n };
    return { name: ORPHANS, cidr, ...none, blocks: blocks.map((block) => blockUtilization(block, reserved)) };
  };
  const v6 = row(6, "::/0");
  return [row(4, "0.0.0.0/0"), ...(v6.blocks.length > 0 ? [v6] : [])];
}
