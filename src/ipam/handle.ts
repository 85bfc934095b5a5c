/**
 * Handles: how many addresses a caller's handle has in which block. Counts are raised before an address is taken and
 * lowered after it is released, so that at every instant a handle counts at least what it has.
 */
import { handleName, isObjectName, LONGEST_OBJECT_NAME } from "../api/names.ts";
import { type IPAMHandle, type IPAMHandleSpec, V3_API_VERSION } from "../api/v3.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import type { Context } from "./context.ts";
import { found } from "./context.ts";
import { IpamError } from "./errors.ts";
import { retryLostRaces } from "./retry.ts";
import { shown } from "./words.ts";

/** Refuses a handle that cannot be the name of an object, before anything is written. @throws IpamError InvalidHandle */
export function checkHandle(handleID: string | undefined): void {
  const problem = handleID === undefined ? undefined : handleProblem(handleID);
  if (problem !== undefined) throw new IpamError("InvalidHandle", problem);
}

function handleProblem(handleID: string): string | undefined {
  if (isObjectName(handleName(handleID))) return undefined;
  return (
    `handle ${shown(handleID)} cannot be stored: lower-cased it must be letters, digits, "-" and ".", ` +
    `each part between dots beginning and ending with a letter or digit, at most ${LONGEST_OBJECT_NAME} long`
  );
}

/** Of one that can have no object it says so: whoever releases what was never assigned is told the same, and goes on. */
export function noSuchHandle(handleID: string): IpamError {
  const problem = handleProblem(handleID);
  const details =
    problem === undefined ? [] : [`${problem}; an address that has it all the same is released by itself`];
  return new IpamError("NotFound", `resource does not exist: IPAMHandle(${handleName(handleID)})`, { details });
}

/** A handle's object; undefined where there is none, or can be none. */
export async function findHandle(
  { datastore }: Context,
  handleID: string,
  options: CallOptions,
): Promise<IPAMHandle | undefined> {
  const name = handleName(handleID);
  return isObjectName(name) ? found(datastore.get("IPAMHandle", name, options)) : undefined;
}

/** A number of addresses of one block, for one handle. */
export interface HandleShare {
  readonly handleID: string;
  /** Canonical CIDR of the block. */
  readonly block: string;
  readonly count: number;
}

/**
 * Raises a handle's count. It is created at first sight: most handles are new, and that saves a request.
 * @throws IpamError MaxAllocReached where it would have more than `most` (0: no limit) of the block's family
 */
export function raiseHandle(context: Context, share: HandleShare, most: number, options: CallOptions): Promise<void> {
  let isNew = true;
  return retryLostRaces(
    async () => {
      checkMost(most, share, {});
      if (isNew) {
        isNew = false;
        if (await createHandle(context, share, options)) return;
      }
      const stored = await findHandle(context, share.handleID, options);
      isNew = stored === undefined;
      if (stored) await raiseStored(context, stored, share, most, options);
      else await createHandleOrLose(context, share, options);
    },
    {
      what: `counting addresses of handle ${share.handleID}`,
      lost: ["Conflict", "NotFound", "AlreadyExists"],
      ...options,
    },
  );
}

async function createHandle(context: Context, share: HandleShare, options: CallOptions): Promise<boolean> {
  try {
    await createHandleOrLose(context, share, options);
    return true;
  } catch (error) {
    if (isDatastoreError(error, "AlreadyExists")) return false;
    throw error;
  }
}

function createHandleOrLose({ datastore }: Context, { handleID, block, count }: HandleShare, options: CallOptions) {
  const spec: IPAMHandleSpec = { handleID, block: { [block]: count }, deleted: false };
  const metadata = { name: handleName(handleID) };
  return datastore.create({ apiVersion: V3_API_VERSION, kind: "IPAMHandle", metadata, spec }, options);
}

async function raiseStored(
  { datastore }: Context,
  stored: IPAMHandle,
  share: HandleShare,
  most: number,
  options: CallOptions,
): Promise<void> {
  const { block: counts } = stored.spec;
  checkMost(most, share, counts);
  const next = { ...counts, [share.block]: (counts[share.block] ?? 0) + share.count };
  await datastore.update({ ...stored, spec: { ...stored.spec, block: next } }, options);
}

function checkMost(most: number, { handleID, block, count }: HandleShare, counts: Readonly<Record<string, number>>) {
  const sameFamily = Object.entries(counts).filter(([cidr]) => cidr.includes(":") === block.includes(":"));
  const has = sameFamily.reduce((sum, [, number]) => sum + number, 0);
  if (most <= 0 || has + count <= most) return;
  const message = `handle ${handleID} has ${has} address(es) of that family and would get ${count} more: at most ${most}`;
  throw new IpamError("MaxAllocReached", message);
}

/**
 * Lowers a handle's count; one that counts nothing any more is deleted. `known` is the row as read before, if it was.
 * A row that counts less than there was (someone else's slip) is never lowered below nothing.
 */
export function lowerHandle(
  context: Context,
  share: HandleShare,
  options: CallOptions,
  known?: IPAMHandle,
): Promise<void> {
  let cached = known;
  return retryLostRaces(
    async () => {
      const stored = cached ?? (await findHandle(context, share.handleID, options));
      cached = undefined;
      if (stored) await lowerStored(context, stored, share, options);
    },
    { what: `counting addresses of handle ${share.handleID}`, lost: ["Conflict"], ...options },
  );
}

async function lowerStored({ datastore }: Context, stored: IPAMHandle, share: HandleShare, options: CallOptions) {
  const { [share.block]: counted = 0, ...others } = stored.spec.block;
  const left = counted - share.count;
  const block = left > 0 ? { ...others, [share.block]: left } : others;
  try {
    if (Object.keys(block).length === 0) await datastore.delete(stored, options);
    else await datastore.update({ ...stored, spec: { ...stored.spec, block } }, options);
  } catch (error) {
    if (!isDatastoreError(error, "NotFound")) throw error;
  }
}

const CLEAN_UP_MS = 30_000;

/** Lowers counts after the fact, whatever became of the caller's signal; what fails is told, and costs no address. */
export async function lowerHandles(
  context: Context,
  shares: readonly HandleShare[],
  known?: ReadonlyMap<string, IPAMHandle>,
): Promise<void> {
  const signal = AbortSignal.timeout(CLEAN_UP_MS);
  for (const share of shares) {
    await lowerHandle(context, share, { signal }, known?.get(handleName(share.handleID))).catch((error: unknown) => {
      context.warn(`handle ${share.handleID} counts ${share.count} too many in ${share.block}: ${error}`);
    });
  }
}
