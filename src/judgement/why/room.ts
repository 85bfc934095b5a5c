/** How much room a node has in the pools it may draw from: in its own blocks, in ranges to claim, in blocks of others. */
import { isBlockSize } from "../../api/block-sizes.ts";
import { rangeOfBlockName } from "../../api/names.ts";
import type { IPAMBlock } from "../../api/v3.ts";
import { rowRange } from "../../ipam/affinity.ts";
import { collect, freeOrdinals, isEmpty, rangeOf } from "../../ipam/block.ts";
import { blocksInOrder, hashedOrder } from "../../ipam/block-order.ts";
import { problemOf } from "../../ipam/block-problem.ts";
import { isBlockOf, type Pool, poolAround } from "../../ipam/pools.ts";
import { withheld } from "../../ipam/reserved.ts";
import { EMPTY_BLOCK_MIN_RECLAIM_AGE_MS } from "../../ipam/unfinished.ts";
import { utilizationOf } from "../../ipam/utilization.ts";
import { type AddressSet, addressSet, rangeCovering, touches } from "../../net/address-set.ts";
import { type Cidr, formatCidr, parseCidr, size } from "../../net/cidr.ts";
import { freeAt, freeIn, type Inventory } from "../inventory.ts";
import { rowOwnerText } from "../owners.ts";

/** What some blocks hold, as time has left them. */
export interface Holding {
  readonly blocks: readonly IPAMBlock[];
  readonly addresses: number;
  readonly free: number;
  /** Free, but for a reservation. */
  readonly reserved: number;
  readonly cooling: number;
  /** When the first of those is free: RFC 3339. */
  readonly nextFree?: string;
}

export interface Room {
  readonly usable: readonly Pool[];
  /** The node's sound blocks, by its affinities: the CNI plugin finds them by nothing else. */
  readonly own: Holding;
  /** Names of the node's blocks that contradict themselves. */
  readonly broken: readonly string[];
  /** Ranges of blocks with free addresses that say they are the node's, and that no affinity names. */
  readonly lost: readonly string[];
  /** Every other sound block. */
  readonly others: Holding;
  /** Blocks that count towards the limit: owned, or claimed by an affinity in whatever state. */
  readonly counted: number;
  /** Of those, ranges that the node's affinities claim and another owns. */
  readonly contradicting: readonly string[];
  /** Ranges of the node's affinities where no block is: the node creates the block when it needs it. */
  readonly remade: readonly Cidr[];
  /** Whether there is a range to claim, or an empty block of another that is old enough to be taken over. */
  readonly claimable: boolean;
  /** Addresses of the pools that only a reservation keeps from being handed out. */
  readonly reservedUnused: bigint;
  /** Of the pools. */
  readonly capacity: bigint;
}

export function roomIn(inventory: Inventory, host: string, usable: readonly Pool[], now: Date): Room {
  const inside = inventory.blocks.filter(({ spec }) => isWithin(usable, parseCidr(spec.cidr)));
  const [sound, broken] = [inside.filter((block) => !problemOf(block)), inside.filter((block) => problemOf(block))];
  const isOwn = ({ spec }: IPAMBlock) => spec.affinity === `host:${host}`;
  const collected = sound.map((block) => collect(block, inventory.config.ipCooldownSeconds, now));
  const claims = claimedBy(inventory, host, usable);
  const isFound = (block: IPAMBlock) => isOwn(block) && claims.includes(rangeText(block));
  const [own, others] = [collected.filter(isFound), collected.filter((block) => !isFound(block))];
  const lost = others.filter((block) => isOwn(block) && freeIn(inventory, block).length > 0);
  const ofOthers = new Set(inside.filter((block) => !isOwn(block)).map(rangeText));
  const taken = takenRanges(inventory);
  return {
    usable,
    own: holding(own, inventory),
    lost: lost.map(rangeText),
    others: holding(others, inventory),
    broken: broken.filter(isOwn).map(({ metadata }) => metadata.name),
    counted: new Set([...claims, ...collected.filter((block) => isOwn(block) && !isEmpty(block)).map(rangeText)]).size,
    contradicting: claims.filter((cidr) => ofOthers.has(cidr)),
    remade: claims
      .map((cidr) => parseCidr(cidr)!)
      .filter((range) => isBlockOf(inventory.pools, range) && isFreeRange(range, taken, inventory)),
    claimable:
      firstUnclaimed(inventory, usable, host, taken) !== undefined ||
      others.some((block) => isForTheTaking(block, inventory, now)),
    reservedUnused: usable.length === 0 ? 0n : reservedUnused(inventory, usable),
    capacity: usable.reduce((sum, { cidr }) => sum + size(cidr), 0n),
  };
}

