/** Gives up blocks: row pendingDeletion, block deleted or left without an owner, row gone. */
import type { BlockAffinity, IPAMBlock } from "../api/v3.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { type Cidr, formatCidr } from "../net/cidr.ts";
import {
  type AffinityConfig,
  affinityText,
  claimConflict,
  createRow,
  getAffinity,
  rowOwner,
  withState,
} from "./affinity.ts";
import { isEmpty, rangeOf, sequenceOf, withoutAffinity } from "./block.ts";
import { type Context, found, loadBlock, writeBlock } from "./context.ts";
import { IpamError, isIpamError, TransientError } from "./errors.ts";
import { retryLostRaces } from "./retry.ts";

export interface GiveUp {
  readonly requireEmpty: boolean;
  /** Only the block as it was at this number. */
  readonly requiredSequence?: bigint | undefined;
  readonly cooldownSeconds: number;
}

/**
 * Gives up one block: it is deleted when empty, otherwise it stays without an owner. A row without a block is deleted:
 * nobody else would. A block without a row gets one that says what becomes of it.
 * @throws IpamError BlockNotEmpty; TransientError BlockClaimConflict, StaleAffinity; DatastoreError Conflict, AlreadyExists
 */
export async function giveUpBlock(
  context: Context,
  owner: AffinityConfig,
  cidr: Cidr,
  how: GiveUp,
  options: CallOptions,
): Promise<void> {
  const read = getAffinity(context, owner, cidr, options);
  const row = await found(read);
  if (row && affinityText(rowOwner(row)) !== affinityText(owner))
    throw claimConflict(cidr, affinityText(rowOwner(row)));
  // No revision guards what is refused, or done to the row, for what the block says: it must not be an old one.
  const loaded = await found(loadBlock(context, cidr, how.cooldownSeconds, { ...options, fresh: true }));
  const isLost = !row && loaded?.block.spec.affinity === affinityText(owner);
  if (!row && !isLost) await read; // there is nothing of the owner's: NotFound
  if (!loaded) return row && context.datastore.delete(row, options);
  await checkGiveUp(context, owner, row, loaded.block, how, options);
  const state = "pendingDeletion";
  const marked = await (row
    ? withState(context, row, state, options)
    : createRow(context, owner, cidr, state, options));
  if (isEmpty(loaded.block)) await deleteBlock(context, loaded.stored, options);
  else await writeBlock(context, withoutAffinity(loaded.block), options);
  await found(context.datastore.delete(marked, options));
}

async function checkGiveUp(
  context: Context,
  owner: AffinityConfig,
  row: BlockAffinity | undefined,
  block: IPAMBlock,
  { requireEmpty, requiredSequence }: GiveUp,
  options: CallOptions,
): Promise<void> {
  const { affinity, cidr } = block.spec;
  if (requiredSequence !== undefined && requiredSequence !== sequenceOf(block)) {
    throw new TransientError("StaleAffinity", `block ${cidr} was written since it was listed`);
  }
  if (affinity && affinity !== affinityText(owner)) {
    if (row) await deleteQuietly(context, row, options);
    throw claimConflict(rangeOf(block), affinity);
  }
  if (requireEmpty && !isEmpty(block)) throw new IpamError("BlockNotEmpty", `block '${cidr}' is not empty`);
}

/** Deletes a block at the revision read. One that is gone is what was wanted. */
export async function deleteBlock({ datastore }: Context, stored: IPAMBlock, options: CallOptions): Promise<void> {
  await found(datastore.delete(stored, options));
}

/** A call that gives up blocks. */
export interface GivingUp extends GiveUp {
  readonly context: Context;
  readonly options: CallOptions;
}

/** Gives up one block, anew after each lost race. What is another's, or gone, is nothing to give up. */
export async function giveUp(how: GivingUp, owner: AffinityConfig, cidr: Cidr): Promise<void> {
  const { context, options } = how;
  const attempt = async () => {
    try {
      await giveUpBlock(context, owner, cidr, how, options);
    } catch (error) {
      if (!(error instanceof TransientError) && !isDatastoreError(error, "NotFound")) throw error;
    }
  };
  const lost = ["Conflict", "AlreadyExists"] as const;
  await retryLostRaces(attempt, { what: `giving up block ${formatCidr(cidr)}`, lost, ...options });
}

/** The same for a block that is to be kept where it is in use. */
export async function giveUpIfEmpty(
  how: Omit<GivingUp, "requireEmpty">,
  owner: AffinityConfig,
  cidr: Cidr,
): Promise<void> {
  await giveUp({ ...how, requireEmpty: true }, owner, cidr).catch((error: unknown) => {
    if (!isIpamError(error, "BlockNotEmpty")) throw error;
  });
}

/** Deletes an affinity whose range no block can have, and says so. */
export async function deleteWithHostBits(context: Context, row: BlockAffinity, options: CallOptions): Promise<void> {
  const { metadata, spec } = row;
  if (!(await deleteQuietly(context, row, options))) return;
  context.warn(`BlockAffinity "${metadata.name}" is deleted: ${spec.cidr} is an address inside a block, not a block`);
}

/**
 * A row that proves nothing can wait for its host's next call. One that was deleted or changed meanwhile is not ours.
 * @returns whether this call deleted it
 */
export async function deleteQuietly(
  { datastore, warn }: Context,
  row: BlockAffinity,
  options: CallOptions,
): Promise<boolean> {
  try {
    await datastore.delete(row, options);
    return true;
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isDatastoreError(error, "NotFound", "Conflict"))
      warn(`BlockAffinity "${row.metadata.name}" is left behind: ${error}`);
    return false;
  }
}
