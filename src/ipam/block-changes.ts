/** What the library does to one block: allocate, assign, release, change owners. Pure, like `block.ts`. */
import { isDeepStrictEqual } from "node:util";
import type { AllocationAttribute, AttributeMap, IPAMBlock } from "../api/v3.ts";
import { formatAddress } from "../net/address.ts";
import type { AddressSet } from "../net/address-set.ts";
import {
  addressAt,
  attributeAt,
  freeFrom,
  freeOrdinals,
  handleOf,
  isCooling,
  ordinalsPointingAt,
  rangeOf,
  sequenceAt,
  sequenceOf,
  timestamp,
  withoutUnused,
  withSpec,
} from "./block.ts";
import { type Holder, IpamError } from "./errors.ts";

/** Whose an address becomes. */
export interface Owned {
  readonly handleID?: string | undefined;
  /** Attributes of the active owner. */
  readonly attrs?: AttributeMap | undefined;
}

export interface Allocated {
  readonly block: IPAMBlock;
  readonly ordinals: readonly number[];
}

/** Takes up to `count` free addresses from the head of the queue; reserved ones keep their place in it. */
export function allocate(block: IPAMBlock, count: number, owned: Owned, reserved: AddressSet): Allocated {
  const ordinals = freeOrdinals(block, reserved).slice(0, count);
  return { block: taking(block, ordinals, owned), ordinals };
}

/** Takes one particular address. @throws IpamError AlreadyExists, naming the holder, or until when it cools down */
export function assign(block: IPAMBlock, ordinal: number, owned: Owned, cooldownSeconds = 0): IPAMBlock {
  const held = attributeAt(block, ordinal);
  if (held === undefined) return taking(block, [ordinal], owned);
  const address = formatAddress(addressAt(rangeOf(block), ordinal));
  const message = `resource already exists: ${address} with error: Address already assigned in block`;
  const holder = holderOf(held);
  throw new IpamError("AlreadyExists", message, { holder, details: [holderWords(address, held, cooldownSeconds)] });
}

function holderOf(attribute: AllocationAttribute): Holder {
  const { secondary = {}, alternateOwnerAttrs = {} } = attribute;
  const handleID = handleOf(attribute);
  return { handleID, node: secondary["node"], activeOwnerAttrs: secondary, alternateOwnerAttrs };
}

function holderWords(address: string, held: AllocationAttribute, cooldownSeconds: number): string {
  if (isCooling(held)) return `${address} ${coolsDown(held, cooldownSeconds)}`;
  const { handleID, node, activeOwnerAttrs: attrs } = holderOf(held);
  const owner = [attrs["namespace"], attrs["pod"] ?? attrs["service"]].filter((part) => part !== undefined).join("/");
  const parts = [handleID ? `handle ${handleID}` : "no handle", owner && `(${owner})`, node && `on node ${node}`];
  return `${address} belongs to ${parts.filter(Boolean).join(" ")}`;
}

/** Since when, and until when. */
export function coolsDown({ releasedAt = "" }: AllocationAttribute, cooldownSeconds: number): string {
  const until = timestamp(new Date(freeFrom(releasedAt, cooldownSeconds)));
  return `was released at ${releasedAt} and cools down until ${until}`;
}

function taking(block: IPAMBlock, ordinals: readonly number[], owned: Owned): IPAMBlock {
  if (ordinals.length === 0) return block;
  const { spec } = block;
  const { attributes, index } = withEntry(spec.attributes, entryOf(owned));
  const numbers = ordinals.map((ordinal) => [ordinal, sequenceOf(block)]);
  const taken = new Set(ordinals);
  return withSpec(block, {
    attributes,
    allocations: pointing(spec.allocations, ordinals, index),
    unallocated: spec.unallocated.filter((ordinal) => !taken.has(ordinal)),
    sequenceNumberForAllocation: { ...spec.sequenceNumberForAllocation, ...Object.fromEntries(numbers) },
  });
}

/** Empty maps are left out: stored, they and absent ones are the same. */
function entryOf({ handleID, attrs = {} }: Owned): AllocationAttribute {
  return {
    ...(handleID !== undefined && { handle_id: handleID }),
    ...(Object.keys(attrs).length > 0 && { secondary: { ...attrs } }),
  };
}

/** The entry's index, shared where the same one is there already. */
function withEntry(attributes: readonly AllocationAttribute[], entry: AllocationAttribute) {
  const same = attributes.findIndex((other) => isDeepStrictEqual(withoutEmpty(other), entry));
  if (same >= 0) return { attributes: [...attributes], index: same };
  return { attributes: [...attributes, entry], index: attributes.length };
}

function withoutEmpty(attribute: AllocationAttribute): AllocationAttribute {
  const isEmptyMap = (value: unknown) => typeof value === "object" && Object.keys(value ?? {}).length === 0;
  return Object.fromEntries(Object.entries(attribute).filter(([, value]) => !isEmptyMap(value)));
}

