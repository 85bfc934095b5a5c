/**
 * One block as a value: what it holds and what time does to it. Pure: a block in, a new block out, and the old one stays
 * as it was, so that a write which fails leaves nothing half-made behind.
 */
import { blockName, cutHandle, WINDOWS_RESERVED_HANDLE } from "../api/names.ts";
import { type AllocationAttribute, type IPAMBlock, type IPAMBlockSpec, V3_API_VERSION } from "../api/v3.ts";
import { type Address, formatAddress, parseAddress } from "../net/address.ts";
import { type AddressSet, has } from "../net/address-set.ts";
import { type Cidr, contains, formatCidr, parseCidr, size } from "../net/cidr.ts";
import { IpamError } from "./errors.ts";

/** Addresses that a Windows host keeps for itself at both ends of its blocks. */
export interface HostReservedAttr {
  /** Number of addresses at the start. */
  readonly startOfBlock: number;
  /** Number of addresses at the end. */
  readonly endOfBlock: number;
  /** Handle of the reserved addresses; it has no handle object. */
  readonly handle: string;
  /** What is written beside them, for people. */
  readonly note: string;
}

/** What happens to `spec`, with everything else of the object kept. */
export function withSpec(block: IPAMBlock, changes: Partial<IPAMBlockSpec>): IPAMBlock {
  return { ...block, spec: { ...block.spec, ...changes } };
}

export interface NewBlock {
  readonly cidr: Cidr;
  readonly affinity: string;
  readonly claimTime: Date;
  /** Nanoseconds since 1970: a block that is made again starts above what it was. */
  readonly sequenceNumber: bigint;
  readonly reserved?: HostReservedAttr | undefined;
}

/** A block that was just claimed: everything is free but what the host reserves. */
export function newBlock({ cidr, affinity, claimTime, sequenceNumber, reserved }: NewBlock): IPAMBlock {
  const count = Number(size(cidr));
  const { startOfBlock = 0, endOfBlock = 0 } = reserved ?? {};
  const ordinals = Array.from({ length: count }, (_, ordinal) => ordinal);
  const isFree = (ordinal: number) => ordinal >= startOfBlock && ordinal < count - endOfBlock;
  const spec: IPAMBlockSpec = {
    cidr: formatCidr(cidr),
    affinity,
    affinityClaimTime: timestamp(claimTime),
    allocations: ordinals.map((ordinal) => (isFree(ordinal) ? null : 0)),
    unallocated: ordinals.filter(isFree),
    attributes: reserved ? [{ handle_id: reserved.handle, secondary: { note: reserved.note } }] : [],
    sequenceNumber,
    sequenceNumberForAllocation: {},
    deleted: false,
    strictAffinity: false,
  };
  return { apiVersion: V3_API_VERSION, kind: "IPAMBlock", metadata: { name: blockName(spec.cidr) }, spec };
}

/** Second resolution, as stored everywhere. */
export function timestamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** Ranges of blocks that were asked for: every claim looks at those of all blocks, and a cache lists the same ones each time. */
const ranges = new WeakMap<IPAMBlockSpec, Cidr>();

/** The block's range. @throws IpamError MalformedBlock */
export function rangeOf({ metadata, spec }: IPAMBlock): Cidr {
  const cidr = ranges.get(spec) ?? parseCidr(spec.cidr);
  if (cidr) {
    ranges.set(spec, cidr);
    return cidr;
  }
  throw new IpamError("MalformedBlock", `IPAMBlock "${metadata.name}": spec.cidr "${spec.cidr}" is not a CIDR`);
}

/** The ordinal of an address; undefined where the block does not contain it. */
export function ordinalOf(block: IPAMBlock, address: Address): number | undefined {
  const cidr = rangeOf(block);
  const inside = contains(cidr, { version: address.version, base: address.value, prefix: size32(address) });
  return inside ? Number(address.value - cidr.base) : undefined;
}

const size32 = ({ version }: Address) => (version === 4 ? 32 : 128);

export function addressAt(cidr: Cidr, ordinal: number): Address {
  return { version: cidr.version, value: cidr.base + BigInt(ordinal) };
}

/** The address of an ordinal with the block's prefix length: the form in which autoAssign gives addresses. */
export function maskedAddress(block: IPAMBlock, ordinal: number): string {
  const cidr = rangeOf(block);
  return `${formatAddress(addressAt(cidr, ordinal))}/${cidr.prefix}`;
}

/** The entry an ordinal points at; undefined where it is free. */
export function attributeAt({ spec }: IPAMBlock, ordinal: number): AllocationAttribute | undefined {
  const index = spec.allocations[ordinal];
  return index === null || index === undefined ? undefined : spec.attributes[index];
}

/** Handle of an entry, as it can be looked up. */
export function handleOf(attribute: AllocationAttribute): string | undefined {
  return attribute.handle_id === undefined ? undefined : cutHandle(attribute.handle_id);
}

/** Released, and not yet to be handed out again. */
export function isCooling(attribute: AllocationAttribute): boolean {
  return attribute.releasedAt !== undefined;
}

/** When an address that was released then is free again, in milliseconds. */
export function freeFrom(releasedAt: string, cooldownSeconds: number): number {
  return Date.parse(releasedAt) + cooldownSeconds * 1000;
}

