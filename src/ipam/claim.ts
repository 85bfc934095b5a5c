/**
 * Claims blocks in two phases, so that every race has one winner and every crash leaves something the next call
 * recovers from: row pending, block, row confirmed.
 */
import type { BlockAffinity, IPAMBlock } from "../api/v3.ts";
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
import { collect, type HostReservedAttr, newBlock, rangeOf } from "./block.ts";
import {
  type Context,
  found,
  type ListedBlocks,
  type LoadedBlock,
  listBlocks,
  loadBlock,
  writeBlock,
} from "./context.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { deleteQuietly } from "./give-up.ts";
import { refuseOverlap } from "./overlap.ts";
import { type LostRace, retryLostRaces } from "./retry.ts";

/** What an attempt to claim a block can end in because someone else acted on it. */
const CLAIM_RACES: readonly LostRace[] = ["Conflict", "AlreadyExists", "NotFound"];

/** For whom, and how, blocks are claimed. */
export interface Claimer {
  readonly owner: AffinityConfig;
  /** What a new block keeps back for its host. */
  readonly reserved?: HostReservedAttr | undefined;
  readonly cooldownSeconds: number;
  /** All blocks, where the caller has listed them: none is made over another. Default: they are listed. */
  readonly listed?: Omit<ListedBlocks, "unsound"> | undefined;
}

/**
 * Both phases for one range. A lost race is looked at anew; a row that vanished while its block was made is made again: a
 * block must not be left with an owner that no row names.
 * @throws TransientError BlockClaimConflict, StaleAffinity where the block is another's; the owner's row is gone then
 */
export function claimBlock(context: Context, claimer: Claimer, cidr: Cidr, options: CallOptions): Promise<LoadedBlock> {
  const attempt = () => claimOnce(context, claimer, cidr, options);
  return retryLostRaces(attempt, { what: `claiming block ${formatCidr(cidr)}`, lost: CLAIM_RACES, ...options });
}

/** The block that one of the owner's rows stands for, made where it is missing. @throws as `claimBlock` */
export async function blockFromAffinity(
  context: Context,
  claimer: Claimer,
  row: BlockAffinity,
  options: CallOptions,
): Promise<LoadedBlock> {
  const cidr = rowRange(row);
  const loaded = isConfirmed(row) && (await found(loadBlock(context, cidr, claimer.cooldownSeconds, options)));
  return loaded && isOwn(claimer, loaded) ? loaded : claimBlock(context, claimer, cidr, options);
}

/** One of the owner's blocks, as loaded; a row that a crash left pending, or without a row, is put right first. */
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

/**
 * A row that was left pending, or pendingDeletion, is confirmed after the block was written once: that write undoes
 * whoever was about to delete the block.
 */
async function claimOnce(context: Context, claimer: Claimer, cidr: Cidr, options: CallOptions): Promise<LoadedBlock> {
  const row = await pendingAffinity(context, claimer.owner, cidr, options);
  // The row may be deleted for what the block says, and no revision of the block guards that: it must not be an old one.
  const loaded = await found(loadBlock(context, cidr, claimer.cooldownSeconds, { ...options, fresh: true }));
  if (!loaded) return createBlock(context, claimer, await unconfirmed(context, row, options), options);
  if (!isOwn(claimer, loaded)) {
    await deleteQuietly(context, row, options);
    const owner = affinityText(claimer.owner);
    throw new TransientError("StaleAffinity", `block ${formatCidr(cidr)} is no longer ${owner}'s`);
  }
  if (isConfirmed(row)) return loaded;
  const stored = await writeBlock(context, loaded.block, options);
  await confirm(context, claimer.owner, row, options);
  return { stored, block: stored };
}

function unconfirmed(context: Context, row: BlockAffinity, options: CallOptions) {
  return isConfirmed(row) ? withState(context, row, "pending", options) : row;
}

async function createBlock(
  context: Context,
  claimer: Claimer,
  row: BlockAffinity,
  options: CallOptions,
): Promise<LoadedBlock> {
  const { owner, reserved } = claimer;
  const cidr = rowRange(row);
  await unlessOverlap(context, claimer, row, options);
  const claimTime = context.clock();
  const sequenceNumber = context.firstSequenceNumber();
  const block = newBlock({ cidr, affinity: affinityText(owner), claimTime, sequenceNumber, reserved });
  const stored = await createOrGet(context, block, options);
  if (stored.spec.affinity !== affinityText(owner)) {
    await deleteQuietly(context, row, options);
    throw claimConflict(cidr, stored.spec.affinity);
  }
  await confirm(context, owner, row, options);
  return { stored, block: collect(stored, claimer.cooldownSeconds, context.clock()) };
}

/** A row that can have no block is taken back. */
async function unlessOverlap(context: Context, { listed }: Claimer, row: BlockAffinity, options: CallOptions) {
  try {
    refuseOverlap(listed ?? (await listBlocks(context, options)), rowRange(row));
  } catch (error) {
    if (isIpamError(error, "BlockOverlap")) await deleteQuietly(context, row, options);
    throw error;
  }
}

async function createOrGet({ datastore }: Context, block: IPAMBlock, options: CallOptions): Promise<IPAMBlock> {
  try {
    return await datastore.create(block, options);
  } catch (error) {
    if (!isDatastoreError(error, "AlreadyExists")) throw error;
    return datastore.get("IPAMBlock", block.metadata.name, options);
  }
}

/** Second phase. Whoever confirmed the row in between did what was to be done. */
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
