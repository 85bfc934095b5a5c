/**
 * Blocks that share addresses: their pool was given another block size, or two pools overlap. Calico compares equal ranges
 * only, so such blocks exist. No block is created over another one, and an address that two stored blocks cover is
 * allocated from neither.
 */

import { isBlockSize } from "../api/block-sizes.ts";
import { blockName } from "../api/names.ts";
import type { IPAMBlock } from "../api/v3.ts";
import type { BlockRef } from "../datastore/block-index.ts";
import { blockRef } from "../datastore/block-index.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { type Address, width } from "../net/address.ts";
import { type AddressSet, addressSet, EMPTY_SET } from "../net/address-set.ts";
import { type Cidr, cidrOf, contains, formatCidr } from "../net/cidr.ts";
import { CidrIndex } from "../net/cidr-index.ts";
import { collect, rangeOf } from "./block.ts";
import { problemOf } from "./block-problem.ts";
import { type Context, found, type ListedBlocks, type LoadedBlock, listBlocks, loadBlock } from "./context.ts";
import { IpamError } from "./errors.ts";

/** What overlaps are looked for in. */
type Looking = Pick<Context, "datastore" | "warn">;

/** Blocks that were listed. */
export type Listed = Pick<ListedBlocks, "blocks" | "unsoundRefs">;

const indexes = new WeakMap<Listed, CidrIndex<BlockRef>>();

/** All listed blocks that share addresses with `cidr`, those that cannot be used among them. */
export function overlapping(listed: Listed, cidr: Cidr): BlockRef[] {
  let index = indexes.get(listed);
  if (!index) {
    index = new CidrIndex<BlockRef>();
    const sound = listed.blocks.map((block) => ({ name: block.metadata.name, range: rangeOf(block) }));
    for (const ref of [...sound, ...listed.unsoundRefs]) index.add(ref.range, ref);
    indexes.set(listed, index);
  }
  return index.overlapping(cidr);
}

/** The same without the block of that very range. */
export function overlappingOthers(listed: Listed, cidr: Cidr): BlockRef[] {
  const own = blockName(formatCidr(cidr));
  return overlapping(listed, cidr).filter(({ name }) => name !== own);
}

/** Other stored blocks that overlap `cidr`; undefined where the store does not have all blocks at hand. */
export async function overlapsAtHand(
  context: Looking,
  cidr: Cidr,
  options: CallOptions & { readonly after?: IPAMBlock },
): Promise<BlockRef[] | undefined> {
  const refs = await context.datastore.blocksOverlapping?.(cidr, options as object);
  return refs && othersAmong(context, cidr, refs, options);
}

/**
 * Other blocks that overlap each of `blocks`, by name, as of a moment after all of them were stored: from what is
 * at hand once the watch has delivered the block, or else by one list of names.
 */
export async function findOverlaps(
  context: Looking,
  blocks: readonly IPAMBlock[],
  options: CallOptions,
): Promise<ReadonlyMap<string, readonly BlockRef[]>> {
  const overlaps = new Map<string, readonly BlockRef[]>();
  let named: CidrIndex<BlockRef> | undefined;
  for (const block of blocks) {
    const range = rangeOf(block);
    const atHand = named ? undefined : await overlapsAtHand(context, range, { ...options, after: block });
    if (!atHand) named ??= await listBlockNames(context, options);
    const others =
      atHand ?? (await othersAmong(context, range, named!.overlapping(range), { ...options, fresh: true }));
    overlaps.set(block.metadata.name, others);
  }
  return overlaps;
}

async function listBlockNames({ datastore }: Looking, { signal }: CallOptions): Promise<CidrIndex<BlockRef>> {
  const index = new CidrIndex<BlockRef>();
  const options = signal ? { signal } : {};
  for (const { name } of await namesOfBlocks(datastore, options)) {
    const ref = blockRef(name) ?? (await refBySpec(datastore, name, options));
    if (ref) index.add(ref.range, ref);
  }
  return index;
}

/** A block whose name is no block's is where its spec says, if it can be read. */
async function refBySpec(datastore: Context["datastore"], name: string, options: CallOptions) {
  try {
    return blockRef(name, (await datastore.get("IPAMBlock", name, { ...options, fresh: true })).spec.cidr);
  } catch (error) {
    if (!isDatastoreError(error, "NotFound", "Invalid")) throw error;
    return undefined;
  }
}

