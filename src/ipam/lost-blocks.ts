/**
 * Blocks with an owner that no row names: their claim died after someone else had given its row up. No list of rows shows
 * them. Their owner's calls put them right wherever they see blocks: where the store has the owner's at hand, or all are
 * listed anyway.
 */
import type { BlockAffinity, IPAMBlock } from "../api/v3.ts";
import { isDatastoreError } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import { type Cidr, formatCidr } from "../net/cidr.ts";
import { type AffinityConfig, affinityText, getAffinity, hasHostBits, listAffinities, rowRange } from "./affinity.ts";
import { rangeOf } from "./block.ts";
import { problemOf } from "./block-problem.ts";
import { type Claimer, claimBlock } from "./claim.ts";
import { found, type LoadedBlock, loadBlock } from "./context.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { deleteWithHostBits, type GivingUp, giveUp } from "./give-up.ts";
import { readable } from "./lookup.ts";

/** A host that looks through its blocks. */
export interface Looking extends Claimer, Omit<GivingUp, "requireEmpty"> {}

/** Ranges of the blocks that say they are the owner's. */
export function blocksOf(blocks: readonly IPAMBlock[], owner: AffinityConfig): Cidr[] {
  return blocks.filter(({ spec }) => spec.affinity === affinityText(owner)).map(rangeOf);
}

/** The owner's affinities of one family as listed; once each of its blocks has one, where the store has those at hand. */
export async function rowsOfBlocks(
  looking: Looking,
  version: IpVersion,
  listed: readonly BlockAffinity[],
): Promise<readonly BlockAffinity[]> {
  const { context, owner, options } = looking;
  const withHostBits = listed.filter(hasHostBits);
  for (const row of withHostBits) await replaceAffinity(looking, row);
  const rows = withHostBits.length === 0 ? listed : await listAffinities(context, owner, version, options);
  const atHand = context.datastore.blocksOf?.(affinityText(owner), options) ?? [];
  const sound = atHand.filter((block) => problemOf(block) === undefined);
  const lost = lostBlocks(sound, owner, version, namesOf(rows));
  for (const cidr of lost) await putRight(looking, cidr);
  return lost.length === 0 ? rows : listAffinities(context, owner, version, options);
}

/** An affinity with host bits is deleted; if the owner has the block around them, that gets an affinity of its own. */
async function replaceAffinity(looking: Looking, row: BlockAffinity): Promise<void> {
  const { context, owner, cooldownSeconds, options } = looking;
  const cidr = rowRange(row);
  await deleteWithHostBits(context, row, options);
  const loaded = await readable(context, loadBlock(context, cidr, cooldownSeconds, { ...options, fresh: true }));
  if (loaded?.block.spec.affinity === affinityText(owner)) await putRight(looking, cidr);
}

/** The ranges that rows name. */
export function namesOf(rows: readonly BlockAffinity[]): ReadonlySet<string> {
  return new Set(rows.map((row) => formatCidr(rowRange(row))));
}

/** The owner's blocks of one family whose ranges are not `named`. */
export function lostBlocks(
  blocks: readonly IPAMBlock[],
  owner: AffinityConfig,
  version: IpVersion,
  named: ReadonlySet<string>,
): Cidr[] {
  return blocksOf(blocks, owner).filter((range) => range.version === version && !named.has(formatCidr(range)));
}

/**
 * One that is empty is given up: a claim that came to nothing must not count. One in use gets its row again, and is the
 * result.
 */
export async function putRight(looking: Looking, cidr: Cidr): Promise<LoadedBlock | undefined> {
  const { context, owner, options } = looking;
  // The lists are of two moments: a block of which one tells may have got its row, or lost its owner, since.
  if (await hasRow(looking, cidr)) return undefined;
  try {
    await giveUp({ ...looking, requireEmpty: true }, owner, cidr);
    return undefined;
  } catch (error) {
    if (!isIpamError(error, "BlockNotEmpty")) throw error;
    return await claimBlock(context, looking, cidr, options).catch((failure: unknown) => {
      if (isIpamError(failure, "BlockOverlap")) context.warn(failure.message);
      else if (!(failure instanceof TransientError)) throw failure;
      return undefined;
    });
  }
}

/** One that cannot be read is there as well: lists name it in a warning. */
async function hasRow({ context, owner, options }: Looking, cidr: Cidr): Promise<boolean> {
  try {
    return (await found(getAffinity(context, owner, cidr, options))) !== undefined;
  } catch (error) {
    if (!isDatastoreError(error, "Invalid")) throw error;
    return true;
  }
}
