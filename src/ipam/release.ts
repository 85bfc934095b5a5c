/** Releases addresses, one by one or by handle: block first, handle second. */
import { availableParallelism } from "node:os";
import { cutHandle } from "../api/names.ts";
import type { IPAMBlock, IPAMHandle } from "../api/v3.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { type Address, formatAddress } from "../net/address.ts";
import { type Cidr, formatCidr } from "../net/cidr.ts";
import { rememberPartial } from "./assignments.ts";
import { addressAt, addressFrom, collect, isEmpty, ordinalOf, rangeOf, sequenceAt, withSpec } from "./block.ts";
import { ordinalsOfHandle, type ReleaseRequest, release, releaseHandle } from "./block-changes.ts";
import { problemOf } from "./block-problem.ts";
import {
  type Context,
  cooldownFor,
  found,
  type LoadedBlock,
  listBlocks,
  listPools,
  loadBlock,
  writeBlock,
} from "./context.ts";
import { settle } from "./deselected.ts";
import { isIpamError } from "./errors.ts";
import { deleteBlock } from "./give-up.ts";
import { findHandle, lowerHandles, noSuchHandle } from "./handle.ts";
import { keepsCooldown, stores } from "./kept-fields.ts";
import { rangesOf, readable } from "./lookup.ts";
import { otherHolders } from "./other-holders.ts";
import { rangeHolding } from "./overlap.ts";
import { blockOf, poolFor, poolsOf } from "./pools.ts";
import { retryLostRaces } from "./retry.ts";

/** One address to release, and on which conditions. */
export interface ReleaseOptions {
  /** The address. */
  readonly address: string;
  /** Released only where it belongs to this handle. Default, and where it is empty: whosever it is. */
  readonly handle?: string | undefined;
  /** Released only where it was allocated at this number; 0 is a number. Callers that know one always give it. Default: at any. */
  readonly sequenceNumber?: bigint | undefined;
}

/** What became of the addresses. */
export interface ReleaseResult {
  /** Addresses that were not assigned, or are cooling down already. */
  readonly unallocated: readonly string[];
  /** What was dealt with: every entry whose block exists and was not refused. */
  readonly processed: readonly ReleaseOptions[];
}

interface Releasing {
  readonly context: Context;
  readonly options: CallOptions;
  readonly cooldownSeconds: number;
}

/** With more addresses than this, all handles are read at once: cheaper than one by one. */
const LIST_HANDLES_ABOVE = 2;

/** @throws the first error of any block, after the others were done; `partialResult` gives what was */
export async function releaseIPs(
  context: Context,
  releases: readonly ReleaseOptions[],
  options: CallOptions,
): Promise<ReleaseResult> {
  for (const { address } of releases) addressFrom(address);
  const grouping = (how: CallOptions) => groupByBlock(context, releases, how);
  const { groups, homeless } = (await sureOf(context, options, grouping, (all) => all.homeless.length === 0))!;
  const releasing = { context, options, cooldownSeconds: await cooldownFor(context, options) };
  const known = releases.length > LIST_HANDLES_ABOVE ? await listHandles(context, options) : undefined;
  const done = await sideBySide(groups, (group) => releaseGroup(releasing, group, known));
  const results = done.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  const result = joined([{ unallocated: homeless.map(({ address }) => address), processed: [] }, ...results]);
  try {
    const failed = done.find((outcome) => outcome.status === "rejected");
    if (failed) throw failed.reason;
    options.signal?.throwIfAborted();
  } catch (error) {
    rememberPartial(error, result);
    throw error;
  }
  return result;
}

interface Group {
  readonly cidr: Cidr;
  readonly releases: readonly ReleaseOptions[];
}

interface Grouped {
  readonly groups: readonly Group[];
  /** Those that are in no block. */
  readonly homeless: readonly ReleaseOptions[];
}

/** Pools say where an address's block is, disabled ones too; blocks of pools that are gone are looked for. */
async function groupByBlock(context: Context, releases: readonly ReleaseOptions[], options: CallOptions) {
  const pools = poolsOf(await listPools(context, options));
  const isOutside = ({ address }: ReleaseOptions) => !poolFor(pools, addressFrom(address));
  const { blocks } = releases.some(isOutside) ? await listBlocks(context, options) : { blocks: [] };
  return grouped(releases, (address) => {
    const pool = poolFor(pools, address);
    return pool ? blockOf(pool, address) : rangeHolding(blocks, address);
  });
}