async function namesOfBlocks(datastore: Context["datastore"], options: CallOptions) {
  if (datastore.listNames) return datastore.listNames("IPAMBlock", options);
  const { items, malformed } = await datastore.list("IPAMBlock", { ...options, fresh: true });
  return [...items.map(({ metadata }) => metadata), ...malformed];
}

/** Each is read: one whose deletion has begun is finished by that, and does not count. */
async function othersAmong(
  context: Looking,
  cidr: Cidr,
  refs: readonly BlockRef[],
  options: CallOptions,
): Promise<BlockRef[]> {
  const own = blockName(formatCidr(cidr));
  const others: BlockRef[] = [];
  for (const ref of refs) {
    if (ref.name !== own && (await protectsRange(context, ref, options))) others.push(ref);
  }
  return others;
}

/** A block that cannot be used counts as well, unless its range is larger than a block can be. */
async function protectsRange(context: Looking, { name, range }: BlockRef, options: CallOptions): Promise<boolean> {
  const canBeBlock = isBlockSize(range.prefix, range.version);
  try {
    const { fresh = false, signal } = options;
    const block = await context.datastore.get("IPAMBlock", name, { fresh, ...(signal && { signal }) });
    const problem = problemOf(block);
    if (problem !== undefined && !canBeBlock) context.warn(`IPAMBlock "${name}" is skipped: ${problem}`);
    return problem === undefined || canBeBlock;
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return false;
    if (!isDatastoreError(error, "Invalid")) throw error;
    if (!canBeBlock) context.warn(error.message);
    return canBeBlock;
  }
}

/** The addresses of blocks. */
export function addressesOf(refs: readonly BlockRef[]): AddressSet {
  return refs.length > 0 ? addressSet(refs.map(({ range }) => range)) : EMPTY_SET;
}

/** @throws IpamError BlockOverlap where a block of that range would share addresses with another */
export function refuseOverlap(others: readonly BlockRef[], cidr: Cidr): void {
  if (others.length > 0) throw blockOverlap(cidr, others, "release what that holds, then its affinity");
}

export function blockOverlap(cidr: Cidr, others: readonly BlockRef[], advice: string): IpamError {
  const message = `block ${formatCidr(cidr)} overlaps ${rangesText(others)}, which has another size: ${advice}`;
  return new IpamError("BlockOverlap", message);
}

/** Ranges for a message; a name that does not say the range is added. */
export function rangesText(refs: readonly BlockRef[]): string {
  const text = ({ name, range }: BlockRef) => {
    const cidr = formatCidr(range);
    return blockName(cidr) === name ? cidr : `${cidr} (IPAMBlock "${name}")`;
  };
  return refs.map(text).join(", ");
}

/** A block that holds an address, and all blocks, where they had to be listed to find it. */
export interface Holding {
  readonly loaded?: LoadedBlock | undefined;
  readonly listed?: ListedBlocks;
}

/** The block an address is in: the one at `cidr`, or one of another size. */
export async function findBlockHolding(
  context: Context,
  { block: cidr, address }: { readonly block: Cidr; readonly address: Address },
  cooldownSeconds: number,
  options: CallOptions,
): Promise<Holding> {
  const loaded = await found(loadBlock(context, cidr, cooldownSeconds, options));
  if (loaded) return { loaded };
  const listed = await listBlocks(context, options);
  const stored = blockHolding(listed.blocks, address);
  return { listed, loaded: stored && { stored, block: collect(stored, cooldownSeconds, context.clock()) } };
}

/** The same, where only the block matters. */
export async function loadBlockHolding(...args: Parameters<typeof findBlockHolding>): Promise<LoadedBlock | undefined> {
  return (await findBlockHolding(...args)).loaded;
}

export function rangeHolding(blocks: readonly IPAMBlock[], address: Address): Cidr | undefined {
  const block = blockHolding(blocks, address);
  return block && rangeOf(block);
}

function blockHolding(blocks: readonly IPAMBlock[], address: Address): IPAMBlock | undefined {
  const single = cidrOf(address, width(address.version));
  return blocks.find((block) => contains(rangeOf(block), single));
}
