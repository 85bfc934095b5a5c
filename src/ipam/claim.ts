/**
 * Claims blocks, so that every race has one winner and every crash leaves something the next call recovers from:
 *
 * 1. open: the affinity is pending, then the block is created (or found, after a crash);
 * 2. look: which other blocks overlap it, as of a moment after it was stored;
 * 3. withdraw, where one does: an empty block is deleted and its affinity with it; one that holds an address stays, and its
 *    affinity stays pending;
 * 4. confirm: only now is the affinity confirmed, and only from then on is anything allocated.
 *
 * Of two claims of ranges that overlap, at least the later one sees the other: both may withdraw, never do both stay.
 */
import type { BlockAffinity, IPAMBlock } from "../api/v3.ts";
import type { BlockRef } from "../datastore/block-index.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { type Cidr, formatCidr } from "../net/cidr.ts";
import {
  type AffinityConfig,
  affinityText,
  claimConflict,
  getAffinity,
  isConfirmed,
  pendingAffinity,
  rowRange,
  withState,
} from "./affinity.ts";
import { collect, type HostReservedAttr, isEmpty, newBlock, rangeOf } from "./block.ts";
import { type Context, found, type LoadedBlock, loadBlock, writeBlock } from "./context.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { deleteBlock, deleteQuietly } from "./give-up.ts";
import {
  blockOverlap,
  findOverlaps,
  type Listed,
  overlappingOthers,
  overlapsAtHand,
  rangesText,
  refuseOverlap,
} from "./overlap.ts";
import { isBlockOf, type Pool } from "./pools.ts";
import { type LostRace, retryLostRaces } from "./retry.ts";
import { staying } from "./unfinished.ts";

/** What an attempt to claim a block can end in because someone else acted on it. */
const CLAIM_RACES: readonly LostRace[] = ["Conflict", "AlreadyExists", "NotFound"];
/** The same where another claim of these addresses is waited for. */
export const WAITING_RACES: readonly LostRace[] = [...CLAIM_RACES, "UnfinishedClaim"];

/** For whom, and how, blocks are claimed. */
export interface Claimer {
  readonly owner: AffinityConfig;
  /** All pools: a block is created only where it is one of an enabled pool. */
  readonly pools: readonly Pool[];
  /** What a new block keeps back for its host. */
  readonly reserved?: HostReservedAttr | undefined;
  readonly cooldownSeconds: number;
  /** All blocks, where the caller has listed them: none is created over another. */
  readonly listed?: Listed | undefined;
  /** Other blocks that overlapped the range when it was looked at last. */
  readonly rivals?: readonly BlockRef[];
}

/** A claim between its two phases; one that was confirmed before has no affinity to confirm. */
export interface OpenClaim {
  readonly loaded: LoadedBlock;
  /** The affinity to confirm. */
  readonly pending?: BlockAffinity;
  /** The block was there before, from a claim that was cut off. */
  readonly isRecovered?: boolean;
}

/**
 * A claim of one range from its start to its end. A lost race is looked at again; an affinity that vanished while its
 * block was created is created again: a block must not be left with an owner that no affinity names.
 * @throws TransientError BlockClaimConflict, StaleAffinity where the block is another's, UnfinishedClaim where another claim
 * of its addresses is under way: the owner's affinity is gone then; IpamError BlockOverlap
 */
export function claimBlock(
  context: Context,
  claimer: Claimer,
  cidr: Cidr,
  options: CallOptions,
  lost = CLAIM_RACES,
): Promise<LoadedBlock> {
  let { rivals = [] } = claimer;
  const attempt = async () => {
    const claim = await openClaim(context, { ...claimer, rivals }, cidr, options);
    const overlaps = claim.pending ? await findOverlaps(context, [claim.loaded.stored], options) : undefined;
    rivals = overlaps?.get(claim.loaded.block.metadata.name) ?? [];
    return closeClaim(context, claimer, claim, rivals, options);
  };
  return retryLostRaces(attempt, { what: `claiming block ${formatCidr(cidr)}`, lost, ...options });
}

