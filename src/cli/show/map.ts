/** A pool as a picture of its blocks: what each cell of the map stands for. Pure; `map-text.ts` draws it. */
import type { BlockAffinity, IPAMBlock } from "../../api/v3.ts";
import { isConfirmed, rowRange } from "../../ipam/affinity.ts";
import { rangeOf } from "../../ipam/block.ts";
import type { Pool } from "../../ipam/pools.ts";
import { reservedIn } from "../../ipam/reserved.ts";
import { type Allocation, allocationsOf } from "../../judgement/allocations.ts";
import { type Inventory, soundBlocks } from "../../judgement/inventory.ts";
import { borrowedFrom } from "../../judgement/owners.ts";
import { width } from "../../net/address.ts";
import { type Cidr, contains, formatCidr, size } from "../../net/cidr.ts";

/** A block, or where a pool has too many, an aligned part of it. */
export interface Cell {
  readonly cidr: string;
  /** Blocks that exist in it; one that is wider than a cell is in several. */
  readonly blocks: number;
  /** Of all addresses of the cell, from 0 to 1. */
  readonly used: number;
  readonly cooling: number;
  /** Addresses that other nodes use than the one that owns the block. */
  readonly borrowed: number;
  /** Blocks without an affinity. */
  readonly unowned: number;
  /** Blocks that are being claimed or released. */
  readonly changing: number;
  /** Every address is reserved. */
  readonly reserved: boolean;
}

export interface PoolMap {
  readonly pool: string;
  readonly cidr: string;
  /** Length of its blocks' prefix. */
  readonly blockSize: number;
  /** Whether the cells are all of the pool, in ascending order; else only the blocks that exist. */
  readonly complete: boolean;
  /** Blocks of the pool. */
  readonly blocks: number;
  readonly cells: readonly Cell[];
}

/** Cells of a map at most: 2^10. */
const MOST_BITS = 10;
/** A pool of more blocks than 2^20 has no picture: only the blocks that exist are shown. */
const PICTURE_BITS = 20;

export function poolMap(inventory: Inventory, pool: Pool): PoolMap {
  const { cidr, blockSize, name } = pool;
  const blocks = soundBlocks(inventory).filter((block) => contains(cidr, rangeOf(block)));
  const bits = Math.max(0, blockSize - cidr.prefix);
  const named = { pool: name, cidr: formatCidr(cidr), blockSize, blocks: blocks.length };
  const changing = changingRanges(inventory.affinities);
  const cell = (range: Cidr, inside: readonly IPAMBlock[]) => cellOf(range, inside, inventory, changing);
  if (bits > PICTURE_BITS) {
    const cells = blocks.map((block) => cell(rangeOf(block), [block]));
    return { ...named, complete: false, cells };
  }
  const parts = partsOf(cidr, Math.min(bits, MOST_BITS));
  const ofPart = new Map<number, IPAMBlock[]>();
  for (const block of blocks) {
    for (const index of indexesIn(cidr, parts[0]!.prefix, rangeOf(block))) {
      ofPart.set(index, [...(ofPart.get(index) ?? []), block]);
    }
  }
  const cells = parts.map((part, index) => cell(part, ofPart.get(index) ?? []));
  return { ...named, complete: true, cells };
}

function partsOf({ version, base, prefix }: Cidr, bits: number): Cidr[] {
  const step = 1n << BigInt(width(version) - prefix - bits);
  const partAt = (index: number): Cidr => ({ version, base: base + BigInt(index) * step, prefix: prefix + bits });
  return Array.from({ length: 2 ** bits }, (_, index) => partAt(index));
}

/** The parts that a range shares addresses with. */
function indexesIn(pool: Cidr, prefix: number, range: Cidr): number[] {
  const first = Number((range.base - pool.base) >> BigInt(width(pool.version) - prefix));
  return Array.from({ length: 2 ** Math.max(0, prefix - range.prefix) }, (_, at) => first + at);
}

function changingRanges(affinities: readonly BlockAffinity[]): ReadonlySet<string> {
  return new Set(affinities.filter((row) => !isConfirmed(row)).map((row) => formatCidr(rowRange(row))));
}

function cellOf(
  range: Cidr,
  blocks: readonly IPAMBlock[],
  { reserved }: Inventory,
  changing: ReadonlySet<string>,
): Cell {
  const allocations = blocks.flatMap((block) => allocationsIn(range, block));
  return {
    cidr: formatCidr(range),
    blocks: blocks.length,
    used: new Set(allocations.map(({ address }) => address)).size / Number(size(range)),
    cooling: allocations.filter(({ releasedAt }) => releasedAt !== undefined).length,
    borrowed: allocations.filter(({ owner, block }) => borrowedFrom(owner, block) !== undefined).length,
    unowned: blocks.filter(({ spec }) => spec.affinity === undefined).length,
    changing: blocks.filter((block) => changing.has(formatCidr(rangeOf(block)))).length,
    reserved: reservedIn(range, reserved) === size(range),
  };
}

function allocationsIn(range: Cidr, block: IPAMBlock): Allocation[] {
  const first = range.base - rangeOf(block).base;
  const isInside = ({ ordinal }: Allocation) => BigInt(ordinal) >= first && BigInt(ordinal) < first + size(range);
  return Array.from(allocationsOf(block)).filter(isInside);
}
