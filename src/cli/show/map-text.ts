/** Draws a pool's map with characters: how full each block is, and beside it a letter for what is special about it. */

import { escapeLine } from "../../escape.ts";
import type { Output } from "../output.ts";
import type { Cell, PoolMap } from "./map.ts";
import { placeOf } from "./map-layout.ts";

/** Glyphs from no block over an empty one to a full one. */
interface Glyphs {
  readonly none: string;
  readonly fill: readonly [empty: string, low: string, half: string, high: string, full: string];
}
const BLOCKS: Glyphs = { none: "·", fill: ["○", "░", "▒", "▓", "█"] };
const ASCII: Glyphs = { none: ".", fill: ["o", "-", "=", "+", "#"] };

/** Letters in the order in which they win. */
const LETTERS: readonly (readonly [letter: string, meaning: string, is: (cell: Cell) => boolean])[] = [
  ["p", "being claimed or given up", ({ changing }) => changing > 0],
  ["u", "owned by nobody", ({ unowned }) => unowned > 0],
  ["b", "has borrowed addresses", ({ borrowed }) => borrowed > 0],
  ["c", "has addresses that cool down", ({ cooling }) => cooling > 0],
  ["r", "reserved", ({ reserved }) => reserved],
];

export function mapOutput(maps: readonly PoolMap[], ascii: boolean): Output {
  const glyphs = ascii ? ASCII : BLOCKS;
  const drawn = maps.map((map) => `${titleOf(map)}\n${map.zOrder ? grid(map, glyphs) : strip(map, glyphs)}`);
  return {
    kind: "PoolMapList",
    value: { items: maps },
    isList: true,
    names: maps.map(({ pool }) => `ippool/${pool}`),
    text: () => (maps.length === 0 ? "" : `${drawn.join("\n")}\n${legend(glyphs)}`),
  };
}

function titleOf({ pool, cidr, blocks, cells, zOrder }: PoolMap): string {
  const [first] = cells;
  const each = zOrder && first ? `, a cell is a /${first.cidr.split("/")[1]}` : "";
  return escapeLine(`${pool} ${cidr}: ${blocks} block${blocks === 1 ? "" : "s"}${each}`);
}

/** In Z-order; the first and the last range of a line's halves are told at its side. */
function grid({ cells, columns, rows }: PoolMap, glyphs: Glyphs): string {
  const lines = Array.from({ length: rows }, () => new Array<string>(columns).fill("  "));
  const firsts = new Array<string>(rows).fill("");
  for (const [index, cell] of cells.entries()) {
    const { x, y } = placeOf(index);
    lines[y]![x] = drawnCell(cell, glyphs);
    if (x === 0) firsts[y] = cell.cidr;
  }
  return withLabels(lines, firsts);
}

function strip({ cells, columns }: PoolMap, glyphs: Glyphs): string {
  const starts = cells.flatMap((_, index) => (index % columns === 0 ? [index] : []));
  const lines = starts.map((start) => cells.slice(start, start + columns).map((cell) => drawnCell(cell, glyphs)));
  return withLabels(
    lines,
    starts.map((start) => cells[start]!.cidr),
  );
}

function withLabels(lines: readonly (readonly string[])[], labels: readonly string[]): string {
  const width = labels.reduce((most, label) => Math.max(most, label.length), 0);
  return lines.map((line, at) => `${labels[at]!.padEnd(width)}  ${line.join("").trimEnd()}\n`).join("");
}

function drawnCell(cell: Cell, { none, fill }: Glyphs): string {
  const glyph = cell.blocks === 0 ? none : fill[step(cell.used)]!;
  return glyph + (LETTERS.find(([, , is]) => is(cell))?.[0] ?? " ");
}

/** Empty and full are only what is exactly that. */
function step(used: number): number {
  if (used === 0) return 0;
  return used >= 1 ? 4 : 1 + Math.min(2, Math.floor(used * 3));
}

function legend({ none, fill }: Glyphs): string {
  const [empty, low, half, high, full] = fill;
  const shades = `${none} no block   ${empty} empty   ${low} ${half} ${high} used   ${full} full`;
  return `${shades}\n${LETTERS.map(([letter, meaning]) => `${letter} ${meaning}`).join("   ")}\n`;
}