function grouped(releases: readonly ReleaseOptions[], blockOfAddress: (address: Address) => Cidr | undefined): Grouped {
  const groups = new Map<string, { cidr: Cidr; releases: ReleaseOptions[] }>();
  const homeless: ReleaseOptions[] = [];
  for (const entry of releases) {
    const cidr = blockOfAddress(addressFrom(entry.address));
    const key = cidr && formatCidr(cidr);
    if (!cidr || !key) homeless.push(entry);
    else groups.set(key, { cidr, releases: [...(groups.get(key)?.releases ?? []), entry] });
  }
  return { groups: [...groups.values()], homeless };
}

async function listHandles({ datastore }: Context, options: CallOptions): Promise<Map<string, IPAMHandle>> {
  const { items } = await datastore.list("IPAMHandle", options);
  return new Map(items.map((handle) => [handle.metadata.name, handle]));
}

/** As many at a time as there are CPUs. */
async function sideBySide<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue)
      [results[index]] = (await Promise.allSettled([work(item)])) as [PromiseSettledResult<R>];
  };
  await Promise.all(Array.from({ length: Math.min(items.length, availableParallelism()) }, worker));
  return results;
}

/** Releases what the block holds; where other blocks overlap it, also what they hold instead. */
async function releaseGroup(
  releasing: Releasing,
  group: Group,
  known: ReadonlyMap<string, IPAMHandle> | undefined,
): Promise<ReleaseResult> {
  const { released, refusal } = await releaseOrRefusal(releasing, group, known);
  const missing = released ? group.releases.filter(isAmong(released.unallocated)) : group.releases;
  const holders = missing.length > 0 ? await holdersOf(releasing, group.cidr, missing) : undefined;
  if (!holders?.size) {
    if (released) return released;
    throw refusal;
  }
  const isElsewhere = isAmong([...holders.keys()]);
  const here = released ? [] : group.releases.filter((entry) => !isElsewhere(entry));
  const { groups } = grouped(missing.filter(isElsewhere), (address) => holders.get(formatAddress(address)));
  const unallocated = (released?.unallocated ?? []).filter((address) => !holders.has(address));
  for (const part of [...(here.length > 0 ? [{ ...group, releases: here }] : []), ...groups]) {
    unallocated.push(...(await releaseFrom(releasing, part, known)).unallocated);
  }
  return { unallocated, processed: group.releases };
}

/** That an address belongs to another handle, or another allocation, may be so in this block only. */
async function releaseOrRefusal(...args: Parameters<typeof releaseFrom>) {
  try {
    return { released: await releaseFrom(...args), refusal: undefined };
  } catch (refusal) {
    if (!isIpamError(refusal, "BadHandle", "BadSequenceNumber")) throw refusal;
    return { released: undefined, refusal };
  }
}

function isAmong(addresses: readonly string[]): (entry: ReleaseOptions) => boolean {
  const known = new Set(addresses);
  return ({ address }) => known.has(formatAddress(addressFrom(address)));
}

/** Undefined where there is no such block: then the address was looked for in all. */
async function holdersOf(
  { context, options, cooldownSeconds }: Releasing,
  cidr: Cidr,
  releases: readonly ReleaseOptions[],
) {
  const loaded = await readable(context, loadBlock(context, cidr, cooldownSeconds, { ...options, fresh: true }));
  const wanted = releases.map(({ address, handle }) => ({ address, handleID: handle ? cutHandle(handle) : undefined }));
  return loaded && otherHolders(context, loaded.stored, wanted, options);
}

