/**
 * Empty blocks in the way of a claim or an allocation. One whose affinity is not confirmed belongs to a claim under way, which
 * looks for overlaps itself and is waited for; or its process is gone, and whoever meets it releases it after a minute.
 */
import type { IPAMBlock } from "../api/v3.ts";
import type { BlockRef } from "../datastore/block-index.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { getAffinity, isConfirmed, ownerOf } from "./affinity.ts";
import { collect, isEmpty, rangeOf, sequenceOf } from "./block.ts";
import { problemOf } from "./block-problem.ts";
import { type Context, found } from "./context.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { deleteBlock, giveUpBlock } from "./give-up.ts";

/** An empty block of another host can be released once its claim is this old; younger ones are about to be used. */
export const EMPTY_BLOCK_MIN_RECLAIM_AGE_MS = 60_000;
/** A claim that is not confirmed by then was cut off. Younger ones are waited for. */
const CLAIM_TAKES_MS = 5_000;

interface Releasing {
  readonly context: Context;
  readonly cooldownSeconds: number;
  readonly options: CallOptions;
}

/**
 * Which of the blocks in the way stay there.
 * @throws TransientError UnfinishedClaim where one is waited for, or was released: look again
 */
export async function staying(releasing: Releasing, inTheWay: readonly BlockRef[]): Promise<BlockRef[]> {
  const { context, options } = releasing;
  const firm: BlockRef[] = [];
  for (const ref of inTheWay) {
    const stored = await found(context.datastore.get("IPAMBlock", ref.name, { ...options, fresh: true })).catch(
      unreadable,
    );
    if (stored === null) firm.push(ref);
    else if (stored && !(await waitsFor(releasing, stored))) firm.push(ref);
  }
  return firm;
}

/** One that cannot be read stays. */
function unreadable(error: unknown): null {
  if (!isDatastoreError(error, "Invalid")) throw error;
  return null;
}

/** False for a block that stays where it is. @throws TransientError UnfinishedClaim for one that does not */
async function waitsFor(releasing: Releasing, stored: IPAMBlock): Promise<false> {
  const { context, cooldownSeconds } = releasing;
  if (problemOf(stored) !== undefined) return false;
  const block = collect(stored, cooldownSeconds, context.clock());
  if (!isEmpty(block) || (await isClaimConfirmed(releasing, block))) return false;
  const isReleased = isOldEnough(block, context.clock()) && (await releaseEmpty(releasing, block));
  if (!isReleased && ageOf(block, context.clock()) >= CLAIM_TAKES_MS) return false;
  throw new TransientError("UnfinishedClaim", `block ${block.spec.cidr} is in the way, and its claim is not confirmed`);
}

/**
 * Whether a block that others overlap belongs to a claim that is not confirmed: nothing is allocated from it, or its claimer
 * could no longer withdraw it.
 */
export async function mayBeWithdrawn(releasing: Releasing, block: IPAMBlock): Promise<boolean> {
  return Boolean(block.spec.affinity) && !(await isClaimConfirmed(releasing, block));
}

/** What cannot be read counts as confirmed: such a block stays. */
async function isClaimConfirmed({ context, options }: Releasing, block: IPAMBlock): Promise<boolean> {
  try {
    const owner = ownerOf(block);
    const affinity = owner && (await found(getAffinity(context, owner, rangeOf(block), options)));
    return affinity !== undefined && isConfirmed(affinity);
  } catch (error) {
    if (!isIpamError(error, "MalformedBlock") && !isDatastoreError(error, "Invalid")) throw error;
    return true;
  }
}

export function isOldEnough(block: IPAMBlock, now: Date): boolean {
  return ageOf(block, now) >= EMPTY_BLOCK_MIN_RECLAIM_AGE_MS;
}

/** Milliseconds since the claim. A block without a claim time is older than claim times. */
function ageOf({ spec: { affinityClaimTime: since } }: IPAMBlock, now: Date): number {
  return since === undefined ? Number.POSITIVE_INFINITY : now.getTime() - Date.parse(since);
}

/** Whether an empty block could be released, exactly as it was seen. A lost race needs no warning. */
export async function releaseEmpty(releasing: Releasing, block: IPAMBlock): Promise<boolean> {
  const { context, options, cooldownSeconds } = releasing;
  try {
    const owner = ownerOf(block);
    const how = { requireEmpty: true, requiredSequence: sequenceOf(block), cooldownSeconds };
    if (owner) await giveUpBlock(context, owner, rangeOf(block), how, options);
    else await deleteBlock(context, block, options);
    return true;
  } catch (error) {
    options.signal?.throwIfAborted();
    const isLostRace =
      error instanceof TransientError || isDatastoreError(error, "Conflict", "NotFound", "AlreadyExists");
    if (!isLostRace) context.warn(`block ${block.spec.cidr} could not be taken over: ${error}`);
    return false;
  }
}
