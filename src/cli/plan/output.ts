/** What a plan comes to: for people side by side with what is so now, for programs everything. */

import type { Finding } from "../../judgement/finding.ts";
import { inventoryOf } from "../../judgement/inventory.ts";
import { briefCountOf, countOf } from "../numbers.ts";
import { type Output, type TextStyle, tableOf } from "../output.ts";
import { poolValue } from "../show/counts.ts";
import { type PoolRow, poolRows } from "../show/pools.ts";
import { type Column, sentencesText } from "../table.ts";
import { topNodes } from "../top/rows.ts";
import type { Outcome, RanOut } from "./simulate.ts";

export interface Plan {
  /** As it is; absent where the plan begins from nothing, or proposes no change. */
  readonly now?: Outcome;
  readonly planned: Outcome;
  readonly changes: readonly string[];
  /** What stands in the way of applying the manifests as they are written. */
  readonly notes: readonly string[];
  /** Findings of `check` that the proposal brings, and those that it ends. */
  readonly brings: readonly Finding[];
  readonly ends: readonly Finding[];
  /** Whether as many nodes as the pools carry were asked for, and how many were tried at most. */
  readonly untilFull: boolean;
}

export function planOutput(plan: Plan): Output {
  const { now, planned, changes, notes, brings, ends, untilFull } = plan;
  const value = {
    ...{ changes, notes, brings, ends, untilFull },
    ...(now && { now: outcomeValue(now) }),
    planned: outcomeValue(planned),
  };
  const names = planned.first ? [`${planned.first.node} ${planned.first.cause?.code ?? ""}`.trimEnd()] : [];
  return { kind: "Plan", value, names, text: (style) => [sentences(plan, style), tableText(plan)(style)].join("\n") };
}

function outcomeValue({ after, ...counts }: Outcome) {
  const inventory = inventoryOf(after);
  const blocks = topNodes(inventory).map((node) => node.blocks);
  const most = blocks.reduce((a, b) => Math.max(a, b), 0);
  return {
    ...counts,
    pools: poolRows(inventory).map(poolValue),
    limitOfBlocks: inventory.cap,
    mostBlocksOfANode: most,
  };
}

function sentences(plan: Plan, style: TextStyle): string {
  const { now, planned, changes, notes, brings, ends } = plan;
  const lines = [
    carried(plan, planned, "carries"),
    ranOut(planned.first),
    ...(now ? [carried(plan, now, "now it carries"), ranOut(now.first)] : []),
    ...changes.map((change) => `change: ${change}`),
    ...notes.map((note) => `note: ${note}`),
    ...brings.map(({ severity, code, message }) => `brings ${severity} ${code}: ${message}`),
    ...ends.map(({ code, message }) => `ends ${code}: ${message}`),
  ];
  return sentencesText(lines, style);
}

function carried({ untilFull }: Plan, { nodes, fullNodes, wanted, placed, first }: Outcome, word: string): string {
  if (!untilFull) return `${word} ${fullNodes} of ${nodes} nodes in full: ${placed} of ${wanted} addresses`;
  return `${word} ${first ? "" : "at least "}${fullNodes} nodes in full: ${placed} addresses`;
}

function ranOut(first: RanOut | undefined): string {
  if (first === undefined) return "runs out nowhere";
  const { node, family, got, wants, cause } = first;
  const why = cause ? `: ${cause.message} (${cause.code})` : "";
  return `runs out first on ${node}, with ${got} of ${wants} ${family} addresses${why}`;
}

interface Line {
  readonly row: PoolRow;
  readonly before: PoolRow | undefined;
}

function tableText({ now, planned }: Plan): Output["text"] {
  const before = new Map(now && poolRows(inventoryOf(now.after)).map((row) => [row.name, row]));
  const lines = poolRows(inventoryOf(planned.after)).map((row): Line => ({ row, before: before.get(row.name) }));
  const free = ({ available, capacity }: PoolRow) => countOf(available, capacity);
  const briefFree = ({ available, capacity }: PoolRow) => briefCountOf(available, capacity);
  const columns: Column<Line>[] = [
    { header: "POOL", name: true, value: ({ row }) => row.name },
    { header: "CIDR", importance: 1, value: ({ row }) => row.cidr },
    { header: "BLOCKS", right: true, importance: 2, value: ({ row }) => `${row.blocks} of /${row.blockSize}` },
    { header: "FREE THEN", right: true, value: ({ row }) => free(row), brief: ({ row }) => briefFree(row) },
  ];
  if (now)
    columns.push({
      header: "FREE WITHOUT",
      right: true,
      value: ({ before }) => (before ? free(before) : ""),
      brief: ({ before }) => (before ? briefFree(before) : ""),
    });
  return tableOf(lines, columns);
}