function pointing(allocations: readonly (number | null)[], ordinals: readonly number[], to: number) {
  const next = [...allocations];
  for (const ordinal of ordinals) next[ordinal] = to;
  return next;
}

/** One address to release, with what the caller knows of it. */
export interface ReleaseRequest {
  readonly ordinal: number;
  readonly handleID?: string | undefined;
  readonly sequenceNumber?: bigint | undefined;
}

export interface Released {
  readonly block: IPAMBlock;
  readonly ordinals: readonly number[];
  /** Ordinals that were free or cooling down already: no error. */
  readonly idle: readonly number[];
  /** Number of addresses released per handle. */
  readonly handles: ReadonlyMap<string, number>;
}

/**
 * Marks addresses as released; `collect` frees them once they have cooled down. All or nothing.
 * @throws IpamError BadSequenceNumber, BadHandle
 */
export function release(block: IPAMBlock, requests: readonly ReleaseRequest[], now: Date): Released {
  const isLive = ({ ordinal }: ReleaseRequest) => {
    const attribute = attributeAt(block, ordinal);
    return attribute !== undefined && !isCooling(attribute);
  };
  const live = requests.filter(isLive);
  for (const request of live) checkRequest(block, request);
  const ordinals = live.map(({ ordinal }) => ordinal);
  const idle = requests.filter((request) => !isLive(request)).map(({ ordinal }) => ordinal);
  const numbers = Object.fromEntries(ordinals.map((ordinal) => [ordinal, sequenceOf(block)]));
  const sequenceNumberForAllocation = { ...block.spec.sequenceNumberForAllocation, ...numbers };
  const marked =
    ordinals.length === 0 ? block : withSpec(markReleased(block, ordinals, now), { sequenceNumberForAllocation });
  return { block: marked, ordinals, idle, handles: countHandles(block, ordinals) };
}

function checkRequest(block: IPAMBlock, { ordinal, handleID, sequenceNumber }: ReleaseRequest): void {
  const address = formatAddress(addressAt(rangeOf(block), ordinal));
  const stored = sequenceAt(block, ordinal);
  if (sequenceNumber !== undefined && sequenceNumber !== stored) {
    const message = `the given sequence number (${sequenceNumber}) does not match (${stored}) when attempting to release IP`;
    const details = [`${address} was allocated anew since that number was read: read it again`];
    throw new IpamError("BadSequenceNumber", message, { details, requested: sequenceNumber, expected: stored });
  }
  const handle = handleOf(attributeAt(block, ordinal) ?? {}) ?? "";
  if (handleID === undefined || handleID === handle) return;
  const message = `the given handle (${handleID}) does not match (${handle}) when attempting to release IP`;
  const details = [`${address} belongs to ${handle ? "another" : "no"} handle: read it again`];
  throw new IpamError("BadHandle", message, { details, requested: handleID, expected: handle });
}

function countHandles(block: IPAMBlock, ordinals: readonly number[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const ordinal of ordinals) {
    const handle = handleOf(attributeAt(block, ordinal) ?? {});
    if (handle !== undefined) counts.set(handle, (counts.get(handle) ?? 0) + 1);
  }
  return counts;
}

/** Points the ordinals at one new entry that says nothing but when they were released. */
function markReleased(block: IPAMBlock, ordinals: readonly number[], now: Date): IPAMBlock {
  const { attributes, allocations } = block.spec;
  return withoutUnused(
    withSpec(block, {
      attributes: [...attributes, { releasedAt: timestamp(now) }],
      allocations: pointing(allocations, ordinals, attributes.length),
    }),
  );
}

/** Ordinals that a handle holds. */
export function ordinalsOfHandle({ spec }: IPAMBlock, handleID: string): number[] {
  const indexes = spec.attributes.flatMap((attribute, index) => (handleOf(attribute) === handleID ? [index] : []));
  return ordinalsPointingAt(spec, new Set(indexes));
}

/** Marks a handle's addresses as released: those that `isSame` says are still the ones that were meant. */
export function releaseHandle(
  block: IPAMBlock,
  handleID: string,
  now: Date,
  isSame: (ordinal: number) => boolean = () => true,
): Pick<Released, "block" | "ordinals"> {
  const ordinals = ordinalsOfHandle(block, handleID).filter(isSame);
  return { block: ordinals.length === 0 ? block : markReleased(block, ordinals, now), ordinals };
}

/**
 * Gives one address another entry. A shared entry is not touched: the address gets one of its own, so that nobody
 * else's owner changes.
 */
export function withAttributes(block: IPAMBlock, ordinal: number, attribute: AllocationAttribute): IPAMBlock {
  const { spec } = block;
  const index = spec.allocations[ordinal]!;
  const isShared = spec.allocations.some((other, at) => other === index && at !== ordinal);
  if (!isShared) return withSpec(block, { attributes: spec.attributes.with(index, attribute) });
  const { attributes, index: own } = withEntry(spec.attributes, attribute);
  return withSpec(block, { attributes, allocations: spec.allocations.with(ordinal, own) });
}
