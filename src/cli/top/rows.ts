/** The fullest pools and nodes, and when a pool runs out. Pure. */
import type { IPAMBlock } from "../../api/v3.ts";
import { allocationsOf } from "../../judgement/allocations.ts";
import { freeIn, type Inventory, soundBlocks } from "../../judgement/inventory.ts";
import { nodeOwner } from "../../judgement/owners.ts";
import { byNumbers } from "../../net/order.ts";
import { wholePercent } from "../numbers.ts";
import { type PoolRow, poolRows } from "../show/pools.ts";
import { allocatedWithin, type Rate, rateOfTimes, rateOfTwoLooks } from "./rate.ts";

export interface TopPool extends PoolRow {
  /** In whole percent of the capacity: what is not free. 0 and 100 are exactly that. */
  readonly fullPercent: number;
  /** Absent where no time has passed between two looks. */
  readonly rate?: Rate;
}

export interface TopNode {
  readonly name: string;
  /** IPv4 and IPv6 each have the limit for themselves: this is the family with more blocks. */
  readonly blocks: number;
  /** Most blocks it may own. */
  readonly cap: number;
  readonly capacity: number;
  /** Of its own blocks, addresses that can be handed out. */
  readonly free: number;
  /** Addresses that it uses of other nodes' blocks. */
  readonly borrowed: number;
  /** Most pods that the kubelet takes, where it is known. */
  readonly podCapacity?: number;
}

/** What rates are told from: an earlier look, or the allocation times of so many milliseconds. */
export type RateSource = { readonly earlier: Inventory } | { readonly spanMs: number };

/** The fullest first; among equals in the order of their names. */
export function topPools(inventory: Inventory, source: RateSource): TopPool[] {
  const rateOf = "earlier" in source ? byTwoLooks(inventory, source.earlier) : byTimes(inventory, source.spanMs);
  const rows = poolRows(inventory).map((row): TopPool => {
    const rate = rateOf(row);
    return { ...row, fullPercent: percentFull(row), ...(rate && { rate }) };
  });
  return rows.sort(byFree);
}

function byTwoLooks(inventory: Inventory, earlier: Inventory): (row: PoolRow) => Rate | undefined {
  const before = new Map(poolRows(earlier).map((row) => [row.name, row]));
  const [now, then] = [inventory, earlier].map(({ snapshot }) => Date.parse(snapshot.takenAt)) as [number, number];
  return (row) => {
    const old = before.get(row.name);
    return old && rateOfTwoLooks(row, old, now, then);
  };
}

function byTimes(inventory: Inventory, spanMs: number): (row: PoolRow) => Rate {
  const allocated = allocatedWithin(inventory, spanMs);
  const now = Date.parse(inventory.snapshot.takenAt);
  return (row) => rateOfTimes(row, allocated.get(row.name) ?? 0, spanMs, now);
}

const percentFull = ({ capacity, available }: PoolRow) => wholePercent(capacity - available, capacity);

/** The share that is free, compared without rounding. */
function byFree(a: PoolRow, b: PoolRow): number {
  return Number(a.available * b.capacity - b.available * a.capacity);
}

/** Those with the least free first; nodes that own no block are at the end. */
export function topNodes(inventory: Inventory): TopNode[] {
  const blocks = soundBlocks(inventory);
  const owned = Map.groupBy(blocks, nodeOwner);
  const borrowed = borrowedByNode(blocks);
  const names = new Set([
    ...(inventory.snapshot.nodes ?? []).map(({ name }) => name),
    ...[...owned.keys()].filter((name) => name !== undefined),
    ...borrowed.keys(),
  ]);
  const rows = [...names]
    .sort(byNumbers)
    .map((name) => nodeRow(name, owned.get(name) ?? [], borrowed.get(name) ?? 0, inventory));
  return rows.sort((a, b) => Number(a.blocks === 0) - Number(b.blocks === 0) || a.free - b.free);
}

function nodeRow(name: string, blocks: readonly IPAMBlock[], borrowed: number, inventory: Inventory): TopNode {
  const { cap, snapshot } = inventory;
  const { podCapacity } = snapshot.nodes?.find((node) => node.name === name) ?? {};
  const v6 = blocks.filter(({ spec }) => spec.cidr.includes(":")).length;
  return {
    name,
    blocks: Math.max(v6, blocks.length - v6),
    cap,
    capacity: blocks.reduce((sum, { spec }) => sum + spec.allocations.length, 0),
    free: blocks.reduce((sum, block) => sum + freeIn(inventory, block).length, 0),
    borrowed,
    ...(podCapacity !== undefined && { podCapacity }),
  };
}

function borrowedByNode(blocks: readonly IPAMBlock[]): Map<string, number> {
  const borrowed = new Map<string, number>();
  for (const block of blocks) {
    const owner = nodeOwner(block);
    for (const { owner: attributes } of allocationsOf(block)) {
      const user = attributes["node"];
      if (user !== undefined && user !== owner) borrowed.set(user, (borrowed.get(user) ?? 0) + 1);
    }
  }
  return borrowed;
}
