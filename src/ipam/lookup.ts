/** Reads: a handle's addresses, an address's attributes. Nothing here writes. */
import { blockName, cutHandle } from "../api/names.ts";
import type { AttributeMap, IPAMBlock } from "../api/v3.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { formatAddress } from "../net/address.ts";
import { type Cidr, formatCidr, parseCidr } from "../net/cidr.ts";
import { byRange } from "../net/order.ts";
import { addressAt, attributeAt, handleOf, isCooling, ordinalOf, rangeOf } from "./block.ts";
import { coolsDown, ordinalsOfHandle } from "./block-changes.ts";
import { type Context, cooldownFor, found, listPools, loadBlock } from "./context.ts";
import { IpamError, isIpamError } from "./errors.ts";
import { findHandle, noSuchHandle } from "./handle.ts";
import { loadBlockHolding } from "./overlap.ts";
import { blockAround, isEnabled, poolsOf } from "./pools.ts";

/** A block of a handle, and what the handle holds of it. */
export interface HeldBlock {
  readonly block: IPAMBlock;
  readonly ordinals: readonly number[];
}

/** A handle as it is asked for, and what its object counts. */
export interface HandleCounts {
  /** Blocks keep the spelling of whoever took the address; the object's own may differ in case. */
  readonly handleID: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** The blocks a handle counts addresses in, in the order of their ranges; those that cannot be read are passed over. */
export async function blocksOfHandle(
  context: Context,
  { handleID, counts }: HandleCounts,
  cooldownSeconds: number,
  options: CallOptions,
): Promise<HeldBlock[]> {
  const held: HeldBlock[] = [];
  for (const cidr of rangesOf(counts)) {
    const loaded = await readable(context, loadBlock(context, cidr, cooldownSeconds, options));
    if (loaded) held.push({ block: loaded.block, ordinals: ordinalsOfHandle(loaded.block, handleID) });
  }
  return held;
}

/** Ranges of a handle's blocks, sorted by family and address. */
export function rangesOf(counts: Readonly<Record<string, number>>): Cidr[] {
  const ranges = Object.keys(counts).flatMap((text) => parseCidr(text) ?? []);
  return ranges.sort(byRange);
}

/** What is read; undefined where there is nothing, or nothing that can be read, which is said. */
export async function readable<T>({ warn }: Context, read: Promise<T>): Promise<T | undefined> {
  try {
    return await found(read);
  } catch (error) {
    if (!isIpamError(error, "MalformedBlock") && !isDatastoreError(error, "Invalid")) throw error;
    warn((error as Error).message);
    return undefined;
  }
}

/** @throws IpamError NotFound where there is no such handle */
export async function ipsByHandle(context: Context, handle: string, options: CallOptions): Promise<string[]> {
  const handleID = cutHandle(handle);
  const stored = await findHandle(context, handleID, options);
  if (!stored) throw noSuchHandle(handleID);
  const cooldown = await cooldownFor(context, options);
  const held = await blocksOfHandle(context, { handleID, counts: stored.spec.block }, cooldown, options);
  return held.flatMap(({ block, ordinals }) =>
    ordinals.map((ordinal) => formatAddress(addressAt(rangeOf(block), ordinal))),
  );
}

/** What is known of one address. */
export interface AssignmentAttributes {
  /** The handle it is assigned to. */
  readonly handleID?: string | undefined;
  /** Attributes of the active owner. */
  readonly activeOwnerAttrs: AttributeMap;
  /** Attributes of the alternate owner. */
  readonly alternateOwnerAttrs: AttributeMap;
}

/** @throws IpamError NotFound (no enabled pool, no block, not assigned), InCooldown, InvalidArgument */
export async function getAssignmentAttributes(
  context: Context,
  ip: string,
  options: CallOptions,
): Promise<AssignmentAttributes> {
  const around = blockAround(poolsOf(await listPools(context, options)).filter(isEnabled), ip);
  if (!around) throw notAssigned(ip, "No valid IPPool");
  const cooldown = await cooldownFor(context, options);
  const loaded = await loadBlockHolding(context, around, cooldown, options);
  if (!loaded) throw noSuchBlock(around.block);
  const attribute = attributeAt(loaded.block, ordinalOf(loaded.block, around.address)!);
  if (!attribute) throw notAssigned(ip, "IP is unassigned");
  if (isCooling(attribute)) {
    const details = [`${ip} ${coolsDown(attribute, cooldown)}`];
    throw new IpamError("InCooldown", `address ${ip} is in cooldown`, { details });
  }
  const { secondary = {}, alternateOwnerAttrs = {} } = attribute;
  return { handleID: handleOf(attribute), activeOwnerAttrs: secondary, alternateOwnerAttrs };
}

export function noSuchBlock(cidr: Cidr): IpamError {
  const details = [`no address of block ${formatCidr(cidr)} is assigned`];
  return new IpamError("NotFound", `resource does not exist: IPAMBlock(${blockName(formatCidr(cidr))})`, { details });
}

export function notAssigned(ip: string, because: string): IpamError {
  return new IpamError("NotFound", `resource does not exist: ${ip} with error: ${because}`);
}
