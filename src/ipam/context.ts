/** What every part of the library works with: the store, and time, order and nodes as arguments. */

import { randomInt } from "node:crypto";
import { isBlockSize } from "../api/block-sizes.ts";
import { SINGLETON_NAME } from "../api/installation.ts";
import { blockName, isObjectName } from "../api/names.ts";
import type { IPAMBlock, IPPool } from "../api/v3.ts";
import { type BlockRef, blockRef } from "../datastore/block-index.ts";
import { type CallOptions, type Datastore, isDatastoreError } from "../datastore/datastore.ts";
import { escapeLine } from "../escape.ts";
import type { AddressSet } from "../net/address-set.ts";
import { type Cidr, formatCidr, parseCidr } from "../net/cidr.ts";
import { collect, nextVersion } from "./block.ts";
import type { BlockOrder } from "./block-order.ts";
import { checkBlock, problemOf } from "./block-problem.ts";
import { configurationIn, configViolations, effectiveConfig, getIPAMConfig, type IPAMConfig } from "./config.ts";
import { IpamError } from "./errors.ts";
import type { NodeReader } from "./nodes.ts";
import { poolsOf } from "./pools.ts";
import { reservedAddresses, unreadableEntries } from "./reserved.ts";
import { shown } from "./words.ts";

export interface Context {
  readonly datastore: Datastore;
  readonly clock: () => Date;
  readonly blockOrder: BlockOrder;
  readonly nodes: NodeReader;
  readonly windowsHost: boolean;
  /** Name of this host, for callers that give none. */
  readonly hostname: () => string;
  /** Told of what went wrong and does not fail the call. */
  readonly warn: (message: string) => void;
  /** Where a new block's sequence numbers start. */
  readonly firstSequenceNumber: () => bigint;
}

const MILLISECOND = 1_000_000;

/**
 * Nanoseconds since 1970, as Calico starts its sequence numbers. The clock is coarser than that: within one process
 * each start is above the one before, so that a block made again in the same instant is above what it was. The digits
 * below a millisecond are chance, so that another process which makes it again does not start at the same number.
 */
export function sequenceNumbers(
  clock: () => Date,
  withinMillisecond = () => BigInt(randomInt(MILLISECOND)),
): () => bigint {
  let last = 0n;
  return () => {
    const now = BigInt(clock().getTime()) * BigInt(MILLISECOND) + withinMillisecond();
    const least = last + BigInt(MILLISECOND); // beyond what writes have added to the one before
    last = now > least ? now : least;
    return last;
  };
}

const MOST_REMEMBERED = 1024;

/** Says each thing once: what is wrong with an object is met again by every call. */
export function saidOnce(warn: (message: string) => void): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message)) return;
    if (said.size >= MOST_REMEMBERED) said.clear();
    said.add(message);
    warn(escapeLine(message));
  };
}

/** The host that a call is for: this one, where none is given. @throws IpamError InvalidArgument */
export function callingHost({ hostname }: Context, given: string | undefined): string {
  if (given) return given;
  const own = hostname();
  if (isObjectName(own)) return own;
  const message = `this host is named ${shown(own)}, which no node can be: say as which host to ask (hostname)`;
  throw new IpamError("InvalidArgument", message);
}

/** The configuration for allocating and claiming, which an invalid one stops. */
export function configFor({ datastore, windowsHost }: Context, options: CallOptions): Promise<IPAMConfig> {
  return getIPAMConfig(datastore, { ...options, windowsHost });
}

/** The cooldown for releasing and reading, which go on with an invalid configuration and say so. */
export async function cooldownFor({ datastore, warn }: Context, options: CallOptions): Promise<number> {
  const stored = await found(datastore.get("IPAMConfiguration", SINGLETON_NAME, options));
  const config = effectiveConfig(stored?.spec);
  for (const { message } of configViolations(config)) warn(`${configurationIn(datastore)}: ${message}`);
  return config.ipCooldownSeconds;
}

