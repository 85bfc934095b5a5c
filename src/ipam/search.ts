/** Where a host may look for addresses: its pools, its own blocks, blocks nobody owns, blocks of others. */
import { blockName } from "../api/names.ts";
import type { BlockAffinity, IPAMBlock } from "../api/v3.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { isDatastoreError } from "../datastore/datastore.ts";
import type { IpVersion } from "../net/address.ts";
import { type AddressSet, rangeCovering } from "../net/address-set.ts";
import { type Cidr, contains, formatCidr, parseCidr } from "../net/cidr.ts";
import { type AffinityConfig, affinityText, getAffinity, listAffinities, ownerOf } from "./affinity.ts";
import type { HostReservedAttr } from "./block.ts";
import { collect, freeOrdinals, isEmpty, rangeOf, sequenceOf } from "./block.ts";
import { blocksInOrder, placeInOrder } from "./block-order.ts";
import { blockFromAffinity, CLAIM_RACES, type Claimer, claimBlock, deleteBlock, giveUpBlock } from "./claim.ts";
import type { IPAMConfig } from "./config.ts";
import { type Context, configFor, type LoadedBlock, listBlocks, listPools } from "./context.ts";
import { IpamError, isIpamError, TransientError } from "./errors.ts";
import type { Labelled } from "./nodes.ts";
import { choosePools, type IntendedUse, isEnabled, type Pool, poolAround, poolsOf, selectsNode } from "./pools.ts";
import { reservedAddresses } from "./reserved.ts";
import { retryLostRaces } from "./retry.ts";

/** An empty block of another host can be taken over once its claim is this old; younger ones are about to be used. */
export const EMPTY_BLOCK_MIN_RECLAIM_AGE_MS = 60_000;

/** Who asks, and for what. */
export interface Asking {
  readonly host: string;
  readonly intendedUse: IntendedUse;
  readonly namespace?: Labelled | undefined;
}

/** What one call knows, read once for both families. */
export interface Knowledge extends Asking {
  readonly context: Context;
  readonly options: CallOptions;
  readonly owner: AffinityConfig;
  readonly config: IPAMConfig;
  readonly reservations: AddressSet;
  readonly node: Labelled;
  readonly pools: readonly Pool[];
}

export interface Search extends Knowledge, Claimer {
  readonly version: IpVersion;
  /** Pools to draw from, in the order of preference. */
  readonly usable: readonly Pool[];
  /** The host's rows inside those pools, in every state, in the order of their names. */
  readonly rows: readonly BlockAffinity[];
}

/** @throws IpamError NodeNotFound, IPAMConfigConflict, StrictAffinity */
export async function know(context: Context, asking: Asking, options: CallOptions): Promise<Knowledge> {
  const [config, reservations, node, pools] = await Promise.all([
    configFor(context, options),
    listReservations(context, options),
    readNode(context, asking, options),
    listPools(context, options),
  ]);
  const affinityType = asking.intendedUse === "LoadBalancer" ? "virtual" : "host";
  const owner: AffinityConfig = { affinityType, host: asking.host };
  return { ...asking, context, options, owner, config, reservations, node, pools: poolsOf(pools) };
}

async function listReservations({ datastore, warn }: Context, options: CallOptions): Promise<AddressSet> {
  const { items, malformed } = await datastore.list("IPReservation", options);
  for (const { name, reason } of malformed) warn(`IPReservation "${name}" is passed over: ${reason}`);
  return reservedAddresses(items);
}

/** Load balancers belong to no node: nothing is read, and there are no labels. */
async function readNode(context: Context, { host, intendedUse }: Asking, options: CallOptions): Promise<Labelled> {
  const node = intendedUse === "LoadBalancer" ? {} : await context.nodes(host, options);
  if (node) return node;
  throw new IpamError("NodeNotFound", `resource does not exist: Node(${host}) with error: nodes "${host}" not found`);
}

/** What differs between the families of one call. */
export interface FamilyRequest {
  readonly version: IpVersion;
  readonly requested: readonly string[];
  readonly reserved?: HostReservedAttr | undefined;
}

/** Pools and own blocks for one family; blocks in pools that no longer select the node are given up when empty. */
export async function prepareSearch(knowledge: Knowledge, family: FamilyRequest): Promise<Search> {
  const { context, owner, options, pools, config, intendedUse: use } = knowledge;
  const { selected, usable } = choosePools(pools, { ...knowledge, ...family, use });
  const rows = await listAffinities(context, owner, family.version, options);
  const within = (candidates: readonly Pool[]) => (row: BlockAffinity) =>
    poolAround(candidates, parseCidr(row.spec.cidr)!) !== undefined;
  const own = rows.filter(within(usable));
  const elsewhere = rows.filter((row) => !within(usable)(row) && !within(selected)(row));
  for (const row of elsewhere) await giveUpDeselected(knowledge, parseCidr(row.spec.cidr)!);
  return { ...knowledge, ...family, cooldownSeconds: config.ipCooldownSeconds, usable, rows: own };
}

async function giveUpDeselected(knowledge: Knowledge, cidr: Cidr): Promise<void> {
  const { context, owner, options, pools, node, config } = knowledge;
  const pool = poolAround(pools.filter(isEnabled), cidr);
  if (!pool || selectsNode(pool.source, node)) return;
  const how = { requireEmpty: true, cooldownSeconds: config.ipCooldownSeconds };
  await retryLostRaces(() => unlessKept(giveUpBlock(context, owner, cidr, how, options)), {
    what: `giving up block ${formatCidr(cidr)}`,
    ...options,
  });
}

