/** The address that the next pod on a node gets, as the library chooses it, and whether somebody uses it already. Pure. */
import type { BlockAffinity, IPAMBlock } from "../../api/v3.ts";
import { isConfirmed, rowRange } from "../../ipam/affinity.ts";
import { addressAt, collect, freeOrdinals, isEmpty, rangeOf } from "../../ipam/block.ts";
import { hashedOrder, placeInOrder } from "../../ipam/block-order.ts";
import { type Pool, poolAround } from "../../ipam/pools.ts";
import { withheld } from "../../ipam/reserved.ts";
import { isOldEnough } from "../../ipam/unfinished.ts";
import { formatAddress } from "../../net/address.ts";
import { type AddressSet, addressSet, has, touches } from "../../net/address-set.ts";
import { type Cidr, isSameRange, parseCidr, size } from "../../net/cidr.ts";
import { usageOf } from "../in-use.ts";
import type { Inventory } from "../inventory.ts";
import { deleteUser } from "../mend.ts";
import { rowOwnerText } from "../owners.ts";
import { userText } from "../users.ts";
import type { Found } from "./found.ts";
import { firstUnclaimed, isForTheTaking, type Room, takenRanges } from "./room.ts";

interface Next {
  readonly host: string;
  readonly room: Room;
  readonly now: Date;
  /** Whether the node may claim a block. */
  readonly mayClaim: boolean;
}

/** Asked where there is room. */
export function nextInUse(inventory: Inventory, next: Next): Found[] {
  const address = nextAddress(inventory, next);
  const found = address === undefined ? [] : inUse(inventory, address);
  return found.length > 0 ? found : coveredAndInUse(inventory, next.room, address);
}

function inUse(inventory: Inventory, address: string): Found[] {
  const usages = usageOf(inventory.snapshot);
  const usage = usages.at(address);
  if (usage.inUse === "no" || usage.unread) return [];
  const [user] = usages.usersOf(address);
  const message = `the next address is ${address}, which no block holds, and ${usage.because}`;
  return [{ code: "InUseNotAllocated", message, command: deleteUser({ address, user: user && userText(user) }) }];
}

/** Calico compares blocks of one size only, and gives addresses that another block covers. */
function coveredAndInUse(inventory: Inventory, { own }: Room, library: string | undefined): Found[] {
  const [block] = inOrder(own.blocks).filter((each) => freeOrdinals(each, inventory.reserved).length > 0);
  if (block === undefined) return [];
  const address = formatAddress(addressAt(rangeOf(block), freeOrdinals(block, inventory.reserved)[0]!));
  const usages = usageOf(inventory.snapshot);
  const [other] = usages.allocationsAt(address);
  if (address === library || (other === undefined && usages.at(address).inUse !== "yes")) return [];
  const holder = other
    ? `, and block ${other.block.spec.cidr} holds ${address}`
    : `, and ${usages.at(address).because}`;
  const message = `block ${block.spec.cidr} overlaps others${holder}: Calico gives it to the next pod as well`;
  return [{ code: "OverlappingBlocks", message, command: "ipamctl repair OverlappingBlocks" }];
}

/** Of the node's own blocks first, then of a range to claim, of an empty block of another, of a block to borrow from. */
function nextAddress(inventory: Inventory, { host, room, now, mayClaim }: Next): string | undefined {
  const [own] = inOrder(room.own.blocks).flatMap((block) => firstOf(inventory, block, now));
  if (own !== undefined) return own;
  const taken = takenRanges(inventory);
  for (const range of room.remade) if (!touches(taken, range)) return firstFree(range, inventory.reserved);
  const others = inHostsOrder(room.others.blocks, room.usable, host);
  if (mayClaim) {
    const range = firstUnclaimed(inventory, room.usable, host, taken);
    if (range) return firstFree(range, inventory.reserved);
    const empty = others.find((block) => isForTheTaking(block, inventory, now));
    if (empty) return firstFree(rangeOf(empty), inventory.reserved);
  }
  return others.flatMap((block) => firstOf(inventory, block, now))[0];
}

/** By name, as affinities are listed. */
function inOrder(blocks: readonly IPAMBlock[]): IPAMBlock[] {
  return blocks.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function firstOf(inventory: Inventory, block: IPAMBlock, now: Date): string[] {
  const staying = inventory.index.overlapping(block).filter((other) => !isReleased(inventory, other, now));
  const [ordinal] = freeOrdinals(block, withheld(inventory.reserved, addressSet(staying.map(rangeOf))));
  return ordinal === undefined ? [] : [formatAddress(addressAt(rangeOf(block), ordinal))];
}

/** The library releases a block that overlaps the one it allocates from, if it is empty, old, and its claim is not confirmed. */
function isReleased({ affinities, config }: Inventory, block: IPAMBlock, now: Date): boolean {
  if (!isEmpty(collect(block, config.ipCooldownSeconds, now)) || !isOldEnough(block, now)) return false;
  const { affinity } = block.spec;
  const isClaim = (row: BlockAffinity) => rowOwnerText(row) === affinity && isSameRange(rowRange(row), rangeOf(block));
  return !affinities.some((row) => isConfirmed(row) && isClaim(row));
}

function inHostsOrder(blocks: readonly IPAMBlock[], pools: readonly Pool[], host: string): IPAMBlock[] {
  return pools.flatMap((pool) => {
    const place = placeInOrder(pool, host, hashedOrder);
    const inside = blocks.filter(({ spec }) => poolAround(pools, parseCidr(spec.cidr)!) === pool);
    return inside.toSorted((a, b) => Number(place(rangeOf(a)) - place(rangeOf(b))));
  });
}

/** Of a block that is created: its first address that no reservation covers. */
function firstFree(range: Cidr, reserved: AddressSet): string | undefined {
  for (let ordinal = 0; ordinal < Number(size(range)); ordinal++) {
    const address = addressAt(range, ordinal);
    if (!has(reserved, address)) return formatAddress(address);
  }
  return undefined;
}
