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
import { collect, type HostReservedAttr, newBlock } from "./block.ts";
import { type Context, found, type LoadedBlock, loadBlock, writeBlock } from "./context.ts";
import { TransientError } from "./errors.ts";
import { deleteQuietly } from "./give-up.ts";
import { type LostRace, retryLostRaces } from "./retry.ts";

/** What an attempt to claim a block can end in because someone else acted on it. */
const CLAIM_RACES: readonly LostRace[] = ["Conflict", "AlreadyExists", "NotFound"];

/** For whom, and how, blocks are claimed. */
export interface Claimer {
  readonly owner: AffinityConfig;
  /** What a new block keeps back for its host. */
  readonly reserved?: HostReservedAttr | undefined;
  readonly cooldownSeconds: number;
}

/** Both phases for one range. @throws TransientError where the block is another's */
export function claimBlock(context: Context, claimer: Claimer, cidr: Cidr, options: CallOptions): Promise<LoadedBlock> {
  return claimWith(context, claimer, cidr, undefined, options);
}

/**
 * The block that one of the owner's rows stands for, made where it is missing.
 * @throws TransientError StaleAffinity where the block is another's; the row is gone then
 */
export function blockFromAffinity(
  context: Context,
  claimer: Claimer,
  row: BlockAffinity,
  options: CallOptions,
): Promise<LoadedBlock> {
  return claimWith(context, claimer, rowRange(row), row, options);
}

/**
 * A lost race is looked at anew with the row as it is then. One that vanished while its block was made is made again:
 * a block must not be left with an owner that no row names.
 */
function claimWith(
  context: Context,
  claimer: Claimer,
  cidr: Cidr,
  listed: BlockAffinity | undefined,
  options: CallOptions,
): Promise<LoadedBlock> {
  let row = listed;
  const attempt = async () => {
    const current: BlockAffinity = row ?? (await pendingAffinity(context, claimer.owner, cidr, options));
    row = undefined;
    return blockOfRow(context, claimer, current, options);
  };
  return retryLostRaces(attempt, { what: `claiming block ${formatCidr(cidr)}`, lost: CLAIM_RACES, ...options });
}

/**
 * A row that was left pending, or pendingDeletion, is confirmed after the block was written once: that write undoes
 * whoever was about to delete the block.
 */
async function blockOfRow(
  context: Context,
  claimer: Claimer,
  row: BlockAffinity,
  options: CallOptions,
): Promise<LoadedBlock> {
  const cidr = rowRange(row);
  const loaded = await found(loadBlock(context, cidr, claimer.cooldownSeconds, options));
  if (!loaded) return createBlock(context, claimer, await pendingAgain(context, row, options), options);
  if (loaded.block.spec.affinity !== affinityText(claimer.owner)) {
    await context.datastore.delete(row, options);
    throw new TransientError(
      "StaleAffinity",
      `block ${formatCidr(cidr)} is no longer ${affinityText(claimer.owner)}'s`,
    );
  }
  if (isConfirmed(row)) return loaded;
  const pending = await pendingAgain(context, row, options);
  const stored = await writeBlock(context, loaded.block, options);
  await confirm(context, claimer.owner, pending, options);
  return { stored, block: stored };
}

function pendingAgain(
  context: Context,
  row: BlockAffinity,
  options: CallOptions,
): Promise<BlockAffinity> | BlockAffinity {
  return row.spec.state === "pending" ? row : withState(context, row, "pending", options);
}

async function createBlock(
  context: Context,
  claimer: Claimer,
  row: BlockAffinity,
  options: CallOptions,
): Promise<LoadedBlock> {
  const { owner, reserved } = claimer;
  const cidr = rowRange(row);
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