async function releaseFrom(
  releasing: Releasing,
  { cidr, releases }: Group,
  known: ReadonlyMap<string, IPAMHandle> | undefined,
): Promise<ReleaseResult> {
  const once = new Map(releases.map((entry) => [formatAddress(addressFrom(entry.address)), entry]));
  const result = await changeBlock(releasing, cidr, ({ block }) => {
    const requests = [...once.values()].map((entry) => requestOf(block, entry));
    return release(block, requests, releasing.context.clock());
  });
  if (!result) return releaseElsewhere(releasing, releases, known);
  await lowerCounts(releasing, cidr, result.handles, known);
  await settle(releasing, result.block);
  const unallocated = result.idle.map((ordinal) => formatAddress(addressAt(cidr, ordinal)));
  return { unallocated, processed: releases };
}

/** Where the pool has no such block, the address can be in one of another size, from before the pool was cut anew. */
async function releaseElsewhere(
  releasing: Releasing,
  releases: readonly ReleaseOptions[],
  known: ReadonlyMap<string, IPAMHandle> | undefined,
): Promise<ReleaseResult> {
  const { blocks } = await listBlocks(releasing.context, { ...releasing.options, fresh: true });
  const { groups, homeless } = grouped(releases, (address) => rangeHolding(blocks, address));
  const nowhere = new Set(homeless.map(({ address }) => formatAddress(addressFrom(address))));
  const results: ReleaseResult[] = [{ unallocated: [...nowhere], processed: homeless }];
  for (const group of groups) results.push(await releaseGroup(releasing, group, known));
  return joined(results);
}

function joined(results: readonly ReleaseResult[]): ReleaseResult {
  return {
    unallocated: results.flatMap(({ unallocated }) => unallocated),
    processed: results.flatMap(({ processed }) => processed),
  };
}

function requestOf(block: IPAMBlock, { address, handle, sequenceNumber }: ReleaseOptions): ReleaseRequest {
  const handleID = handle ? cutHandle(handle) : undefined;
  return { ordinal: ordinalOf(block, addressFrom(address))!, handleID, sequenceNumber };
}

function lowerCounts(
  { context }: Releasing,
  cidr: Cidr,
  handles: ReadonlyMap<string, number>,
  known?: ReadonlyMap<string, IPAMHandle>,
): Promise<void> {
  const block = formatCidr(cidr);
  const shares = Array.from(handles, ([handleID, count]) => ({ handleID, block, count }));
  return lowerHandles(context, shares, known);
}

interface Change {
  readonly block: IPAMBlock;
  readonly ordinals: readonly number[];
}

/**
 * That there is nothing to release, or not for this caller, ends a call without a write that would have lost against what
 * is stored: a cache is not believed in that.
 */
async function sureOf<T>(
  { datastore }: Context,
  options: CallOptions,
  look: (options: CallOptions) => Promise<T | undefined>,
  isGuarded: (seen: T) => boolean,
): Promise<T | undefined> {
  if (datastore.isCached) {
    const seen = await look(options).catch((error: unknown) => {
      if (!isIpamError(error)) throw error;
      return undefined;
    });
    if (seen !== undefined && isGuarded(seen)) return seen;
  }
  return look({ ...options, fresh: true });
}

/** Computes a change and writes it, anew from what is stored whenever someone else was first; undefined: no block. */
async function changeBlock<C extends Change>(
  releasing: Releasing,
  cidr: Cidr,
  change: (loaded: LoadedBlock) => C,
): Promise<C | undefined> {
  const { context, options, cooldownSeconds } = releasing;
  const look = async (how: CallOptions) => {
    const loaded = await found(loadBlock(context, cidr, cooldownSeconds, how));
    return loaded && { loaded, changed: change(loaded) };
  };
  const attempt = async () => {
    const looked = await sureOf(context, options, look, ({ changed }) => changed.ordinals.length > 0);
    if (!looked || looked.changed.ordinals.length === 0) return looked?.changed;
    const { loaded, changed } = looked;
    const block = await cooledDown(releasing, changed.block);
    if (isEmpty(block) && !block.spec.affinity) await deleteBlock(context, loaded.stored, options);
    else await writeReleased(releasing, block);
    return { ...changed, block };
  };
  const what = `releasing addresses of block ${formatCidr(cidr)}`;
  return retryLostRaces(attempt, { what, lost: ["Conflict", "NotFound"], ...options });
}

