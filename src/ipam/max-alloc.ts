/** The limit of addresses of one family that a handle may have: what it has counts, and is the result at the limit. */
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

/** What a handle has of one family. */
async function heldBy(reader: Reader, handleID: string): Promise<readonly string[]> {
  const { context, options, version, cooldownSeconds } = reader;
  const counts = (await findHandle(context, handleID, options))?.spec.block ?? {};
  const blocks = await blocksOfHandle(context, { handleID, counts }, cooldownSeconds, { ...options, fresh: true });
  const ofFamily = blocks.filter(({ block }) => rangeOf(block).version === version);
  return ofFamily.flatMap(({ block, ordinals }) => ordinals.map((ordinal) => maskedAddress(block, ordinal)));
}

/**
 * Decides before anything is written: what the handle has, where `count` more would exceed its limit; undefined where
 * `count` may be allocated.
 * @throws IpamError InsufficientIPsByHandle where it has fewer than `count` then
 */
export async function heldInstead(reader: Reader, taker: Taker, count: number): Promise<readonly string[] | undefined> {
  const { handleID, maxAllocToHandlePerIPVersion: most = 0 } = taker;
  if (handleID === undefined || most <= 0) return undefined;
  const ips = await heldBy(reader, handleID);
  if (ips.length + count <= most) return undefined;
  if (ips.length < count) throw insufficient(taker, ips.length, count);
  return ips;
}

/**
 * The handle's addresses after its object refused to count more.
 * @throws TransientError HandleBusy where there are fewer than `count`, which a call under way explains
 */
export async function heldAtLimit(reader: Reader, taker: Taker, count: number): Promise<readonly string[]> {
  const ips = await heldBy(reader, taker.handleID ?? "");
  if (ips.length >= count) return ips;
  throw new TransientError("HandleBusy", insufficient(taker, ips.length, count).message);
}

function insufficient({ handleID, maxAllocToHandlePerIPVersion: most }: Taker, held: number, count: number): IpamError {
  const message = `handle ${handleID} has ${held} address(es), ${count} are required, at most ${most} allowed`;
  return new IpamError("InsufficientIPsByHandle", message);
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