/**
 * The block that one of the owner's affinities stands for, created where it is missing. An affinity whose range is no block
 * of a pool, and has none behind it, is deleted.
 * @throws as `claimBlock`
 */
export async function blockFromAffinity(
  context: Context,
  claimer: Claimer,
  row: BlockAffinity,
  options: CallOptions,
): Promise<LoadedBlock> {
  const cidr = rowRange(row);
  const loaded = isConfirmed(row) && (await found(loadBlock(context, cidr, claimer.cooldownSeconds, options)));
  if (loaded && isOwn(claimer, loaded) && isConfirmedBy(row, loaded.stored)) return loaded;
  if (!loaded && !isBlockOf(claimer.pools, cidr)) await deleteOddAffinity(context, row, options);
  return claimBlock(context, claimer, cidr, options);
}

/**
 * Whether a confirmed affinity, as listed, is of this very block. A claim confirms the affinity after it created the block: an
 * affinity older than a block that was never written is of an earlier block of the range.
 */
function isConfirmedBy(row: BlockAffinity, { metadata: block }: IPAMBlock): boolean {
  if (block.generation !== 1) return true;
  return BigInt(row.metadata.resourceVersion ?? 0) > BigInt(block.resourceVersion ?? 0);
}

/** @throws TransientError StaleAffinity where there is no block: the affinity is gone then */
export async function deleteOddAffinity(context: Context, row: BlockAffinity, options: CallOptions): Promise<void> {
  const cidr = rowRange(row);
  if (await found(loadBlock(context, cidr, 0, { ...options, fresh: true }))) return;
  const message = `BlockAffinity "${row.metadata.name}" is deleted: ${row.spec.cidr} is no block of its pool, and no such block exists`;
  if (await deleteQuietly(context, row, options)) context.warn(message);
  throw new TransientError("StaleAffinity", message);
}

/** One of the owner's blocks, as loaded; one whose affinity a crash left pending, or that has none, is claimed first. */
export async function confirmedBlock(
  context: Context,
  claimer: Claimer,
  loaded: LoadedBlock,
  options: CallOptions,
): Promise<LoadedBlock> {
  const cidr = rangeOf(loaded.block);
  const row = await found(getAffinity(context, claimer.owner, cidr, options));
  return row && isConfirmed(row) ? loaded : claimBlock(context, claimer, cidr, options);
}

export function isOwn({ owner }: Pick<Claimer, "owner">, { block }: LoadedBlock): boolean {
  return block.spec.affinity === affinityText(owner);
}

/** The affinity, then the block. @throws as `claimBlock`; DatastoreError Conflict, AlreadyExists, NotFound: a lost race */
export async function openClaim(
  context: Context,
  claimer: Claimer,
  cidr: Cidr,
  options: CallOptions,
): Promise<OpenClaim> {
  const row = await pendingAffinity(context, claimer.owner, cidr, options);
  // The affinity may be deleted for what the block says, and no revision of the block guards that: it must not be an old one.
  const loaded = await found(loadBlock(context, cidr, claimer.cooldownSeconds, { ...options, fresh: true }));
  if (!loaded) return createBlock(context, claimer, row, options);
  if (!isOwn(claimer, loaded)) {
    await deleteQuietly(context, row, options);
    const owner = affinityText(claimer.owner);
    throw new TransientError("StaleAffinity", `block ${formatCidr(cidr)} is no longer ${owner}'s`);
  }
  return isConfirmed(row) ? { loaded } : { loaded, pending: row, isRecovered: true };
}