/** The block with what is free freed: at once, where the server would forget since when it cools down. */
async function cooledDown({ context, options, cooldownSeconds }: Releasing, block: IPAMBlock): Promise<IPAMBlock> {
  const cooling = collect(block, cooldownSeconds, context.clock());
  return (await keepsCooldown(context, cooling, options)) ? cooling : collect(block, 0, context.clock());
}

/** A CRD that was replaced by an older one meanwhile shows in the answer: what it forgot is freed by one more write. */
async function writeReleased({ context, options }: Releasing, block: IPAMBlock): Promise<void> {
  const stored = await writeBlock(context, block, options);
  if (stores(context, block, stored)) return;
  const { sequenceNumber } = stored.spec;
  const freed = withSpec(collect(block, 0, context.clock()), sequenceNumber === undefined ? {} : { sequenceNumber });
  try {
    await writeBlock(context, { ...freed, metadata: stored.metadata }, options);
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return; // with the block went what it had forgotten
    if (!isDatastoreError(error, "Conflict")) throw error;
    const { name } = block.metadata;
    context.warn(
      `IPAMBlock "${name}": addresses that were released stay allocated, to nobody: ipamctl check names them`,
    );
  }
}

/**
 * Every block is tried; the last error is thrown.
 * @throws IpamError NotFound where there is no such handle
 */
export async function releaseByHandle(context: Context, handle: string, options: CallOptions): Promise<void> {
  const handleID = cutHandle(handle);
  const stored = await findHandle(context, handleID, options);
  const ranges = rangesWithHandle(context, handleID, stored?.spec.block);
  if (!stored && ranges.length === 0) throw noSuchHandle(handleID);
  const releasing = { context, options, cooldownSeconds: await cooldownFor(context, options) };
  const errors: unknown[] = [];
  for (const [index, cidr] of ranges.entries()) {
    const known = index === 0 && stored ? new Map([[stored.metadata.name, stored]]) : undefined;
    await releaseHandleFrom(releasing, cidr, handleID, known).catch((error: unknown) => errors.push(error));
    options.signal?.throwIfAborted();
  }
  if (errors.length > 0) throw errors.at(-1);
}

/**
 * What the handle's object counts, and the blocks at hand that attribute an address to it: on clusters where Calico releases
 * many addresses at once, an object can count less than is allocated.
 */
function rangesWithHandle(
  { datastore }: Context,
  handleID: string,
  counts: Readonly<Record<string, number>> = {},
): Cidr[] {
  const counted = rangesOf(counts);
  const names = new Set(counted.map(formatCidr));
  const atHand = (datastore.blocksOfHandle?.(handleID) ?? []).filter((block) => problemOf(block) === undefined);
  return [...counted, ...atHand.map(rangeOf).filter((range) => !names.has(formatCidr(range)))];
}

async function releaseHandleFrom(
  releasing: Releasing,
  cidr: Cidr,
  handleID: string,
  known: ReadonlyMap<string, IPAMHandle> | undefined,
): Promise<void> {
  const result = await releaseHandleIn(releasing, cidr, handleID);
  if (!result || result.ordinals.length === 0) return;
  await lowerCounts(releasing, cidr, new Map([[handleID, result.ordinals.length]]), known);
  await settle(releasing, result.block);
}

/**
 * An address that was given to the same handle anew while this call lost a race is not the one that was meant: the
 * numbers seen at first decide, where a cache may have been asked those of the second look. One without a number then is
 * taken whatever a healing write gave it since.
 */
function releaseHandleIn(releasing: Releasing, cidr: Cidr, handleID: string) {
  let seen: ReadonlyMap<number, bigint>;
  let oldLooks = releasing.context.datastore.isCached ? 2 : 1;
  return changeBlock(releasing, cidr, ({ block }) => {
    const numbered = ordinalsOfHandle(block, handleID).map((ordinal) => [ordinal, sequenceAt(block, ordinal)] as const);
    if (oldLooks-- > 0) seen = new Map(numbered);
    const isSame = (ordinal: number) => {
      const number = seen.get(ordinal);
      return number === 0n || number === sequenceAt(block, ordinal);
    };
    return releaseHandle(block, handleID, releasing.context.clock(), isSame);
  });
}
