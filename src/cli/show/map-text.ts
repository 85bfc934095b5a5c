/** Draws a pool's map with characters, in reading order: how full each block is, and a letter for what is special of it. */
import { plural } from "../../api/plural.ts";
import { escapeLine } from "../../escape.ts";
import { byNumbers } from "../../net/order.ts";
import { GAP } from "../column.ts";
import type { Output, TextStyle } from "../output.ts";
import type { Tone } from "../screen.ts";
import { sentencesText } from "../table.ts";
import type { Cell, PoolMap } from "./map.ts";

/** Glyphs from no block over an empty one to a full one. */
interface Glyphs {
  readonly none: string;
  readonly fill: readonly [empty: string, low: string, half: string, high: string, full: string];
}
const BLOCKS: Glyphs = { none: "·", fill: ["○", "░", "▒", "▓", "█"] };
const ASCII: Glyphs = { none: ".", fill: ["o", "-", "=", "+", "#"] };

interface Mark {
  readonly letter: string;
  readonly meaning: string;
  is(cell: Cell): boolean;
}

/** In the order in which they win. */
const MARKS: readonly Mark[] = [
  { letter: "p", meaning: "being claimed or released", is: ({ changing }) => changing > 0 },
  { letter: "u", meaning: "without an affinity", is: ({ unowned }) => unowned > 0 },
  { letter: "b", meaning: "borrowed addresses", is: ({ borrowed }) => borrowed > 0 },
  { letter: "c", meaning: "cooling addresses", is: ({ cooling }) => cooling > 0 },
  { letter: "r", meaning: "reserved", is: ({ reserved }) => reserved },
];
const markOf = (cell: Cell) => MARKS.find((mark) => mark.is(cell));

/** Where there is no terminal. */
const USUAL_COLUMNS = 80;
const MOST_CELLS = 32;
/** A number of the scale stands above every so many cells. */
const SCALE_STEP = 8;
/** Blocks with a letter that are named below the map. */
const MOST_NAMED = 6;

export function mapOutput(maps: readonly PoolMap[], ascii: boolean): Output {
  const glyphs = ascii ? ASCII : BLOCKS;
  return {
    kind: "PoolMapList",
    value: { items: maps },
    isList: true,
    names: maps.map(({ pool }) => `ippool/${pool}`),
    text: (style) =>
      maps.length === 0 ? "" : [...maps.map((map) => picture(map, glyphs, style)), legend(glyphs, style)].join("\n"),
  };
}

function picture(map: PoolMap, glyphs: Glyphs, style: TextStyle): string {
  if (map.cells.length === 0) return sentencesText([`${titleOf(map)}: no blocks`], style);
  const labels = map.cells.map(({ cidr }) => cidr);
  const width = labels.reduce((most, label) => Math.max(most, label.length), 0);
  const perRow = cellsPerRow(map.cells.length, (style.columns ?? USUAL_COLUMNS) - width - 2);
  const title = `${titleOf(map)}: ${scaleOf(map, perRow)}`;
  const starts = map.cells.flatMap((_, index) => (index % perRow === 0 ? [index] : []));
  const rows = starts.map((start) => {
    const drawn = map.cells.slice(start, start + perRow).map((cell) => drawnCell(cell, glyphs, style));
    return `${labels[start]!.padEnd(width)}  ${drawn.join("")}`.trimEnd();
  });
  const inRow = Math.min(perRow, map.cells.length);
  const ruler = inRow > SCALE_STEP ? [`${" ".repeat(width)}  ${rulerOf(inRow)}`] : [];
  return `${sentencesText([title], style)}${[...ruler, ...rows].join("\n")}\n${sentencesText(named(map), style)}`;
}

const titleOf = ({ pool, cidr }: PoolMap) => escapeLine(`${pool} ${cidr}`);

/** A power of two, so that a row is a range. */
function cellsPerRow(cells: number, room: number): number {
  let count = MOST_CELLS;
  while (count > 1 && (count * 2 > room || count >= cells * 2)) count /= 2;
  return count;
}

function scaleOf({ blocks, cells, complete, blockSize }: PoolMap, perRow: number): string {
  const count = plural(blocks, "block");
  if (!complete) return `${count}; only these are shown, a cell is a block`;
  const prefix = Number(cells[0]!.cidr.split("/")[1]);
  const cell = prefix === blockSize ? `a block, a /${prefix}` : `a /${prefix}, ${2 ** (blockSize - prefix)} blocks`;
  const rows = cells.length > perRow ? `, a row a /${prefix - Math.log2(perRow)}` : "";
  return `${count}, a cell is ${cell}${rows}`;
}

/** `0               8`: which cell of the row. */
function rulerOf(cells: number): string {
  const steps = Array.from({ length: Math.ceil(cells / SCALE_STEP) }, (_, at) => String(at * SCALE_STEP));
  return steps
    .map((step) => step.padEnd(SCALE_STEP * 2))
    .join("")
    .trimEnd();
}

function drawnCell(cell: Cell, { none, fill }: Glyphs, { paint }: TextStyle): string {
  const glyph = cell.blocks === 0 ? none : fill[step(cell.used)]!;
  return paint(glyph, toneOf(cell)) + (markOf(cell)?.letter ?? " ");
}

const toneOf = ({ blocks, used }: Cell): Tone | undefined => {
  if (blocks === 0) return undefined;
  return used >= 1 ? "warning" : "good";
};

/** Empty and full are only what is exactly that. */
function step(used: number): number {
  if (used === 0) return 0;
  return used >= 1 ? 4 : 1 + Math.min(2, Math.floor(used * 3));
}

/** The cells with a letter by their range, as far as they are few. */
function named({ cells, pool }: PoolMap): string[] {
  const marked = cells.filter((cell) => markOf(cell) && cell.blocks > 0).sort((a, b) => byNumbers(a.cidr, b.cidr));
  const lines = marked.slice(0, MOST_NAMED).map((cell) => {
    const { letter } = markOf(cell)!;
    return `${letter} ${cell.cidr}: ${MARKS.filter((mark) => mark.is(cell))
      .map(({ meaning }) => meaning)
      .join(", ")}`;
  });
  const rest = marked.length - lines.length;
  return rest > 0 ? [...lines, `and ${rest} more: ipamctl show --blocks --pool ${pool}`] : lines;
}

function legend({ none, fill }: Glyphs, { columns = USUAL_COLUMNS }: TextStyle): string {
  const [empty, low, half, high, full] = fill;
  const shades = [`${none} no block`, `${empty} empty`, `${low} ${half} ${high} in use`, `${full} full`];
  const letters = MARKS.map(({ letter, meaning }) => `${letter} ${meaning}`);
  return `${inRows(shades, columns)}${inRows(letters, columns)}`;
}

/** Entries side by side, as many as fit a line. */
function inRows(entries: readonly string[], columns: number): string {
  const lines: string[] = [];
  for (const entry of entries) {
    const longer = lines.length === 0 ? entry : `${lines.at(-1)}${GAP}${entry}`;
    if (longer.length <= columns) lines.splice(-1, 1, longer);
    else lines.push(entry);
  }
  return `${lines.join("\n")}\n`;
}
