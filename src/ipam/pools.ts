/** Pools as addresses are drawn from them: their defaults filled in, what is around an address, what gives none. */

import { BLOCK_SIZES, DEFAULT_BLOCK_SIZE, isBlockSize } from "../api/block-sizes.ts";
import type { IPPool } from "../api/v3.ts";
import { type Address, type IpVersion, width } from "../net/address.ts";
import { type Cidr, canonicalCidr, cidrOf, contains, formatCidr, overlaps, parseCidr } from "../net/cidr.ts";
import { addressFrom } from "./block.ts";
import { IpamError } from "./errors.ts";
import { allocatableCondition, overlapWinners } from "./pool-order.ts";

/** What addresses are for. */
export type IntendedUse = "Workload" | "Tunnel" | "LoadBalancer";

/** A pool with its defaults filled in. */
export interface Pool {
  readonly name: string;
  readonly cidr: Cidr;
  readonly blockSize: number;
  readonly allowedUses: readonly string[];
  readonly source: IPPool;
  /** The pool that was accepted before this one and overlaps it: this one allocates nothing. */
  readonly overlappedBy?: Pool;
}

/** Uses of a pool that names none. */
export const DEFAULT_USES = ["Workload", "Tunnel"] as const;

/** What a cache gives is the same object from call to call: it is looked at once. */
const pools = new WeakMap<IPPool, Pool | undefined>();
/** The same for a whole list. */
const lists = new WeakMap<readonly IPPool[], readonly Pool[]>();

/** Every pool whose CIDR is one, in the order of their names. A stored CIDR with host bits is read as its masked form. */
export function poolsOf(sources: readonly IPPool[]): readonly Pool[] {
  const known = lists.get(sources);
  if (known) return known;
  const readable = sources.map(poolOf).filter((pool) => pool !== undefined);
  const winners = overlapWinners(readable);
  const marked = readable.map((pool) => {
    const overlappedBy = winners.get(pool);
    return overlappedBy ? { ...pool, overlappedBy } : pool;
  });
  lists.set(sources, marked);
  return marked;
}

function poolOf(source: IPPool): Pool | undefined {
  if (!pools.has(source)) pools.set(source, readPool(source));
  return pools.get(source);
}

function readPool(source: IPPool): Pool | undefined {
  const { blockSize, allowedUses } = source.spec;
  const cidr = parseCidr(source.spec.cidr);
  return (
    cidr && {
      name: source.metadata.name,
      cidr,
      blockSize: isBlockSize(blockSize, cidr.version) ? blockSize : DEFAULT_BLOCK_SIZE[cidr.version],
      allowedUses: allowedUses?.length ? allowedUses : DEFAULT_USES,
      source,
    }
  );
}

/** Why no address may come from the pool at all; undefined where one may. */
export function disabledBecause(pool: Pool): string | undefined {
  const { source, overlappedBy } = pool;
  if (source.metadata.deletionTimestamp !== undefined) return "is being deleted";
  if (source.spec.disabled) return "is disabled";
  const allocatable = allocatableCondition(source);
  if (allocatable?.status === "False") return `is not allocatable (${allocatable.reason})`;
  if (overlappedBy) return `overlaps ${poolWords(overlappedBy, "which was accepted before it")}`;
  return badlyCut(pool);
}

/** Pools are refused with such blocks; stored ones are older than the rule. */
function badlyCut({ cidr, blockSize, source }: Pool): string | undefined {
  const [largest, smallest] = BLOCK_SIZES[cidr.version];
  const asked = source.spec.blockSize || blockSize;
  if (!isBlockSize(asked, cidr.version)) {
    return `has blocks of /${asked}, IPv${cidr.version} blocks are /${largest} to /${smallest}: make it anew with such blocks`;
  }
  return blockSize < cidr.prefix ? `is smaller than one of its blocks (/${blockSize})` : undefined;
}

/** Why the pools around a range give no address, a sentence each. */
export function closedAround(pools: readonly Pool[], range: Cidr): string[] {
  return pools.flatMap((pool) => {
    const because = contains(pool.cidr, range) ? disabledBecause(pool) : undefined;
    return because === undefined ? [] : [poolWords(pool, because)];
  });
}

/** A sentence about a pool. */
export const poolWords = ({ name, cidr }: Pool, because: string) => `pool "${name}" (${formatCidr(cidr)}) ${because}`;

export function isEnabled(pool: Pool): boolean {
  return disabledBecause(pool) === undefined;
}

/** Whether a person means the pool: by its name, or by its range however that is written. */
export function isCalled({ name, cidr }: Pool, text: string): boolean {
  return name === text || canonicalCidr(text) === formatCidr(cidr);
}

/** The pool an address is in. */
export function poolFor(pools: readonly Pool[], address: Address): Pool | undefined {
  return poolAround(pools, cidrOf(address, width(address.version)));
}

/** The pool all of a range is in. One that another pool overlaps hides no other. */
export function poolAround(pools: readonly Pool[], range: Cidr): Pool | undefined {
  return acceptedFirst(pools.filter(({ cidr }) => contains(cidr, range)));
}

/** The pool that a range shares addresses with, by the same order. */
export function poolOverlapping(pools: readonly Pool[], range: Cidr): Pool | undefined {
  return acceptedFirst(pools.filter(({ cidr }) => overlaps(cidr, range)));
}

function acceptedFirst(candidates: readonly Pool[]): Pool | undefined {
  return candidates.find(({ source, overlappedBy }) => !overlappedBy && !source.spec.disabled) ?? candidates[0];
}

/** Refuses pools of the other family. @throws IpamError InvalidArgument */
export function checkFamily(requested: readonly string[], version: IpVersion): void {
  for (const text of requested) {
    const cidr = parseCidr(text);
    if (cidr?.version === version) continue;
    const message = `provided IPv${version} IPPools list contains one or more IPv${version === 4 ? 6 : 4} IPPools`;
    throw new IpamError("InvalidArgument", message, { details: [`${text} is no IPv${version} range`] });
  }
}

/** The enabled pool an address is in, and its block there. */
export function blockAround(
  pools: readonly Pool[],
  text: string,
): { pool: Pool; block: Cidr; address: Address } | undefined {
  const address = addressFrom(text);
  const pool = poolFor(pools, address);
  return pool && { pool, address, block: blockOf(pool, address) };
}

/** Whether the range is a block of an enabled pool: only such a block is created. */
export function isBlockOf(pools: readonly Pool[], range: Cidr): boolean {
  return pools.some((pool) => isEnabled(pool) && pool.blockSize === range.prefix && contains(pool.cidr, range));
}

/** The block of a pool that an address is in. */
export function blockOf({ blockSize }: Pool, address: Address): Cidr {
  return cidrOf(address, blockSize);
}
