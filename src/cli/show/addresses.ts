/** Addresses that are taken or cool down, and by whom: by node, namespace, pod, handle or pool. Pure. */
import { cutHandle } from "../../api/names.ts";
import { rangeOf } from "../../ipam/block.ts";
import { isCalled, poolAround } from "../../ipam/pools.ts";
import { type Allocation, allocationsOf, isWindowsReserved } from "../../judgement/allocations.ts";
import { freeAt, type Inventory, soundBlocks } from "../../judgement/inventory.ts";
import { borrowedFrom, ownerName } from "../../judgement/owners.ts";
import { parseAddress, width } from "../../net/address.ts";
import { type Cidr, cidrOf, contains, overlaps, parseCidr } from "../../net/cidr.ts";
import { listing, type Output } from "../output.ts";
import type { Column } from "../table.ts";

/** All that are given must hold. */
export interface AddressFilter {
  readonly node?: string | undefined;
  readonly namespace?: string | undefined;
  /** `name` or `namespace/name`. */
  readonly pod?: string | undefined;
  readonly handle?: string | undefined;
  /** `name` or `namespace/name`. */
  readonly service?: string | undefined;
  /** CIDR that contains the addresses. */
  readonly within?: string | undefined;
  /** Name or CIDR of a pool. */
  readonly pool?: string | undefined;
  /** Only those that cool down. */
  readonly cooldown?: boolean | undefined;
  /** Only those that another node uses than the one that owns the block. */
  readonly borrowed?: boolean | undefined;
}

/** One address; texts are as stored, and an absent field says that nothing is. */
export interface AddressRow {
  readonly address: string;
  /** `reserve`: a Windows host keeps it for itself. */
  readonly state: "allocated" | "cooling" | "reserve";
  readonly handle?: string;
  /** `pod`, `vmi`, `service`, or what its creator wrote. */
  readonly type?: string;
  /** `namespace/name`; a tunnel's node. */
  readonly owner?: string;
  /** Node that uses it. */
  readonly node?: string;
  readonly pool?: string;
  readonly block: string;
  /** Owner of the block, where another node uses the address; "" where nobody owns it. */
  readonly borrowedFrom?: string;
  readonly sequenceNumber: bigint;
  /** As its creator wrote it. */
  readonly allocatedAt?: string;
  readonly releasedAt?: string;
  /** From when on it can be handed out again. */
  readonly freeAt?: string;
}

/** In the order of the blocks, and in a block of the addresses. */
export function addressRows(inventory: Inventory, filter: AddressFilter): AddressRow[] {
  const range = filter.within === undefined ? undefined : parseCidr(filter.within);
  return soundBlocks(inventory).flatMap((block) => {
    if (range && !overlaps(range, rangeOf(block))) return [];
    const pool = poolAround(inventory.pools, rangeOf(block));
    if (filter.pool !== undefined && !(pool && isCalled(pool, filter.pool))) return [];
    const wanted = Array.from(allocationsOf(block)).filter((allocation) => isWanted(allocation, filter, range));
    return wanted.map((allocation) => addressRow(inventory, allocation, pool?.name));
  });
}

function isWanted(allocation: Allocation, filter: AddressFilter, range: Cidr | undefined): boolean {
  const { owner, block, node, handle, releasedAt } = allocation;
  const tests = [
    range === undefined || contains(range, single(allocation.address)),
    filter.node === undefined || node === filter.node,
    filter.namespace === undefined || owner["namespace"] === filter.namespace,
    filter.pod === undefined || isOf(allocation, "pod", filter.pod),
    filter.service === undefined || isOf(allocation, "service", filter.service),
    filter.handle === undefined || handle === cutHandle(filter.handle),
    !filter.cooldown || releasedAt !== undefined,
    !filter.borrowed || borrowedFrom(owner, block) !== undefined,
  ];
  return tests.every(Boolean);
}

