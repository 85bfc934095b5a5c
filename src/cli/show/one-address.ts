/** What is to be said of one address. Pure. */
import type { AttributeMap, IPAMBlock } from "../../api/v3.ts";
import { problemOf } from "../../ipam/block-problem.ts";
import { disabledBecause, poolFor } from "../../ipam/pools.ts";
import { reservedAddresses } from "../../ipam/reserved.ts";
import { type Allocation, allocationAt } from "../../judgement/allocations.ts";
import { usageOf } from "../../judgement/in-use.ts";
import type { Inventory } from "../../judgement/inventory.ts";
import { userText } from "../../judgement/users.ts";
import { type Address, formatAddress } from "../../net/address.ts";
import { has } from "../../net/address-set.ts";
import { byNumbers } from "../../net/order.ts";
import type { Output } from "../output.ts";
import { fieldsText } from "../table.ts";
import { type AddressRow, addressRow } from "./addresses.ts";

/** Another block that covers the address: blocks overlap, which they never should. */
export interface OtherBlock extends Partial<Omit<AddressRow, "state" | "address">> {
  readonly block: string;
  readonly affinity?: string;
  readonly activeOwner?: AttributeMap;
  readonly alternateOwner?: AttributeMap;
  readonly problem?: string;
}

/** An absent field says that there is nothing of it. */
export interface AddressReport extends Partial<Omit<AddressRow, "state" | "address">> {
  readonly address: string;
  /**
   * `allocated`; `cooling` until freeAt; `reserve` of a Windows host; `reserved` by an IPReservation; `free`; `outside`
   * every pool; `unknown`: the block contradicts itself.
   */
  readonly state: AddressRow["state"] | "reserved" | "free" | "outside" | "unknown";
  /** IPReservations that cover it. An address in use can be reserved too. */
  readonly reservedBy: readonly string[];
  /** Why nothing is handed out from its pool. */
  readonly poolClosed?: string;
  /** Owner of the block: `host:<node>` or `virtual:<name>`. */
  readonly affinity?: string;
  readonly activeOwner?: AttributeMap;
  readonly alternateOwner?: AttributeMap;
  /** Blocks besides `block` that cover the address. */
  readonly alsoIn?: readonly OtherBlock[];
  /** Who of the cluster has the address now, whatever is allocated: `Pod default/web-0`. */
  readonly usedBy: readonly string[];
  /** How the block contradicts itself. */
  readonly problem?: string;
}

export function addressReport(inventory: Inventory, at: Address, now: Date): AddressReport {
  const address = formatAddress(at);
  const blocks = inventory.index.with(at);
  const holding = blocks.filter((each) => allocationAt(each, at));
  const [block] = holding.length > 0 ? holding : blocks;
  const pool = poolFor(inventory.pools, at);
  const closed = pool && disabledBecause(pool);
  const allocation = block && allocationAt(block, at);
  const others = blocks.filter((each) => each !== block);
  const { snapshot } = inventory;
  const covers = snapshot.reservations.filter((reservation) => has(reservedAddresses([reservation]), at));
  const usages = usageOf(snapshot);
  const found: Omit<AddressReport, "state"> = {
    address,
    ...(pool && { pool: pool.name }),
    ...(closed && { poolClosed: closed }),
    ...(block && blockFields(block)),
    ...(allocation && allocationFields(inventory, allocation, pool?.name)),
    reservedBy: covers.map(({ metadata }) => metadata.name),
    ...(others.length > 0 && { alsoIn: others.map((other) => otherBlock(inventory, other, at)) }),
    usedBy: usages.usersOf(address).map(userText),
  };
  return { ...found, state: stateOf(found, allocation && addressRow(inventory, allocation, undefined), now) };
}

/** A further block that covers the address, with what it holds there. */
function otherBlock(inventory: Inventory, block: IPAMBlock, at: Address): OtherBlock {
  const allocation = allocationAt(block, at);
  return { ...blockFields(block), ...(allocation && allocationFields(inventory, allocation, undefined)) };
}

