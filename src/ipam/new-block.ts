/** Blocks beyond a host's own: ranges without a block, empty blocks of others, and blocks of others to borrow from. */
import { blockName } from "../api/names.ts";
import type { IPAMBlock } from "../api/v3.ts";
import { isDatastoreError } from "../datastore/datastore.ts";
import { type AddressSet, addressSet, rangeCovering } from "../net/address-set.ts";
import { type Cidr, contains, formatCidr } from "../net/cidr.ts";
import { affinityText, getAffinity, isConfirmed, ownerOf } from "./affinity.ts";
import { collect, freeOrdinals, isEmpty, newBlock, rangeOf, sequenceOf } from "./block.ts";
import { blocksInOrder, placeInOrder } from "./block-order.ts";
import { claimBlock } from "./claim.ts";
import { found, type ListedBlocks, type LoadedBlock, listBlocks } from "./context.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { deleteBlock, giveUpBlock } from "./give-up.ts";
import { lostBlocks, putRight } from "./lost-blocks.ts";
import { overlapping, overlappingOthers } from "./overlap.ts";
import { type Pool, poolAround } from "./pools.ts";
import { retryLostRaces } from "./retry.ts";
import type { Search } from "./search.ts";

/** An empty block of another host can be taken over once its claim is this old; younger ones are about to be used. */
export const EMPTY_BLOCK_MIN_RECLAIM_AGE_MS = 60_000;

/**
 * Claims a block that is free; where the list shows blocks of the host that no row names, it has got those that are in use
 * again instead. Empty where there is nothing to claim. `passed` are blocks that are of no use.
 */
export function claimNewBlock(search: Search, passed: ReadonlySet<string>): Promise<readonly LoadedBlock[]> {
  const { context, host, options } = search;
  const unusable = new Set(passed);
  const attempt = async () => {
    const listed = await listBlocks(context, options);
    const regained = await regain(search, listed.blocks, unusable);
    if (regained.length > 0) return regained;
    const usable = await findUsableBlock(search, listed, unusable);
    return usable ? [await claimUsable(search, usable, unusable)] : [];
  };
  const lost = ["BlockClaimConflict", "StaleAffinity"] as const;
  return retryLostRaces(attempt, { what: `claiming a block for ${host}`, lost, ...options });
}

/** Puts right the host's lost blocks among `blocks`, and gives those in use that the call may draw from. */
async function regain(
  search: Search,
  blocks: readonly IPAMBlock[],
  passed: ReadonlySet<string>,
): Promise<LoadedBlock[]> {
  const { owner, version, named, usable } = search;
  const others = blocks.filter(({ metadata }) => !passed.has(metadata.name));
  const regained: LoadedBlock[] = [];
  for (const cidr of lostBlocks(others, owner, version, named)) {
    const loaded = await putRight(search, cidr);
    if (loaded && poolAround(usable, cidr)) regained.push(loaded);
  }
  return regained;
}

interface Usable {
  readonly cidr: Cidr;
  readonly listed: ListedBlocks;
}

/** What cannot be claimed, whoever tries, is passed over: one malformed object stops no other. */
async function claimUsable(search: Search, { cidr, listed }: Usable, unusable: Set<string>): Promise<LoadedBlock> {
  const { context, options } = search;
  try {
    return await claimBlock(context, { ...search, listed }, cidr, options);
  } catch (error) {
    if (!isIpamError(error, "MalformedBlock", "BlockOverlap") && !(await isRowUnreadable(search, cidr))) throw error;
    context.warn(`block ${formatCidr(cidr)} is passed over: ${error}`);
    unusable.add(blockName(formatCidr(cidr)));
    throw new TransientError("BlockClaimConflict", `block ${formatCidr(cidr)} cannot be claimed`);
  }
}

async function isRowUnreadable({ context, owner, options }: Search, cidr: Cidr): Promise<boolean> {
  const read = getAffinity(context, owner, cidr, options);
  return read.then(
    () => false,
    (error: unknown) => isDatastoreError(error, "Invalid"),
  );
}

/** Pool by pool a range without a block; only where there is none in any pool, another host's empty block. */
async function findUsableBlock(
  search: Search,
  listed: ListedBlocks,
  passed: ReadonlySet<string>,
): Promise<Usable | undefined> {
  const { context, usable, host, owner, reservations, cooldownSeconds } = search;
  const existing = new Map(listed.blocks.map((block) => [block.metadata.name, block]));
  const reclaimable: IPAMBlock[] = [];
  const inTheWay = new Set<IPAMBlock>();
  for (const pool of usable) {
    for (const cidr of blocksInOrder(pool, host, context.blockOrder, reservations)) {
      const name = blockName(formatCidr(cidr));
      const stored = existing.get(name);
      if (listed.unsound.has(name) || passed.has(name)) continue;
      if (!stored) {
        const others = overlapping(listed, cidr);
        if (others.length === 0 && leavesSome(search, cidr)) return { cidr, listed };
        for (const other of others) addDefined(inTheWay, existing.get(blockName(formatCidr(other))));
        continue;
      }
      if (overlappingOthers(listed, cidr).length > 0) continue; // what two blocks cover is allocated from neither
      const block = collect(stored, cooldownSeconds, context.clock());
      if (freeOrdinals(block, reservations).length === 0) continue;
      if (block.spec.affinity === affinityText(owner)) return { cidr, listed };
      if (isEmpty(block) && leavesSome(search, cidr)) reclaimable.push(block);
    }
  }
  const cidr = await reclaimOne(search, reclaimable);
  if (cidr) return { cidr, listed: without(listed, cidr) };
  for (const block of inTheWay) await releaseUnfinished(search, block);
  return undefined;
}