const single = (text: string): Cidr => {
  const address = parseAddress(text)!;
  return cidrOf(address, width(address.version));
};

/** @param text `name` or `namespace/name` of the owner */
function isOf({ owner }: Allocation, attribute: "pod" | "service", text: string): boolean {
  const [name, namespace] = text.split("/").reverse();
  return owner[attribute] === name && (namespace === undefined || owner["namespace"] === namespace);
}

export function addressRow(inventory: Inventory, allocation: Allocation, pool: string | undefined): AddressRow {
  const { address, block, handle, owner, node, releasedAt, sequenceNumber } = allocation;
  const from = borrowedFrom(owner, block);
  return {
    address,
    state: releasedAt !== undefined ? "cooling" : isWindowsReserved(allocation) ? "reserve" : "allocated",
    ...(handle !== undefined && { handle }),
    ...ownerName(owner),
    ...(node !== undefined && { node }),
    ...(pool !== undefined && { pool }),
    block: block.spec.cidr,
    ...(from !== undefined && { borrowedFrom: from }),
    sequenceNumber,
    ...(owner["timestamp"] !== undefined && { allocatedAt: owner["timestamp"] }),
    ...(releasedAt !== undefined && { releasedAt, freeAt: freeAt(inventory, releasedAt) }),
  };
}

const ADDRESS: Column<AddressRow> = { header: "ADDRESS", value: ({ address }) => address };
const TYPE: Column<AddressRow> = { header: "TYPE", importance: 2, value: ({ type = "" }) => type };
const BLOCK: Column<AddressRow> = { header: "BLOCK", importance: 3, value: ({ block }) => block };

const COLUMNS: readonly Column<AddressRow>[] = [
  ADDRESS,
  { header: "STATE", value: ({ state }) => state },
  TYPE,
  { header: "OWNER", name: true, value: ({ owner = "" }) => owner },
  { header: "NODE", name: true, value: ({ node = "" }) => node },
  { header: "FREE AT", importance: 4, value: ({ freeAt: time = "" }) => time },
  { header: "HANDLE", name: true, importance: 1, value: ({ handle = "" }) => handle },
  { ...BLOCK, wide: true },
  { header: "POOL", wide: true, value: ({ pool = "" }) => pool },
  { header: "ALLOCATED AT", wide: true, value: ({ allocatedAt = "" }) => allocatedAt },
  { header: "SEQUENCE NUMBER", wide: true, right: true, value: ({ sequenceNumber }) => String(sequenceNumber) },
];

export function addressesOutput(rows: readonly AddressRow[]): Output {
  const columns = rows.some((row) => row.freeAt) ? COLUMNS : COLUMNS.filter(({ header }) => header !== "FREE AT");
  return listing("AddressList", rows, columns, ({ address }) => address);
}

/** Calicoctl's columns. */
const BORROWED: readonly Column<AddressRow>[] = [
  { header: "IP", value: ({ address }) => address },
  { header: "BORROWING-NODE", name: true, value: ({ node = "" }) => node },
  BLOCK,
  { header: "BLOCK OWNER", name: true, value: ({ borrowedFrom: owner = "" }) => owner },
  TYPE,
  { header: "ALLOCATED-TO", name: true, value: ({ owner = "" }) => owner },
];

export function borrowedOutput(rows: readonly AddressRow[]): Output {
  return listing("AddressList", rows, BORROWED, ({ address }) => address);
}

/** Addresses that do not say which node uses them. One that cools down is used by none, and so is a Service's. */
export function withoutNode(inventory: Inventory): number {
  return soundBlocks(inventory).flatMap((block) => Array.from(allocationsOf(block)).filter(hidesItsNode)).length;
}

function hidesItsNode(allocation: Allocation): boolean {
  const { owner, releasedAt } = allocation;
  const isOnNode = releasedAt === undefined && owner["service"] === undefined && !isWindowsReserved(allocation);
  return isOnNode && owner["node"] === undefined;
}
