/** Claims and gives up blocks in bulk: a range's, a host's, a pool's. */
import type { IPAMBlock } from "../api/v3.ts";
import type { BlockRef } from "../datastore/block-index.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import { type Cidr, contains, formatCidr, parseCidr, size } from "../net/cidr.ts";
import { byRange } from "../net/order.ts";
import {
  type AffinityConfig,
  hasHostBits,
  listAffinities,
  ownerOf,
  readableRange,
  rowOwner,
  rowRange,
} from "./affinity.ts";
import { rememberPartial } from "./assignments.ts";
import { rangeOf } from "./block.ts";
import { type Claimer, claimBlock, closeClaim, type OpenClaim, openClaim, WAITING_RACES } from "./claim.ts";
import { type Context, configFor, cooldownFor, type LoadedBlock, listBlocks, listPools } from "./context.ts";
import { IpamError, isIpamError, TransientError } from "./errors.ts";
import { deleteWithHostBits, type GivingUp, giveUp } from "./give-up.ts";
import { blocksOf } from "./lost-blocks.ts";
import { findOverlaps } from "./overlap.ts";
import { closedAround, isEnabled, type Pool, poolAround, poolsOf } from "./pools.ts";
import { retryLostRaces } from "./retry.ts";

/** What became of the blocks of a range, as CIDRs. */
export interface ClaimResult {
  /** Blocks that are the owner's now. */
  readonly claimed: readonly string[];
  /** Blocks that are others', or that would overlap one of another size. */
  readonly failed: readonly string[];
}

/** A range that is to be claimed or given up, and the prefix length of its blocks. */
interface Blocks {
  readonly range: Cidr;
  readonly blockSize: number;
  readonly pools: readonly Pool[];
}

/** @throws IpamError InvalidArgument, NotInPool, InvalidSize */
async function blocksIn(context: Context, text: string, options: CallOptions): Promise<Blocks> {
  const range = parseCidr(text);
  if (!range) throw new IpamError("InvalidArgument", `"${text}" is not a CIDR`);
  const pools = poolsOf(await listPools(context, options));
  const pool = poolAround(pools.filter(isEnabled), range);
  if (!pool) {
    const message = `The requested CIDR (${text}) is not within any configured pools.`;
    throw new IpamError("NotInPool", message, { details: closedAround(pools, range) });
  }
  if (range.prefix <= pool.blockSize) return { range, blockSize: pool.blockSize, pools };
  const details = [`blocks of pool "${pool.name}" are /${pool.blockSize}`];
  throw new IpamError("InvalidSize", `The requested CIDR (${text}) is smaller than the minimum.`, { details });
}

/** Each is claimed by itself: beyond this a range is a mistake that would keep the caller, and fill the store, for days. */
const MOST_CLAIMED = 1n << 16n;

function checkCount({ range, blockSize }: Blocks): void {
  const count = 1n << BigInt(blockSize - range.prefix);
  if (count <= MOST_CLAIMED) return;
  const message = `${formatCidr(range)} has ${count} blocks, and at most ${MOST_CLAIMED} are claimed at once: claim a part of it`;
  throw new IpamError("InvalidSize", message);
}

function* each({ range: { version, base, prefix }, blockSize }: Blocks): Generator<Cidr> {
  const step = size({ version, base, prefix: blockSize });
  const end = base + size({ version, base, prefix });
  for (let at = base; at < end; at += step) yield { version, base: at, prefix: blockSize };
}