/** A block as stored, and as time has left it: what has cooled down is free, in memory only. */
export interface LoadedBlock {
  readonly stored: IPAMBlock;
  readonly block: IPAMBlock;
}

/** @throws DatastoreError NotFound; IpamError MalformedBlock */
export async function loadBlock(
  context: Context,
  cidr: Cidr,
  cooldownSeconds: number,
  options: CallOptions,
): Promise<LoadedBlock> {
  const stored = await context.datastore.get("IPAMBlock", blockName(formatCidr(cidr)), options);
  checkBlock(stored);
  return { stored, block: collect(stored, cooldownSeconds, context.clock()) };
}

/** Writes the block at the revision it was read at, with its number grown by one. */
export function writeBlock({ datastore }: Context, block: IPAMBlock, options: CallOptions): Promise<IPAMBlock> {
  return datastore.update(nextVersion(block), options);
}

/** Lists are looked at and acted on; every write says what it was computed from. */
export const TO_ACT_ON = { atOneRevision: false } as const;

export interface ListedBlocks {
  readonly blocks: readonly IPAMBlock[];
  /** Names of blocks that exist but cannot be used. */
  readonly unsound: ReadonlySet<string>;
  /** Where those are that can be blocks: a range larger than any block has no addresses to protect. */
  readonly unsoundRefs: readonly BlockRef[];
}

/** Every sound block; each other one is named in a warning and hides none. */
export async function listBlocks({ datastore, warn }: Context, options: CallOptions): Promise<ListedBlocks> {
  const { items, malformed } = await datastore.list("IPAMBlock", { ...options, ...TO_ACT_ON });
  const problems = new Map(malformed.map(({ name, reason }) => [name, reason]));
  for (const block of items) {
    const problem = problemOf(block);
    if (problem !== undefined) problems.set(block.metadata.name, problem);
  }
  for (const [name, reason] of problems) warn(`IPAMBlock "${name}" is passed over: ${reason}`);
  const unsound = new Set(problems.keys());
  const blocks = items.filter(({ metadata }) => !unsound.has(metadata.name));
  const unusable = items.filter(({ metadata }) => unsound.has(metadata.name));
  const cidrs = new Map(unusable.map(({ metadata, spec }) => [metadata.name, spec.cidr]));
  const refs = [...unsound].flatMap((name) => blockRef(name, cidrs.get(name)) ?? []);
  const unsoundRefs = refs.filter(({ range }) => isBlockSize(range.prefix, range.version));
  return { blocks, unsound, unsoundRefs };
}

/** Every readable pool, in the order of their names; others are named in a warning. */
export async function listPools({ datastore, warn }: Context, options: CallOptions): Promise<readonly IPPool[]> {
  const { items, malformed } = await datastore.list("IPPool", { ...options, ...TO_ACT_ON });
  for (const { name, reason } of malformed) warn(`IPPool "${name}" is skipped: ${reason}`);
  if (poolsOf(items).length < items.length) {
    for (const { metadata, spec } of items.filter(({ spec }) => !parseCidr(spec.cidr))) {
      warn(`IPPool "${metadata.name}" is skipped: spec.cidr ${shown(spec.cidr)} is not a CIDR`);
    }
  }
  return items;
}

/** All reserved addresses; reservations that cannot be read are named in a warning. */
export async function listReservations({ datastore, warn }: Context, options: CallOptions): Promise<AddressSet> {
  const { items, malformed } = await datastore.list("IPReservation", { ...options, ...TO_ACT_ON });
  for (const { name, reason } of malformed) warn(`IPReservation "${name}" is passed over: ${reason}`);
  for (const item of items) {
    const [entry] = unreadableEntries(item);
    if (entry !== undefined)
      warn(
        `IPReservation "${item.metadata.name}": ${shown(entry)} reserves nothing, it is neither a CIDR nor an address`,
      );
  }
  return reservedAddresses(items);
}

/** The value, or undefined where the object does not exist. */
export async function found<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return undefined;
    throw error;
  }
}
