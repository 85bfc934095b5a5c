/** Claims and gives up blocks in bulk: a range's, a host's, a pool's. */
import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import { type Cidr, contains, formatCidr, parseCidr, size } from "../net/cidr.ts";
import { type AffinityConfig, listAffinities, ownerOf, rowOwner, rowRange } from "./affinity.ts";
import { rememberPartial } from "./assignments.ts";
import { rangeOf } from "./block.ts";
import { claimBlock } from "./claim.ts";
import { type Context, configFor, cooldownFor, listBlocks, listPools } from "./context.ts";
import { IpamError, isIpamError, TransientError } from "./errors.ts";
import { type GivingUp, giveUp } from "./give-up.ts";
import { blocksOf } from "./lost-blocks.ts";
import { closedAround, isEnabled, poolAround, poolsOf } from "./pools.ts";

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
  if (range.prefix <= pool.blockSize) return { range, blockSize: pool.blockSize };
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
  const [claimed, failed]: [string[], string[]] = [[], []];
  for (const block of each(blocks)) {
    const text = formatCidr(block);
    try {
      await claimBlock(context, { owner, cooldownSeconds, listed }, block, options);
      claimed.push(text);
    } catch (error) {
      if (error instanceof TransientError || isIpamError(error, "BlockOverlap")) failed.push(text);
      else throw withPartial(error, { claimed, failed });
    }
  }
  return { claimed, failed };
}

function withPartial(error: unknown, partial: ClaimResult): unknown {
  rememberPartial(error, partial);
  return error;
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
  const { blocks } = await listBlocks(context, options);
  const own = blocksOf(blocks, owner).filter(({ version }) => versions.includes(version));
  return distinct([...rows.flat().map(rowRange), ...own]).sort(byAddress);
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
  const rows = items.map((row) => [rowOwner(row), rowRange(row)] as const);
  const named = rows.filter(([, range]) => beginsIn(pool, range));
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

function byAddress(a: Cidr, b: Cidr): number {
  if (a.version !== b.version) return a.version - b.version;
  return a.base < b.base ? -1 : 1;
}

function distinct(ranges: readonly Cidr[]): Cidr[] {
  return [...new Map(ranges.map((range) => [formatCidr(range), range])).values()];
}

function beginsIn(pool: Cidr, { version, base }: Cidr): boolean {
  return contains(pool, { version, base, prefix: version === 4 ? 32 : 128 });
}