/** Caps do not count here, and neither does autoAllocateBlocks. */
export async function claimAffinity(
  context: Context,
  cidr: string,
  owner: AffinityConfig,
  options: CallOptions,
): Promise<ClaimResult> {
  const blocks = await blocksIn(context, cidr, options);
  checkCount(blocks);
  const { ipCooldownSeconds: cooldownSeconds } = await configFor(context, options);
  const listed = await listBlocks(context, options);
  const claimer = { owner, cooldownSeconds, listed, pools: blocks.pools };
  const result: { readonly claimed: string[]; readonly failed: string[] } = { claimed: [], failed: [] };
  const open = new Map<Cidr, OpenClaim>();
  const errors: unknown[] = [];
  const note = (error: unknown) => {
    errors.push(error);
  };
  await openRanges(context, claimer, each(blocks), options, { open, failed: result.failed }).catch(note);
  // What was opened before an error is closed all the same: it is the owner's, and the caller is told of it.
  await closeRanges(context, claimer, open, options, result).catch(note);
  if (errors.length === 0) return result;
  rememberPartial(errors[0], result);
  throw errors[0];
}

/** Claims each range; those that are another owner's, or would overlap a block, are `failed`. */
async function openRanges(
  context: Context,
  claimer: Claimer,
  ranges: Iterable<Cidr>,
  options: CallOptions,
  { open, failed }: { readonly open: Map<Cidr, OpenClaim>; readonly failed: string[] },
): Promise<void> {
  for (const range of ranges) {
    const claim = await unlessAnothers(openRange(context, claimer, range, options));
    if (claim) open.set(range, claim);
    else failed.push(formatCidr(range));
  }
}

/** One look for all: a list of names costs the same for one block and for many. */
async function closeRanges(
  context: Context,
  claimer: Claimer,
  open: ReadonlyMap<Cidr, OpenClaim>,
  options: CallOptions,
  { claimed, failed }: { readonly claimed: string[]; readonly failed: string[] },
): Promise<void> {
  const pending = Array.from(open.values()).filter((claim) => claim.pending);
  const stored = pending.map(({ loaded }) => loaded.stored);
  const overlaps = await findOverlaps(context, stored, options);
  for (const [range, claim] of open) {
    const others = overlaps.get(claim.loaded.block.metadata.name) ?? [];
    const isClaimed = await unlessAnothers(closeRange(context, claimer, range, claim, others, options));
    (isClaimed ? claimed : failed).push(formatCidr(range));
  }
}

/** The result; undefined where the block is another owner's, or would overlap one. */
async function unlessAnothers<T>(claiming: Promise<T>): Promise<T | undefined> {
  try {
    return await claiming;
  } catch (error) {
    if (error instanceof TransientError || isIpamError(error, "BlockOverlap")) return undefined;
    throw error;
  }
}

function openRange(context: Context, claimer: Claimer, cidr: Cidr, options: CallOptions): Promise<OpenClaim> {
  const attempt = () => openClaim(context, claimer, cidr, options);
  return retryLostRaces(attempt, { what: `claiming block ${formatCidr(cidr)}`, lost: WAITING_RACES, ...options });
}

/** A race that is lost here is claimed again by itself, from its start. */
async function closeRange(
  context: Context,
  claimer: Claimer,
  cidr: Cidr,
  claim: OpenClaim,
  overlaps: readonly BlockRef[],
  options: CallOptions,
): Promise<LoadedBlock> {
  try {
    return await closeClaim(context, claimer, claim, overlaps, options);
  } catch (error) {
    const isLost = error instanceof TransientError || isDatastoreError(error);
    if (!isLost || !WAITING_RACES.includes(error.code)) throw error;
    return claimBlock(context, { ...claimer, rivals: overlaps }, cidr, options, WAITING_RACES);
  }
}

async function givingUp(context: Context, requireEmpty: boolean, options: CallOptions): Promise<GivingUp> {
  return { context, options, requireEmpty, cooldownSeconds: await cooldownFor(context, options) };
}

/**
 * Blocks that were given up before one turns out not to be empty stay given up. Of a range of many blocks those are looked
 * for that the host has, as there can be more than could ever be asked for.
 */
export async function releaseAffinity(
  context: Context,
  cidr: string,
  host: string,
  mustBeEmpty: boolean,
  options: CallOptions,
): Promise<void> {
  const { range, blockSize } = await blocksIn(context, cidr, options);
  const how = await givingUp(context, mustBeEmpty, options);
  const owner: AffinityConfig = { affinityType: "host", host };
  const blocks = range.prefix === blockSize ? [range] : await rangesOf(context, owner, [range.version], options);
  for (const block of blocks.filter((block) => contains(range, block))) await giveUp(how, owner, block);
}