function blockFields(block: IPAMBlock) {
  const { cidr, affinity } = block.spec;
  const problem = problemOf(block);
  return { block: cidr, ...(affinity && { affinity }), ...(problem && { problem }) };
}

function allocationFields(inventory: Inventory, allocation: Allocation, pool: string | undefined) {
  const { state: _state, ...row } = addressRow(inventory, allocation, pool);
  const { owner, alternate } = allocation;
  return {
    ...row,
    ...(hasAny(owner) && { activeOwner: owner }),
    ...(hasAny(alternate) && { alternateOwner: alternate }),
  };
}

const hasAny = (attributes: AttributeMap) => Object.keys(attributes).length > 0;

function stateOf(
  { problem, pool, reservedBy }: Omit<AddressReport, "state">,
  row: AddressRow | undefined,
  now: Date,
): AddressReport["state"] {
  if (row && !hasCooledDown(row, now)) return row.state;
  if (problem !== undefined) return "unknown";
  if (pool === undefined) return "outside";
  return reservedBy.length > 0 ? "reserved" : "free";
}

/** The next write of the block frees it, and whoever asks for an address makes that write. */
function hasCooledDown({ freeAt }: AddressRow, now: Date): boolean {
  return freeAt !== undefined && Date.parse(freeAt) <= now.getTime();
}

const SENTENCES: Readonly<Record<AddressReport["state"], string>> = {
  allocated: "is in use",
  cooling: "was released and is cooling down",
  reserve: "is reserved by a Windows node for itself",
  reserved: "is not assigned: it is reserved",
  free: "is not assigned",
  outside: "is not assigned: no pool contains it",
  unknown: "is in a malformed block",
};

export function addressOutput(report: AddressReport): Output {
  const { address, state } = report;
  const fields = fieldsOf(report).filter(([, value]) => value !== "");
  return {
    kind: "Address",
    value: { ...report },
    names: [address],
    text: (style) => `IP ${address} ${SENTENCES[state]}\n${fieldsText(fields, style)}`,
  };
}

function fieldsOf(report: AddressReport): (readonly [string, string])[] {
  const { pool = "", poolClosed, block = "", affinity, sequenceNumber, activeOwner, alternateOwner } = report;
  return [
    ["Pool", poolClosed ? `${pool}, which ${poolClosed}` : pool],
    ["Block", block && `${block} (${affinity ?? "no affinity"})`],
    ["Problem", report.problem ?? ""],
    ["Handle", report.handle ?? ""],
    ["Sequence number", sequenceNumber === undefined ? "" : String(sequenceNumber)],
    ["Owner", activeOwner ? attributesText(activeOwner) : ""],
    ["Alternate owner", alternateOwner ? attributesText(alternateOwner) : ""],
    ["Node", report.node ?? ""],
    ["Borrowed from", report.borrowedFrom ?? ""],
    ["Released at", report.releasedAt ?? ""],
    ["Free at", report.freeAt ?? ""],
    ["Reserved by", report.reservedBy.join(", ")],
    ["Used by", report.usedBy.join(", ")],
    ...(report.alsoIn ?? []).map((other) => ["Also in", otherText(other)] as const),
  ];
}

function otherText({ block, affinity = "no affinity", handle, activeOwner }: OtherBlock): string {
  const owner = activeOwner ? `: ${attributesText(activeOwner)}` : "";
  return `${block} (${affinity}), ${handle === undefined && !activeOwner ? "free there" : `handle ${handle ?? "none"}${owner}`}`;
}

/** In the order of the keys. */
function attributesText(attributes: AttributeMap): string {
  const sorted = Object.entries(attributes).sort(([a], [b]) => byNumbers(a, b));
  return sorted.map(([key, value]) => `${key}=${value}`).join(" ");
}
