/** Tables as kubectl prints them: columns of equal width, no lines, so that other tools can cut them. */
import { escapeLine } from "../escape.ts";
import { type Column, cellText, GAP } from "./column.ts";
import { folded, plain, type Screen, type Tone, wrapped } from "./screen.ts";
import { fitted, shortened } from "./table-fit.ts";

export type { Column } from "./column.ts";

/** What a table is drawn for. */
export interface TableStyle extends Partial<Screen> {
  readonly headers: boolean;
}

interface Cell {
  readonly text: string;
  readonly tone: Tone | undefined;
}

/** A line per row, after one of headers; empty where there is no row. */
export function tableText<T>(rows: readonly T[], all: readonly Column<T>[], style: TableStyle): string {
  if (rows.length === 0) return "";
  const { headers, columns: most, paint = plain } = style;
  const { columns, widths } = fitted(rows, all, headers, most);
  const cells = rows.map((row) =>
    columns.map(({ value, tone }): Cell => ({ text: cellText(value(row)), tone: tone?.(row) })),
  );
  const heading = columns.map(({ header }): Cell => ({ text: header, tone: undefined }));
  const lines = (headers ? [heading, ...cells] : cells).flatMap((line) => foldedLine(line, columns, widths));
  const padded = ({ text, tone }: Cell, at: number) => {
    const room = " ".repeat(widths[at]! - text.length);
    return columns[at]!.right ? room + paint(text, tone) : paint(text, tone) + room;
  };
  return lines.map((line) => `${line.map(padded).join(GAP).trimEnd()}\n`).join("");
}

/** A line of the table, and where a sentence goes on, more of them with nothing beside it. */
function foldedLine<T>(line: readonly Cell[], columns: readonly Column<T>[], widths: readonly number[]): Cell[][] {
  const last = line.length - 1;
  const cut = line.map(({ text, tone }, at) => ({
    text: columns[at]!.sentence ? text : shortened(text, widths[at]!),
    tone,
  }));
  if (!columns[last]!.sentence) return [cut];
  const { text, tone } = line[last]!;
  const width = widths[last]!;
  const words = text.split(" ").map((word) => shortened(word, width));
  const empty = cut.slice(0, last).map((): Cell => ({ text: "", tone: undefined }));
  return folded(words.join(" "), width).map((part, at) => [
    ...(at === 0 ? cut.slice(0, last) : empty),
    { text: part, tone },
  ]);
}

/** On a terminal a field with a longer name has its value on the next line. */
const LONG_NAME = 24;

/** Two columns of words: `Node:   node-a`. On a terminal the second continues on the next line, between words. */
export function fieldsText(
  fields: readonly (readonly [name: string, value: string])[],
  { columns }: Partial<Screen> = {},
): string {
  const shown = fields.map(([name, value]) => [`${escapeLine(name)}:`, escapeLine(value)] as const);
  const narrow = columns === undefined ? shown : shown.filter(([name]) => name.length <= LONG_NAME);
  const width = narrow.reduce((most, [name]) => Math.max(most, name.length), 0);
  const room = columns === undefined ? undefined : columns - width - GAP.length;
  const lines = shown.flatMap(([name, value]) => {
    const [first, ...rest] = name.length > width ? ["", ...wrapped(value, room)] : wrapped(value, room);
    const head = first === "" ? name : `${name.padEnd(width)}${GAP}${first}`;
    return [head, ...rest.map((part) => `${" ".repeat(width)}${GAP}${part}`)];
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

/** Sentences, each wrapped at words on a terminal; what follows a line break is indented by `indent`. */
export function sentencesText(lines: readonly string[], { columns }: Partial<Screen>, indent = "  "): string {
  return lines
    .flatMap((line) => wrapped(escapeLine(line), columns, indent))
    .map((line) => `${line}\n`)
    .join("");
}