/** What an owner has: what its rows name, and what is left without a row; sorted. */
async function rangesOf(
  context: Context,
  owner: AffinityConfig,
  versions: readonly IpVersion[],
  options: CallOptions,
): Promise<Cidr[]> {
  const rows = await Promise.all(versions.map((version) => listAffinities(context, owner, version, options)));
  for (const row of rows.flat().filter(hasHostBits)) await deleteWithHostBits(context, row, options);
  const { blocks } = await listBlocks(context, options);
  const own = blocksOf(blocks, owner).filter(({ version }) => versions.includes(version));
  return distinct([...rows.flat().map(rowRange), ...own]).sort(byRange);
}

export async function releaseBlockAffinity(
  context: Context,
  block: IPAMBlock,
  mustBeEmpty: boolean,
  options: CallOptions,
): Promise<void> {
  const owner = ownerOf(block);
  if (owner) await giveUp(await givingUp(context, mustBeEmpty, options), owner, rangeOf(block));
}

/** Every block is tried, also one that no row names; the last error is thrown. */
export async function releaseHostAffinities(
  context: Context,
  owner: AffinityConfig,
  mustBeEmpty: boolean,
  options: CallOptions,
): Promise<void> {
  const how = await givingUp(context, mustBeEmpty, options);
  const ranges = await rangesOf(context, owner, [4, 6], options);
  const held = ranges.map((range) => [owner, range] as const);
  throwLast(await giveUpAll(how, held));
}

/** Every one is tried; what went wrong is given back. */
async function giveUpAll(how: GivingUp, held: Iterable<readonly [AffinityConfig, Cidr]>): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const [owner, range] of held) {
    await giveUp(how, owner, range).catch((error: unknown) => errors.push(error));
    how.options.signal?.throwIfAborted();
  }
  return errors;
}

function throwLast(errors: readonly unknown[]): void {
  if (errors.length > 0) throw errors.at(-1);
}

/** All owners' blocks that begin inside the pool: those that rows name, then what is left with an owner. Every one is tried. */
export async function releasePoolAffinities(context: Context, cidr: string, options: CallOptions): Promise<void> {
  const pool = parseCidr(cidr);
  if (!pool) throw new IpamError("InvalidArgument", `"${cidr}" is not a CIDR`);
  const how = await givingUp(context, false, options);
  const { items, malformed } = await context.datastore.list("BlockAffinity", options);
  for (const { name, reason } of malformed) context.warn(`BlockAffinity "${name}" is passed over: ${reason}`);
  const rows = items.filter((row) => readableRange(row, context.warn) !== undefined);
  const inside = rows.filter((row) => beginsIn(pool, rowRange(row)));
  for (const row of inside.filter(hasHostBits)) await deleteWithHostBits(context, row, options);
  const named = inside.map((row) => [rowOwner(row), rowRange(row)] as const);
  const errors = await giveUpAll(how, named);
  const { blocks } = await listBlocks(context, options);
  const left = blocks.filter((block) => beginsIn(pool, rangeOf(block)));
  const owned = left.flatMap((block) => {
    const owner = readableOwner(context, block);
    return owner ? [[owner, rangeOf(block)] as const] : [];
  });
  throwLast([...errors, ...(await giveUpAll(how, owned))]);
}

/** One malformed block stops no other. */
function readableOwner({ warn }: Context, block: IPAMBlock): AffinityConfig | undefined {
  try {
    return ownerOf(block);
  } catch (error) {
    warn((error as Error).message);
    return undefined;
  }
}

function distinct(ranges: readonly Cidr[]): Cidr[] {
  return [...new Map(ranges.map((range) => [formatCidr(range), range])).values()];
}

function beginsIn(pool: Cidr, { version, base }: Cidr): boolean {
  return contains(pool, { version, base, prefix: version === 4 ? 32 : 128 });
}
