/** The addresses a block holds, one after the other. A generator: half a million of them need not exist at once. */
import { cutHandle, WINDOWS_RESERVED_HANDLE } from "../api/names.ts";
import type { AllocationAttribute, AttributeMap, IPAMBlock } from "../api/v3.ts";
import { addressAt, attributeAt, ordinalOf, rangeOf, sequenceAt } from "../ipam/block.ts";
import { type Address, formatAddress } from "../net/address.ts";
import type { Cidr } from "../net/cidr.ts";
import { affinityHost } from "./owners.ts";

/** An address that is taken, or that was and cools down. */
export interface Allocation {
  readonly address: string;
  readonly block: IPAMBlock;
  readonly ordinal: number;
  /** As it can be looked up. */
  readonly handle: string | undefined;
  /** Attributes of the active owner. */
  readonly owner: AttributeMap;
  readonly alternate: AttributeMap;
  /** Node that uses it: what the attribute says, else the host that owns the block. */
  readonly node: string | undefined;
  /** Set while it cools down. */
  readonly releasedAt: string | undefined;
  /** Number it was allocated at. */
  readonly sequenceNumber: bigint;
}

const NONE: AttributeMap = {};

/** Every ordinal that points at an entry, in the block's order; one that points nowhere is passed over. */
export function* allocationsOf(block: IPAMBlock): Generator<Allocation> {
  const textAt = addressTexts(rangeOf(block));
  const host = affinityHost(block);
  for (const ordinal of block.spec.allocations.keys()) {
    const attribute = attributeAt(block, ordinal);
    if (attribute !== undefined) yield allocation(block, ordinal, textAt(ordinal), host, attribute);
  }
}

/** What the block holds at an address of its range; undefined where that is free. */
export function allocationAt(block: IPAMBlock, address: Address): Allocation | undefined {
  const ordinal = ordinalOf(block, address);
  const attribute = ordinal === undefined ? undefined : attributeAt(block, ordinal);
  return attribute && allocation(block, ordinal!, formatAddress(address), affinityHost(block), attribute);
}

function allocation(
  block: IPAMBlock,
  ordinal: number,
  address: string,
  host: string | undefined,
  { handle_id, secondary = NONE, alternateOwnerAttrs = NONE, releasedAt }: AllocationAttribute,
): Allocation {
  return {
    address,
    block,
    ordinal,
    handle: handle_id === undefined ? undefined : cutHandle(handle_id),
    owner: secondary,
    alternate: alternateOwnerAttrs,
    node: secondary["node"] ?? host,
    releasedAt,
    sequenceNumber: sequenceAt(block, ordinal),
  };
}

/** Whether a Windows host keeps the address for itself. */
export function isWindowsReserved({ handle }: Pick<Allocation, "handle">): boolean {
  return handle?.toLowerCase() === WINDOWS_RESERVED_HANDLE;
}

/** Whether an entry is a Windows host's reserve. */
export function isWindowsEntry({ handle_id }: AllocationAttribute): boolean {
  return handle_id?.toLowerCase() === WINDOWS_RESERVED_HANDLE;
}

/** The texts of a range's addresses by ordinal; for IPv4, where they are many, without going through bigint. */
export function addressTexts(cidr: Cidr): (ordinal: number) => string {
  if (cidr.version === 6) return (ordinal) => formatAddress(addressAt(cidr, ordinal));
  const base = Number(cidr.base);
  return (ordinal) => {
    const value = base + ordinal;
    return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
  };
}