function addDefined<T>(set: Set<T>, value: T | undefined): void {
  if (value !== undefined) set.add(value);
}

/** A claim that is not confirmed by then was cut off. Younger ones are waited for. */
const CLAIM_TAKES_MS = 5_000;

/**
 * An empty block of another size whose claim was never confirmed is in the way: one that is old enough is released; a claim
 * that may be under way is waited for.
 * @throws TransientError BlockClaimConflict: look again
 */
async function releaseUnfinished(search: Search, stored: IPAMBlock): Promise<void> {
  const { context, cooldownSeconds } = search;
  const block = collect(stored, cooldownSeconds, context.clock());
  if (!isEmpty(block) || (await isClaimConfirmed(search, block))) return;
  const age = ageOf(block, context.clock());
  const isReleased = age >= EMPTY_BLOCK_MIN_RECLAIM_AGE_MS && (await reclaim(search, block));
  if (!isReleased && age >= CLAIM_TAKES_MS) return;
  throw new TransientError(
    "BlockClaimConflict",
    `block ${block.spec.cidr} is in the way, and its claim is not confirmed`,
  );
}

async function isClaimConfirmed({ context, options }: Search, block: IPAMBlock): Promise<boolean> {
  const owner = ownerOf(block);
  const affinity = owner && (await found(getAffinity(context, owner, rangeOf(block), options)));
  return affinity !== undefined && isConfirmed(affinity);
}

/** Whether a new block would have addresses besides the host's reserve and the reservations. */
function leavesSome({ reserved, reservations }: Search, cidr: Cidr): boolean {
  if (!reserved) return true; // the walk leaves out what is wholly reserved
  const block = newBlock({ cidr, affinity: "", claimTime: new Date(0), sequenceNumber: 0n, reserved });
  return freeOrdinals(block, reservations).length > 0;
}

function without(listed: ListedBlocks, cidr: Cidr): ListedBlocks {
  const name = blockName(formatCidr(cidr));
  return { ...listed, blocks: listed.blocks.filter(({ metadata }) => metadata.name !== name) };
}

async function reclaimOne(search: Search, candidates: readonly IPAMBlock[]): Promise<Cidr | undefined> {
  for (const block of candidates) {
    if (isOldEnough(block, search.context.clock()) && (await reclaim(search, block))) return rangeOf(block);
  }
  return undefined;
}

function isOldEnough(block: IPAMBlock, now: Date): boolean {
  return ageOf(block, now) >= EMPTY_BLOCK_MIN_RECLAIM_AGE_MS;
}

/** Milliseconds since the claim. A block without a claim time is older than claim times. */
function ageOf({ spec: { affinityClaimTime: since } }: IPAMBlock, now: Date): number {
  return since === undefined ? Number.POSITIVE_INFINITY : now.getTime() - Date.parse(since);
}

async function reclaim({ context, options, cooldownSeconds }: Search, block: IPAMBlock): Promise<boolean> {
  try {
    const owner = ownerOf(block);
    const how = { requireEmpty: true, requiredSequence: sequenceOf(block), cooldownSeconds };
    if (owner) await giveUpBlock(context, owner, rangeOf(block), how, options);
    else await deleteBlock(context, block, options);
    return true;
  } catch (error) {
    options.signal?.throwIfAborted();
    context.warn(`block ${block.spec.cidr} could not be taken over: ${error}`);
    return false;
  }
}

/** A block to borrow from, and the addresses of it that other blocks cover too. */
interface Lender {
  readonly stored: IPAMBlock;
  readonly covered: AddressSet;
}

/** Blocks of others to borrow from, pool by pool, in the host's order. */
export async function blocksToBorrow(
  search: Search,
  owned: ReadonlySet<string>,
): Promise<{ pool: Pool; blocks: Lender[] }[]> {
  const { context, options, usable, host, reservations } = search;
  const listed = await listBlocks(context, options);
  const { blocks } = listed;
  await regain(search, blocks, owned);
  return usable.map((pool) => {
    const place = placeInOrder(pool, host, context.blockOrder);
    const inside = blocks.filter((block) => {
      const range = rangeOf(block);
      return contains(pool.cidr, range) && !rangeCovering(reservations, range);
    });
    const ordered = inside.sort((a, b) => Number(place(rangeOf(a)) - place(rangeOf(b))));
    const lender = (stored: IPAMBlock): Lender => {
      const others = overlappingOthers(listed, rangeOf(stored));
      return { stored, covered: addressSet(others) };
    };
    return { pool, blocks: ordered.map(lender) };
  });
}
