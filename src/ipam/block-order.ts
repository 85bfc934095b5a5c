/**
 * The order in which a host looks through a pool's blocks: from a place of its own onwards, so that two hosts do not
 * get into each other's way and one host's retries meet the same blocks again. Any order is safe beside Calico.
 */
import { createHash } from "node:crypto";
import { width } from "../net/address.ts";
import { type AddressSet, rangeCovering } from "../net/address-set.ts";
import { type Cidr, size } from "../net/cidr.ts";

/** Index of the block at which `host` starts in a pool of `blockCount` blocks; any number is taken modulo the count. */
export type BlockOrder = (host: string, blockCount: bigint) => bigint;

/** Starts at a hash of the host's name: neighbouring names land far apart. */
export const hashedOrder: BlockOrder = (host, blockCount) =>
  BigInt(`0x${createHash("sha256").update(host).digest("hex")}`) % blockCount;

/** What a walk needs of a pool. */
export interface BlockRange {
  readonly cidr: Cidr;
  readonly blockSize: number;
}

/** Number of blocks; 0 for a pool that is smaller than one. */
export function blockCount({ cidr, blockSize }: BlockRange): bigint {
  return size(cidr) / addressesPerBlock(cidr, blockSize);
}

/**
 * The pool's blocks from the host's place on, wrapping at the end, each once. Wholly reserved ones are left out, without
 * walking through them: a reservation can cover more blocks than could ever be visited.
 */
export function* blocksInOrder(
  pool: BlockRange,
  host: string,
  order: BlockOrder,
  reserved: AddressSet,
): Generator<Cidr> {
  const count = blockCount(pool);
  if (count === 0n) return;
  const start = order(host, count) % count;
  yield* stretch(pool, start, count, reserved);
  yield* stretch(pool, 0n, start, reserved);
}

/** Sort key of a block in the host's order through the pool. */
export function placeInOrder(pool: BlockRange, host: string, order: BlockOrder): (block: Cidr) => bigint {
  const count = blockCount(pool);
  const start = count === 0n ? 0n : order(host, count) % count;
  const step = addressesPerBlock(pool.cidr, pool.blockSize);
  return (block) => ((block.base - pool.cidr.base) / step - start + count) % (count || 1n);
}

function* stretch({ cidr, blockSize }: BlockRange, from: bigint, to: bigint, reserved: AddressSet): Generator<Cidr> {
  const step = addressesPerBlock(cidr, blockSize);
  for (let index = from; index < to; index++) {
    const block: Cidr = { version: cidr.version, base: cidr.base + index * step, prefix: blockSize };
    const covering = rangeCovering(reserved, block);
    if (covering) index = (covering.last - cidr.base + 1n) / step - 1n;
    else yield block;
  }
}

function addressesPerBlock(cidr: Cidr, blockSize: number): bigint {
  return 1n << BigInt(width(cidr.version) - blockSize);
}
