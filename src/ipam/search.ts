/** Where a host looks for addresses of one family: the pools it may draw from, and its own blocks there. */
import type { BlockAffinity } from "../api/v3.ts";
import { isDatastoreError } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import { rangeCovering } from "../net/address-set.ts";
import { overlaps } from "../net/cidr.ts";
import { affinityText, isConfirmed, listAffinities, rowRange } from "./affinity.ts";
import type { HostReservedAttr } from "./block.ts";
import { blockFromAffinity, type Claimer, deleteOddAffinity } from "./claim.ts";
import { type LoadedBlock, loadBlock } from "./context.ts";
import { giveUpDeselected } from "./deselected.ts";
import { isIpamError, TransientError } from "./errors.ts";
import { type Knowledge, nodeFor } from "./knowledge.ts";
import { readable } from "./lookup.ts";
import { type Looking, namesOf, rowsOfBlocks } from "./lost-blocks.ts";
import { choosePools, type PoolChoice } from "./pool-choice.ts";
import { isBlockOf, isEnabled, type Pool, poolAround } from "./pools.ts";

/** What differs between the families of one call. */
export interface FamilyRequest {
  readonly version: IpVersion;
  readonly requested: readonly string[];
  readonly reserved?: HostReservedAttr | undefined;
}

export interface Search extends Knowledge, Claimer {
  readonly version: IpVersion;
  /** Pools to draw from, in the order of preference. */
  readonly usable: readonly Pool[];
  /** The host's rows inside those pools, in every state, in the order of their names. */
  readonly rows: readonly BlockAffinity[];
  /** Ranges that any of the host's rows names, wherever they are. */
  readonly named: ReadonlySet<string>;
}

/** The pools that a call may draw from in one family. */
export interface FamilyPools extends PoolChoice {
  readonly knowledge: Knowledge;
  readonly family: FamilyRequest;
  /** The host's affinities of the family. */
  readonly rows: readonly BlockAffinity[];
}

/** Chooses the pools, and writes nothing. @throws as `choosePools`; IpamError NodeNotFound */
export async function choosePoolsFor(knowledge: Knowledge, family: FamilyRequest): Promise<FamilyPools> {
  const { context, owner, pools, options, intendedUse: use } = knowledge;
  const rows = await listAffinities(context, owner, family.version, options);
  const hasBlocks = rows.length > 0 || Boolean(context.datastore.blocksOf?.(affinityText(owner), options)?.length);
  const node = await nodeFor(knowledge, family.requested, hasBlocks);
  const choice = choosePools(pools, { ...knowledge, ...family, node, use });
  for (const { message } of choice.malformed) context.warn(`${message}. Nothing is allocated from it`);
  return { ...choice, knowledge, family, rows };
}

/** Own blocks in the pools of one family; blocks in pools that no longer select the node are given up when empty. */
export async function prepareSearch({
  knowledge,
  family,
  selected,
  usable,
  rows: listed,
}: FamilyPools): Promise<Search> {
  const { owner, pools, config } = knowledge;
  const claiming = { ...knowledge, ...family, cooldownSeconds: config.ipCooldownSeconds };
  const rows = await rowsOfBlocks(claiming, family.version, listed);
  const within = (candidates: readonly Pool[]) => (row: BlockAffinity) =>
    poolAround(candidates, rowRange(row)) !== undefined;
  const own = rows.filter(within(usable));
  const others = rows.filter((row) => !within(usable)(row));
  await recoverOthers(claiming, others);
  for (const row of others.filter((row) => !within(selected)(row))) {
    await giveUpDeselected(claiming, owner, rowRange(row), pools, knowledge.node);
  }
  return { ...claiming, usable, rows: own, named: namesOf(rows) };
}

/**
 * The host's affinities that this call takes no address from. One that a crash left unconfirmed is confirmed where its block
 * exists; one whose range is no block of its pool is deleted where none does. No block is created for them.
 */
async function recoverOthers(looking: Looking, rows: readonly BlockAffinity[]): Promise<void> {
  const { context, cooldownSeconds, options, pools } = looking;
  for (const row of rows) {
    const cidr = rowRange(row);
    const isOdd = pools.some((pool) => isEnabled(pool) && overlaps(pool.cidr, cidr)) && !isBlockOf(pools, cidr);
    if (isConfirmed(row) && !isOdd) continue;
    const block = await readable(context, loadBlock(context, cidr, cooldownSeconds, options));
    if (block && !isConfirmed(row)) await ownBlock(looking, row);
    else if (!block && isOdd) await deleteOddAffinity(context, row, options).catch(unlessTransient);
  }
}

function unlessTransient(error: unknown): void {
  if (!(error instanceof TransientError)) throw error;
}

/**
 * The host's own blocks in the order of their names, each loaded when it is its turn; undefined where a row turns out
 * not to be the host's, or cannot be used. Rows that a crash left unconfirmed are put right first, wanted or not.
 * Wholly reserved blocks are left out: only assignIP takes addresses there.
 */
export async function* ownBlocks(search: Search): AsyncGenerator<readonly [BlockAffinity, LoadedBlock | undefined]> {
  const recovered = new Map<BlockAffinity, LoadedBlock | undefined>();
  for (const row of search.rows) {
    if (!isConfirmed(row)) recovered.set(row, await ownBlock(search, row));
  }
  const rows = search.rows.filter((row) => !rangeCovering(search.reservations, rowRange(row)));
  for (const row of rows) yield [row, recovered.has(row) ? recovered.get(row) : await ownBlock(search, row)];
}

async function ownBlock(search: Looking, listed: BlockAffinity): Promise<LoadedBlock | undefined> {
  const { context, options } = search;
  try {
    return await blockFromAffinity(context, search, listed, options);
  } catch (error) {
    const unusable = isIpamError(error, "MalformedBlock", "BlockOverlap") || isDatastoreError(error, "Invalid");
    if (unusable) context.warn(error.message);
    else if (!(error instanceof TransientError) && !isDatastoreError(error, "NotFound")) throw error;
    return undefined;
  }
}
