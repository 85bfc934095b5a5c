/** Plain tables as kubectl prints them: columns of equal width, no lines, so that other tools can cut them. */
import { escapeLine } from "../escape.ts";

export interface Column<T> {
  readonly header: string;
  readonly value: (row: T) => string;
  /** Numbers stand to the right. */
  readonly right?: true;
  /** Only with `-o wide`. */
  readonly wide?: true;
}

const GAP = "   ";

/** A line per row, after one of headers; empty where there is no row. */
export function tableText<T>(rows: readonly T[], columns: readonly Column<T>[], headers: boolean): string {
  if (rows.length === 0) return "";
  const cells = rows.map((row) => columns.map(({ value }) => escapeLine(value(row)) || "-"));
  const lines = headers ? [columns.map(({ header }) => header), ...cells] : cells;
  const widths = columns.map((_, at) => lines.reduce((most, line) => Math.max(most, line[at]!.length), 0));
  const padded = (cell: string, at: number) =>
    columns[at]!.right ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!);
  return lines.map((line) => `${line.map(padded).join(GAP).trimEnd()}\n`).join("");
}

/** Two columns of words: `Node:   node-a`. */
export function fieldsText(fields: readonly (readonly [name: string, value: string])[]): string {
  const shown = fields.map(([name, value]) => [`${escapeLine(name)}:`, escapeLine(value)] as const);
  const width = shown.reduce((most, [name]) => Math.max(most, name.length), 0);
  return shown.map(([name, value]) => `${name.padEnd(width)}${GAP}${value}\n`).join("");
}