/** The block's number. A small one may have been parsed as a plain number: it is made exact here. */
export function sequenceOf({ spec }: IPAMBlock): bigint {
  return BigInt(spec.sequenceNumber ?? 0);
}

/** The number an ordinal was allocated at; blocks older than these numbers count as 0. */
export function sequenceAt({ spec }: IPAMBlock, ordinal: number): bigint {
  return BigInt(spec.sequenceNumberForAllocation?.[ordinal] ?? 0);
}

/** Whether the block could be deleted: only what a Windows host reserved is allocated. Cooling addresses count. */
export function isEmpty({ spec }: IPAMBlock): boolean {
  const isReserve = ({ handle_id }: AllocationAttribute) => handle_id?.toLowerCase() === WINDOWS_RESERVED_HANDLE;
  return spec.allocations.every((index) => index === null || isReserve(spec.attributes[index] ?? {}));
}

/** Ordinals that can be handed out automatically, in the queue's order. */
export function freeOrdinals(block: IPAMBlock, reserved: AddressSet): number[] {
  const cidr = rangeOf(block);
  if (reserved.length === 0) return block.spec.unallocated;
  return block.spec.unallocated.filter((ordinal) => !has(reserved, addressAt(cidr, ordinal)));
}

/**
 * Frees the addresses that have cooled down, appending them to the queue, and drops entries nobody points at. The one
 * place where an address becomes free; gives the very same block back where there is nothing to do. A cooldown of 0
 * (or less) frees at once: clocks can be coarser than the stamp they would have to outrun.
 */
export function collect(block: IPAMBlock, cooldownSeconds: number, now: Date): IPAMBlock {
  const { spec } = block;
  const isCold = ({ releasedAt }: AllocationAttribute) =>
    releasedAt !== undefined && (cooldownSeconds <= 0 || freeFrom(releasedAt, cooldownSeconds) <= now.getTime());
  const cold = new Set(spec.attributes.flatMap((attribute, index) => (isCold(attribute) ? [index] : [])));
  const freed = ordinalsPointingAt(spec, cold);
  if (freed.length === 0) return withoutUnused(block);
  const numbers = { ...spec.sequenceNumberForAllocation };
  for (const ordinal of freed) delete numbers[ordinal];
  const allocations = spec.allocations.map((index) => (index !== null && cold.has(index) ? null : index));
  const unallocated = [...spec.unallocated, ...freed];
  return withoutUnused(withSpec(block, { allocations, unallocated, sequenceNumberForAllocation: numbers }));
}

export function ordinalsPointingAt({ allocations }: IPAMBlockSpec, indexes: ReadonlySet<number>): number[] {
  if (indexes.size === 0) return [];
  return allocations.flatMap((index, ordinal) => (index !== null && indexes.has(index) ? [ordinal] : []));
}

/** Drops unused entries, keeps the order of the others and renumbers what points at them. */
export function withoutUnused(block: IPAMBlock): IPAMBlock {
  const { allocations, attributes } = block.spec;
  const used = new Set(allocations);
  if (attributes.every((_, index) => used.has(index))) return block;
  const kept = attributes.flatMap((_, index) => (used.has(index) ? [index] : []));
  const renumbered = new Map(kept.map((old, index) => [old, index]));
  return withSpec(block, {
    attributes: kept.map((index) => attributes[index]!),
    allocations: allocations.map((index) => (index === null ? null : renumbered.get(index)!)),
  });
}

/**
 * The block as it is to be written: its number grows by one. Live allocations without a number of their own (older
 * blocks) get the number this write starts from, so that their release can be told from a later one's.
 */
export function nextVersion(block: IPAMBlock): IPAMBlock {
  const { spec } = block;
  const { sequenceNumberForAllocation: numbers = {} } = spec;
  const sequenceNumber = sequenceOf(block);
  const bare = spec.allocations.flatMap((_, ordinal) =>
    needsNumber(block, ordinal) ? [[ordinal, sequenceNumber]] : [],
  );
  return withSpec(block, {
    sequenceNumber: sequenceNumber + 1n,
    ...(bare.length > 0 && { sequenceNumberForAllocation: { ...numbers, ...Object.fromEntries(bare) } }),
  });
}

function needsNumber(block: IPAMBlock, ordinal: number): boolean {
  const attribute = attributeAt(block, ordinal);
  if (attribute === undefined || isCooling(attribute) || isHostReserve(attribute)) return false;
  return block.spec.sequenceNumberForAllocation?.[ordinal] === undefined;
}

/** A host's reserve: a note, and nothing that says whose the address is. */
function isHostReserve({ handle_id, secondary = {} }: AllocationAttribute): boolean {
  return handle_id?.toLowerCase() === WINDOWS_RESERVED_HANDLE || Object.keys(secondary).join() === "note";
}

/** The block without an owner. */
export function withoutAffinity(block: IPAMBlock): IPAMBlock {
  const { affinity: _owner, affinityClaimTime: _since, ...spec } = block.spec;
  return { ...block, spec };
}

/** Reads an address given as text. @throws IpamError InvalidArgument */
export function addressFrom(text: string): Address {
  const address = parseAddress(text);
  if (address) return address;
  throw new IpamError("InvalidArgument", `"${text}" is not an IP address`);
}
