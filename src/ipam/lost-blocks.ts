/**
 * Blocks with an owner that no row names: their claim died after someone else had given its row up. No list of rows shows
 * them, and nothing but their owner's next call looks for them.
 */
import type { BlockAffinity, IPAMBlock } from "../api/v3.ts";
import type { IpVersion } from "../net/address.ts";
import { type Cidr, formatCidr } from "../net/cidr.ts";
import { type AffinityConfig, affinityText, getAffinity, listAffinities, rowRange } from "./affinity.ts";
import { rangeOf } from "./block.ts";
import { type Claimer, claimBlock } from "./claim.ts";
import { found } from "./context.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { type GivingUp, giveUp } from "./give-up.ts";

/** A host that looks through its blocks. */
export interface Looking extends Claimer, Omit<GivingUp, "requireEmpty"> {}

/** Ranges of the blocks that say they are the owner's. */
export function blocksOf(blocks: readonly IPAMBlock[], owner: AffinityConfig): Cidr[] {
  return blocks.filter(({ spec }) => spec.affinity === affinityText(owner)).map(rangeOf);
}

/** The owner's rows of one family, once each of its blocks among `blocks` has one. */
export async function rowsOfAllBlocks(
  looking: Looking,
  blocks: readonly IPAMBlock[],
  version: IpVersion,
): Promise<BlockAffinity[]> {
  const { context, owner, options } = looking;
  const rows = await listAffinities(context, owner, version, options);
  const named = new Set(rows.map((row) => formatCidr(rowRange(row))));
  const own = blocksOf(blocks, owner).filter((range) => range.version === version);
  const lost = own.filter((range) => !named.has(formatCidr(range)));
  for (const cidr of lost) await putRight(looking, cidr);
  return lost.length === 0 ? rows : listAffinities(context, owner, version, options);
}

/** One that is empty is given up: a claim that came to nothing must not count. One in use gets its row again. */
async function putRight(looking: Looking, cidr: Cidr): Promise<void> {
  const { context, owner, options } = looking;
  // The lists are of two moments: a block of which one tells may have got its row, or lost its owner, since.
  if (await found(getAffinity(context, owner, cidr, options))) return;
  try {
    await giveUp({ ...looking, requireEmpty: true }, owner, cidr);
  } catch (error) {
    if (!isIpamError(error, "BlockNotEmpty")) throw error;
    await claimBlock(context, looking, cidr, options).catch(unlessAnothers);
  }
}

function unlessAnothers(error: unknown): void {
  if (!(error instanceof TransientError)) throw error;
}
