/** Takes addresses out of blocks: handle first, block second, and the handle lowered again when the block was not written. */
import type { AttributeMap, IPAMBlock } from "../api/v3.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { attributeAt, handleOf, sequenceAt, sequenceOf } from "./block.ts";
import { type Context, writeBlock } from "./context.ts";
import { type HandleShare, lowerHandles, raiseHandle } from "./handle.ts";
import { retryLostRaces } from "./retry.ts";

/** For whom addresses are taken. */
export interface Taker {
  /** Handle to release them by. Default: none. */
  readonly handleID?: string | undefined;
  /** Attributes of the active owner; `node` should be among them. */
  readonly attrs?: AttributeMap | undefined;
  /** Most addresses of one family the handle may have. Default 0: no limit. */
  readonly maxAllocToHandlePerIPVersion?: number | undefined;
}

/** A block with addresses newly taken, not yet written. */
export interface Taken {
  readonly before: IPAMBlock;
  readonly after: IPAMBlock;
  readonly ordinals: readonly number[];
}

/**
 * Returns where the block was written, also for a caller who has left meanwhile: what is allocated must be known.
 * @throws IpamError MaxAllocReached; DatastoreError Conflict where someone else wrote the block first
 */
export async function commit(context: Context, taker: Taker, taken: Taken, options: CallOptions): Promise<void> {
  const shares = sharesOf(taker, taken);
  for (const share of shares) await raiseHandle(context, share, taker.maxAllocToHandlePerIPVersion ?? 0, options);
  try {
    await writeBlock(context, taken.after, options);
  } catch (error) {
    const outcome = isKnown(error, options) ? "lost" : await outcomeOf(context, taker, taken);
    if (outcome === "lost") await lowerHandles(context, shares);
    if (outcome !== "written") throw error;
  }
}

function sharesOf({ handleID }: Taker, { before, ordinals }: Taken): HandleShare[] {
  return handleID === undefined ? [] : [{ handleID, block: before.spec.cidr, count: ordinals.length }];
}

/** A refusal says that nothing was written; a lost connection, or the caller leaving, says nothing. */
function isKnown(error: unknown, { signal }: CallOptions): boolean {
  return !signal?.aborted && isDatastoreError(error) && error.code !== "Unavailable";
}

const LOOK_AGAIN_MS = 30_000;

/**
 * Looks again whether a write that got no answer took place. One that may still be on its way is made to conflict: the block is
 * written once at the revision that it was computed from. Where nothing can be seen, the handle keeps its count: a count that
 * is too high is harmless, one that is too low would hide an address.
 */
async function outcomeOf(context: Context, taker: Taker, taken: Taken): Promise<"written" | "lost" | "unknown"> {
  const options = { signal: AbortSignal.timeout(LOOK_AGAIN_MS) };
  const look = async () => {
    const block = await context.datastore.get("IPAMBlock", taken.before.metadata.name, { ...options, fresh: true });
    if (taken.ordinals.every((ordinal) => isOurs(block, ordinal, taker, taken))) return "written";
    if (block.metadata.resourceVersion === taken.before.metadata.resourceVersion)
      await writeBlock(context, block, options);
    return "lost";
  };
  try {
    return await retryLostRaces(look, { what: `looking at block ${taken.before.spec.cidr} again`, ...options });
  } catch (error) {
    return isDatastoreError(error, "NotFound") ? "lost" : "unknown";
  }
}

function isOurs(block: IPAMBlock, ordinal: number, { handleID }: Taker, { before }: Taken): boolean {
  const attribute = attributeAt(block, ordinal);
  const sameNumber = sequenceAt(block, ordinal) === sequenceOf(before);
  return attribute !== undefined && sameNumber && handleOf(attribute) === handleID;
}
