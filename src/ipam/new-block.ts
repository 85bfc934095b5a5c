/** Blocks beyond a host's own: ranges without a block, empty blocks of others, and blocks of others to borrow from. */
import { blockName } from "../api/names.ts";
import type { IPAMBlock } from "../api/v3.ts";
import type { BlockRef } from "../datastore/block-index.ts";
import { isDatastoreError } from "../datastore/datastore.ts";
import { rangeCovering } from "../net/address-set.ts";
import { type Cidr, contains, formatCidr } from "../net/cidr.ts";
import { affinityText, getAffinity } from "./affinity.ts";
import { collect, freeOrdinals, isEmpty, newBlock, rangeOf } from "./block.ts";
import { blocksInOrder, placeInOrder } from "./block-order.ts";
import { claimBlock } from "./claim.ts";
import { type ListedBlocks, type LoadedBlock, listBlocks } from "./context.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { lostBlocks, putRight } from "./lost-blocks.ts";
import { overlapping, overlappingOthers } from "./overlap.ts";
import { type Pool, poolAround, poolOverlapping } from "./pools.ts";
import { retryLostRaces } from "./retry.ts";
import type { Search } from "./search.ts";
import { isOldEnough, releaseEmpty, staying } from "./unfinished.ts";

/**
 * Claims a block that is free; where the list shows blocks of the host that no row names, it has got those that are in use
 * again instead. Empty where there is nothing to claim. `passed` are blocks that are of no use. `note` is told of the malformed blocks that
 * keep their ranges from being claimed.
 */
export function claimNewBlock(
  search: Search,
  passed: ReadonlySet<string>,
  note: (message: string) => void,
): Promise<readonly LoadedBlock[]> {
  const { context, host, options } = search;
  const unusable = new Set(passed);
  /** Lost since the list: the next candidate is tried, and blocks are listed again only when there is none. */
  const contested = new Set<string>();
  let listed: ListedBlocks | undefined;
  const listAgain = (error: unknown): never => {
    listed = undefined;
    throw error;
  };
  const attempt = async () => {
    if (!listed) {
      listed = await listBlocks(context, options);
      const regained = await regain(search, listed.blocks, unusable);
      if (regained.length > 0) return regained;
    }
    const usable = await findUsableBlock(search, listed, new Set([...unusable, ...contested])).catch(listAgain);
    if (usable) return [await claimUsable(search, usable, { unusable, contested })];
    if (contested.size === 0) {
      for (const message of malformedIn(search.usable, listed)) note(message);
      return [];
    }
    listed = undefined;
    contested.clear();
    throw new TransientError("BlockClaimConflict", `every block that ${host} tried to claim was contested`);
  };
  const lost = ["BlockClaimConflict", "UnfinishedClaim", "StaleAffinity"] as const;
  return retryLostRaces(attempt, { what: `claiming a block for ${host}`, lost, ...options });
}

function malformedIn(usable: readonly Pool[], { unsoundRefs }: ListedBlocks): string[] {
  const inside = unsoundRefs.filter(({ range }) => poolOverlapping(usable, range));
  return inside.map(
    ({ name, range }) =>
      `IPAMBlock "${name}" is malformed: nothing in ${formatCidr(range)} is claimed until it is corrected`,
  );
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
async function claimUsable(
  search: Search,
  { cidr, listed }: Usable,
  { unusable, contested }: { readonly unusable: Set<string>; readonly contested: Set<string> },
): Promise<LoadedBlock> {
  const { context, options } = search;
  const name = blockName(formatCidr(cidr));
  try {
    return await claimBlock(context, { ...search, listed }, cidr, options);
  } catch (error) {
    if (error instanceof TransientError) contested.add(name);
    if (!isIpamError(error, "MalformedBlock", "BlockOverlap") && !(await isRowUnreadable(search, cidr))) throw error;
    context.warn(`block ${formatCidr(cidr)} is passed over: ${error}`);
    unusable.add(name);
    throw new TransientError("BlockClaimConflict", `block ${formatCidr(cidr)} cannot be claimed`);
  }
}

/** Those of the listed blocks that are worth another look: what holds an address stays. */
function emptyOnes({ blocks }: ListedBlocks, inTheWay: ReadonlyMap<string, BlockRef>): BlockRef[] {
  return blocks.filter(isEmpty).flatMap(({ metadata }) => inTheWay.get(metadata.name) ?? []);
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
  const inTheWay = new Map<string, BlockRef>();
  for (const pool of usable) {
    for (const cidr of blocksInOrder(pool, host, context.blockOrder, reservations)) {
      const name = blockName(formatCidr(cidr));
      const stored = existing.get(name);
      if (listed.unsound.has(name) || passed.has(name)) continue;
      if (!stored) {
        const others = overlapping(listed, cidr);
        if (others.length === 0 && leavesSome(search, cidr)) return { cidr, listed };
        for (const other of others) inTheWay.set(other.name, other);
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
  await staying(search, emptyOnes(listed, inTheWay));
  return undefined;
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
    if (isOldEnough(block, search.context.clock()) && (await releaseEmpty(search, block))) return rangeOf(block);
  }
  return undefined;
}

/** A block to borrow from, and the other blocks that cover addresses of it. */
interface Lender {
  readonly stored: IPAMBlock;
  readonly covered: readonly BlockRef[];
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
      return { stored, covered: overlappingOthers(listed, rangeOf(stored)) };
    };
    return { pool, blocks: ordered.map(lender) };
  });
}