async function createBlock(
  context: Context,
  claimer: Claimer,
  row: BlockAffinity,
  options: CallOptions,
): Promise<OpenClaim> {
  const { owner, reserved, cooldownSeconds } = claimer;
  const cidr = rowRange(row);
  await unlessRefused(context, claimer, row, options);
  const pending = isConfirmed(row) ? await withState(context, row, "pending", options) : row;
  const claimTime = context.clock();
  const sequenceNumber = context.firstSequenceNumber();
  const block = newBlock({ cidr, affinity: affinityText(owner), claimTime, sequenceNumber, reserved });
  const stored = await createOrGet(context, block, options);
  if (stored.spec.affinity !== affinityText(owner)) {
    await deleteQuietly(context, pending, options);
    throw claimConflict(cidr, stored.spec.affinity);
  }
  return { loaded: { stored, block: collect(stored, cooldownSeconds, context.clock()) }, pending };
}

/** An affinity that can have no block is deleted. */
async function unlessRefused(context: Context, claimer: Claimer, row: BlockAffinity, options: CallOptions) {
  const { pools, listed, rivals = [], cooldownSeconds } = claimer;
  const cidr = rowRange(row);
  try {
    if (!isBlockOf(pools, cidr)) {
      throw new TransientError("StaleAffinity", `${formatCidr(cidr)} is no block of an enabled pool`);
    }
    const known = listed ? overlappingOthers(listed, cidr) : await overlapsAtHand(context, cidr, options);
    const others = [...(known ?? []), ...rivals];
    refuseOverlap(await staying({ context, cooldownSeconds, options }, others), cidr);
  } catch (error) {
    if (error instanceof TransientError || isIpamError(error, "BlockOverlap"))
      await deleteQuietly(context, row, options);
    throw error;
  }
}

async function createOrGet({ datastore }: Context, block: IPAMBlock, options: CallOptions): Promise<IPAMBlock> {
  try {
    return await datastore.create(block, options);
  } catch (error) {
    if (!isDatastoreError(error, "AlreadyExists")) throw error;
    return datastore.get("IPAMBlock", block.metadata.name, { ...options, fresh: true });
  }
}

/** Withdraws the claim where other blocks overlap it; else confirms it. @throws as `claimBlock` */
export async function closeClaim(
  context: Context,
  claimer: Claimer,
  { loaded, pending, isRecovered }: OpenClaim,
  overlaps: readonly BlockRef[],
  options: CallOptions,
): Promise<LoadedBlock> {
  if (!pending) return loaded;
  if (overlaps.length > 0) return withdraw(context, loaded, pending, overlaps, options);
  if (!isRecovered) {
    await confirm(context, claimer.owner, pending, options);
    return loaded;
  }
  // This write undoes whoever was about to delete the block.
  const stored = await writeBlock(context, loaded.block, options);
  await confirm(context, claimer.owner, pending, options);
  return { stored, block: stored };
}

/** The block is deleted exactly as it was seen empty: an address allocated meanwhile is a lost race. */
async function withdraw(
  context: Context,
  { stored, block }: LoadedBlock,
  pending: BlockAffinity,
  overlaps: readonly BlockRef[],
  options: CallOptions,
): Promise<never> {
  const cidr = rangeOf(block);
  if (!isEmpty(block)) {
    throw blockOverlap(
      cidr,
      overlaps,
      "it holds addresses, its affinity stays pending, and nothing is allocated from it",
    );
  }
  await deleteBlock(context, stored, options);
  await deleteQuietly(context, pending, options);
  const others = rangesText(overlaps);
  throw new TransientError("UnfinishedClaim", `block ${formatCidr(cidr)} was withdrawn: it overlaps ${others}`);
}

/** Whoever confirmed the affinity in between did what was to be done. */
async function confirm(
  context: Context,
  owner: AffinityConfig,
  row: BlockAffinity,
  options: CallOptions,
): Promise<void> {
  try {
    await withState(context, row, "confirmed", options);
  } catch (error) {
    if (!isDatastoreError(error, "Conflict")) throw error;
    const now = await getAffinity(context, owner, rowRange(row), options);
    if (now.spec.state !== "confirmed") throw error;
  }
}
