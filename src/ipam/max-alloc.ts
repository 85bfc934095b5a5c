/** A handle that may get no more addresses is given those it has. */
import type { CallOptions } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import type { Taker } from "./allocation.ts";
import { maskedAddress, rangeOf } from "./block.ts";
import type { Context } from "./context.ts";
import { IpamError, isIpamError, TransientError } from "./errors.ts";
import { findHandle } from "./handle.ts";
import { blocksOfHandle } from "./lookup.ts";

interface Reader {
  readonly context: Context;
  readonly options: CallOptions;
  readonly version: IpVersion;
  readonly cooldownSeconds: number;
}

/**
 * The handle's addresses of one family, at least `count`.
 * @throws TransientError HandleBusy where there are fewer, which a call in progress explains; IpamError
 * InsufficientIPsByHandle where there can never be as many
 */
export async function existingAddresses(reader: Reader, taker: Taker, count: number): Promise<string[]> {
  const { context, options, version, cooldownSeconds } = reader;
  const { handleID = "", maxAllocToHandlePerIPVersion: most = 0 } = taker;
  const handle = await findHandle(context, handleID, options);
  const counts = handle?.spec.block ?? {};
  const blocks = await blocksOfHandle(context, { handleID, counts }, cooldownSeconds, { ...options, fresh: true });
  const existing = blocks
    .filter(({ block }) => rangeOf(block).version === version)
    .flatMap(({ block, ordinals }) => ordinals.map((ordinal) => maskedAddress(block, ordinal)));
  if (existing.length >= count) return existing;
  const words = `handle ${handleID} has ${existing.length} address(es), ${count} are required, at most ${most} allowed`;
  if (count > most) throw new IpamError("InsufficientIPsByHandle", words);
  throw new TransientError("HandleBusy", words);
}

/** A handle that stays short of what it counts is not being worked on: someone left its count too high. */
export async function unlessOvercounted<T>(taking: Promise<T>): Promise<T> {
  try {
    return await taking;
  } catch (error) {
    if (!isIpamError(error, "MaxRetries") || !(error.cause instanceof TransientError)) throw error;
    if (error.cause.code !== "HandleBusy") throw error;
    const details = ["its object counts more addresses than it holds: a collection of handles corrects the count"];
    throw new IpamError("InsufficientIPsByHandle", error.cause.message, { cause: error, details });
  }
}
