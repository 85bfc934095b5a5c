/** Claims and gives up blocks in bulk: a range's, a host's, a pool's. */
import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { type Cidr, contains, formatCidr, parseCidr, size } from "../net/cidr.ts";
import { type AffinityConfig, listAffinities, ownerOf, rowOwner, rowRange } from "./affinity.ts";
import { rememberPartial } from "./assignments.ts";
import { rangeOf } from "./block.ts";
import { claimBlock } from "./claim.ts";
import { type Context, configFor, cooldownFor, listBlocks, listPools } from "./context.ts";
import { IpamError, TransientError } from "./errors.ts";
import { type GivingUp, giveUp } from "./give-up.ts";
import { blocksOf } from "./lost-blocks.ts";
import { closedAround, isEnabled, poolAround, poolsOf } from "./pools.ts";

export interface ClaimResult {
  /** Blocks that are the owner's now. */
  readonly claimed: readonly string[];
  /** Blocks that are others'. */
  readonly failed: readonly string[];
}

/** The blocks of a range, in order. @throws IpamError InvalidArgument, NotInPool, InvalidSize */
async function blocksIn(context: Context, text: string, options: CallOptions): Promise<Generator<Cidr>> {
  const range = parseCidr(text);
  if (!range) throw new IpamError("InvalidArgument", `"${text}" is not a CIDR`);
  const pools = poolsOf(await listPools(context, options));
  const pool = poolAround(pools.filter(isEnabled), range);
  if (!pool) {
    const message = `The requested CIDR (${text}) is not within any configured pools.`;
    throw new IpamError("NotInPool", message, { details: closedAround(pools, range) });
  }
  if (range.prefix > pool.blockSize) {
    const details = [`blocks of pool "${pool.name}" are /${pool.blockSize}`];
    throw new IpamError("InvalidSize", `The requested CIDR (${text}) is smaller than the minimum.`, { details });
  }
  return blocksFrom(range, pool.blockSize);
}

function* blocksFrom({ version, base, prefix }: Cidr, blockSize: number): Generator<Cidr> {
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
  const { ipCooldownSeconds: cooldownSeconds } = await configFor(context, options);
  const [claimed, failed]: [string[], string[]] = [[], []];
  for (const block of blocks) {
    const text = formatCidr(block);
    try {
      await claimBlock(context, { owner, cooldownSeconds }, block, options);
      claimed.push(text);
    } catch (error) {
      if (error instanceof TransientError) failed.push(text);
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

/** Blocks that were given up before one turns out not to be empty stay given up. */
export async function releaseAffinity(
  context: Context,
  cidr: string,
  host: string,
  mustBeEmpty: boolean,
  options: CallOptions,
): Promise<void> {
  const blocks = await blocksIn(context, cidr, options);
  const how = await givingUp(context, mustBeEmpty, options);
  for (const block of blocks) await giveUp(how, { affinityType: "host", host }, block);
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
  const rows = [
    ...(await listAffinities(context, owner, 4, options)),
    ...(await listAffinities(context, owner, 6, options)),
  ];
  const { blocks } = await listBlocks(context, options);
  const errors: unknown[] = [];
  for (const cidr of distinct([...rows.map(rowRange), ...blocksOf(blocks, owner)])) {
    await giveUp(how, owner, cidr).catch((error: unknown) => errors.push(error));
    options.signal?.throwIfAborted();
  }
  if (errors.length > 0) throw errors.at(-1);
}

/** All owners' blocks that begin inside the pool: those that rows name, then what is left with an owner. */
export async function releasePoolAffinities(context: Context, cidr: string, options: CallOptions): Promise<void> {
  const pool = parseCidr(cidr);
  if (!pool) throw new IpamError("InvalidArgument", `"${cidr}" is not a CIDR`);
  const how = await givingUp(context, false, options);
  const { items, malformed } = await context.datastore.list("BlockAffinity", options);
  for (const { name, reason } of malformed) context.warn(`BlockAffinity "${name}" is passed over: ${reason}`);
  for (const row of items) {
    const block = parseCidr(row.spec.cidr);
    if (block && beginsIn(pool, block)) await giveUp(how, rowOwner(row), block);
  }
  const { blocks } = await listBlocks(context, options);
  for (const block of blocks.filter((block) => beginsIn(pool, rangeOf(block)))) {
    const owner = readableOwner(context, block);
    if (owner) await giveUp(how, owner, rangeOf(block));
  }
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