const isWithin = (pools: readonly Pool[], range: Cidr | undefined) =>
  range !== undefined && poolAround(pools, range) !== undefined;

function claimedBy({ affinities }: Inventory, host: string, usable: readonly Pool[]): string[] {
  const rows = affinities.filter((row) => rowOwnerText(row) === `host:${host}`);
  const ranges = rows.map(rowRange).filter((range) => isWithin(usable, range));
  return [...new Set(ranges.map(formatCidr))];
}

const rangeText = (block: IPAMBlock) => formatCidr(rangeOf(block));

function holding(blocks: readonly IPAMBlock[], inventory: Inventory): Holding {
  const sum = (count: (block: IPAMBlock) => number) => blocks.reduce((total, block) => total + count(block), 0);
  const free = sum((block) => freeIn(inventory, block).length);
  const times = blocks.flatMap(({ spec }) =>
    spec.allocations.flatMap((index) => (index === null ? undefined : spec.attributes[index]?.releasedAt) ?? []),
  );
  return {
    blocks,
    addresses: sum(({ spec }) => spec.allocations.length),
    free,
    reserved: sum((block) => block.spec.unallocated.length - freeOrdinals(block, inventory.reserved).length),
    cooling: times.length,
    ...(times.length > 0 && {
      nextFree: freeAt(inventory, times.sort()[0]!),
    }),
  };
}

/** Where blocks are, sound or not. One that is larger than a block can be keeps nobody from claiming a part of its range. */
export function takenRanges({ snapshot, blocks }: Inventory): AddressSet {
  const unread = snapshot.malformed.flatMap(({ kind, name }) =>
    kind === "IPAMBlock" ? (rangeOfBlockName(name) ?? []) : [],
  );
  const isInTheWay = ({ prefix, version }: Cidr) => isBlockSize(prefix, version);
  return addressSet([...blocks.map(rangeOf), ...unread].filter(isInTheWay));
}

const isFreeRange = (range: Cidr, taken: AddressSet, { reserved }: Inventory) =>
  !touches(taken, range) && !rangeCovering(reserved, range);

/**
 * The first range of the pools, in the host's order, where no block is. What one block covers is not walked through, however
 * much of the pool that is.
 */
export function firstUnclaimed(
  { reserved }: Inventory,
  pools: readonly Pool[],
  host: string,
  taken: AddressSet,
): Cidr | undefined {
  const covered = withheld(reserved, taken);
  for (const pool of pools) {
    for (const range of blocksInOrder(pool, host, hashedOrder, covered)) if (!touches(taken, range)) return range;
  }
  return undefined;
}

/** A block of another size than its pool's is never taken over. */
export function isForTheTaking(block: IPAMBlock, inventory: Inventory, now: Date): boolean {
  const since = block.spec.affinityClaimTime;
  const age = since === undefined ? Number.POSITIVE_INFINITY : now.getTime() - Date.parse(since);
  const isTakenOver = isEmpty(block) && isBlockOf(inventory.pools, rangeOf(block));
  return isTakenOver && freeIn(inventory, block).length > 0 && age >= EMPTY_BLOCK_MIN_RECLAIM_AGE_MS;
}

/** Addresses of the pools that only a reservation keeps from being handed out. */
function reservedUnused({ snapshot, blocks, reserved }: Inventory, usable: readonly Pool[]): bigint {
  const names = usable.map(({ name }) => name);
  const sound = blocks.filter((block) => problemOf(block) === undefined);
  return utilizationOf(snapshot.pools, sound, reserved, names).reduce(
    (sum, { capacity, inUse, available }) => sum + capacity - inUse - available,
    0n,
  );
}