/** A block that is in use, or another's, or gone, needs no giving up. */
export async function unlessKept(giveUp: Promise<void>): Promise<void> {
  try {
    await giveUp;
  } catch (error) {
    const kept = isIpamError(error, "BlockNotEmpty") || isDatastoreError(error, "NotFound");
    if (!kept && !(error instanceof TransientError)) throw error;
  }
}

/** The block of one of the host's own rows; undefined where it turns out not to be the host's, or cannot be used. */
export async function ownBlock(search: Search, listed: BlockAffinity): Promise<LoadedBlock | undefined> {
  const { context, owner, options } = search;
  let row: BlockAffinity | undefined = listed;
  const cidr = parseCidr(listed.spec.cidr)!;
  const attempt = async () => {
    const current: BlockAffinity = row ?? (await getAffinity(context, owner, cidr, options));
    row = undefined;
    return blockFromAffinity(context, search, current, options);
  };
  try {
    return await retryLostRaces(attempt, { what: `reading block ${listed.spec.cidr}`, ...options });
  } catch (error) {
    const usable = !(error instanceof TransientError) && !isIpamError(error, "MalformedBlock");
    if (usable && !isDatastoreError(error, "NotFound")) throw error;
    if (isIpamError(error)) context.warn(error.message);
    return undefined;
  }
}

export interface Claimed {
  readonly loaded: LoadedBlock;
  /** False: the block was the host's own already. */
  readonly fresh: boolean;
}

/** Claims a block that is free; undefined where none is. `passed` are blocks that are of no use. */
export function claimNewBlock(search: Search, passed: ReadonlySet<string>): Promise<Claimed | undefined> {
  const { context, host, options } = search;
  const attempt = async () => {
    const usable = await findUsableBlock(search, passed);
    if (usable === undefined) return undefined;
    return { loaded: await claimBlock(context, search, usable.cidr, options), fresh: !usable.own };
  };
  const lost = [...CLAIM_RACES, "BlockClaimConflict", "StaleAffinity"] as const;
  return retryLostRaces(attempt, { what: `claiming a block for ${host}`, lost, ...options });
}

interface Usable {
  readonly cidr: Cidr;
  readonly own: boolean;
}

/** Pool by pool a range without a block; only where there is none in any pool, another host's empty block. */
async function findUsableBlock(search: Search, passed: ReadonlySet<string>): Promise<Usable | undefined> {
  const { context, options, usable, host, owner, reservations, cooldownSeconds } = search;
  const { blocks, unsound } = await listBlocks(context, options);
  const existing = new Map(blocks.map((block) => [block.metadata.name, block]));
  const reclaimable: IPAMBlock[] = [];
  for (const pool of usable) {
    for (const cidr of blocksInOrder(pool, host, context.blockOrder, reservations)) {
      const name = blockName(formatCidr(cidr));
      const stored = existing.get(name);
      if (unsound.has(name) || passed.has(name)) continue;
      if (!stored) return { cidr, own: false };
      const block = collect(stored, cooldownSeconds, context.clock());
      if (freeOrdinals(block, reservations).length === 0) continue;
      if (block.spec.affinity === affinityText(owner)) return { cidr, own: true };
      if (isEmpty(block)) reclaimable.push(block);
    }
  }
  return reclaimOne(search, reclaimable);
}

async function reclaimOne(search: Search, candidates: readonly IPAMBlock[]): Promise<Usable | undefined> {
  for (const block of candidates) {
    if (isOldEnough(block, search.context.clock()) && (await reclaim(search, block))) {
      return { cidr: rangeOf(block), own: false };
    }
  }
  return undefined;
}

/** A block without a claim time is older than claim times. */
function isOldEnough({ spec }: IPAMBlock, now: Date): boolean {
  const since = spec.affinityClaimTime;
  return since === undefined || now.getTime() - Date.parse(since) >= EMPTY_BLOCK_MIN_RECLAIM_AGE_MS;
}

async function reclaim({ context, options, cooldownSeconds }: Search, block: IPAMBlock): Promise<boolean> {
  try {
    const owner = ownerOf(block);
    const how = { requireEmpty: true, requiredSequence: sequenceOf(block), cooldownSeconds };
    if (owner) await giveUpBlock(context, owner, rangeOf(block), how, options);
    else await deleteBlock(context, block, options);
    return true;
  } catch (error) {
    options.signal?.throwIfAborted();
    context.warn(`block ${block.spec.cidr} could not be taken over: ${error}`);
    return false;
  }
}

/** Blocks of others to borrow from, pool by pool, in the host's order. */
export async function blocksToBorrow(search: Search): Promise<{ pool: Pool; blocks: IPAMBlock[] }[]> {
  const { context, options, usable, host, reservations } = search;
  const { blocks } = await listBlocks(context, options);
  return usable.map((pool) => {
    const place = placeInOrder(pool, host, context.blockOrder);
    const inside = blocks.filter((block) => {
      const range = rangeOf(block);
      return contains(pool.cidr, range) && !rangeCovering(reservations, range);
    });
    const ordered = inside.sort((a, b) => Number(place(rangeOf(a)) - place(rangeOf(b))));
    return { pool, blocks: ordered };
  });
}
