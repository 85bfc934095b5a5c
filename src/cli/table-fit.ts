/** Which columns of a table a terminal shows, and how wide each is. Pure. */
import { type Column, cellText, GAP } from "./column.ts";

export interface Fitted<T> {
  readonly columns: readonly Column<T>[];
  readonly widths: readonly number[];
}

/** A sentence is readable from here on. */
const SENTENCE = 24;
/** A name is recognised by so much of it. */
const NAME = 10;

/** All of it where there is no terminal. Else shorter values, then fewer columns, then shorter names. */
export function fitted<T>(
  rows: readonly T[],
  all: readonly Column<T>[],
  headers: boolean,
  most: number | undefined,
): Fitted<T> {
  const measure = (columns: readonly Column<T>[]) => columns.map((column) => widthOf(column, rows, headers));
  const whole = { columns: all, widths: measure(all) };
  if (most === undefined || total(whole.widths) <= most) return whole;
  const brief = all.map((column) => (column.brief ? { ...column, value: column.brief } : column));
  return shrunk(dropped({ columns: brief, widths: measure(brief) }, most), most);
}

function widthOf<T>({ header, value }: Column<T>, rows: readonly T[], headers: boolean): number {
  return rows.reduce((width, row) => Math.max(width, cellText(value(row)).length), headers ? header.length : 1);
}

const total = (widths: readonly number[]) =>
  widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);

/** As narrow as a column can be: numbers, addresses and times are never shortened. */
function least<T>({ sentence, name, header }: Column<T>, width: number): number {
  if (!name && !sentence) return width;
  return Math.min(width, Math.max(sentence ? SENTENCE : NAME, header.length));
}

/** Without the columns of least importance, until the rest fits; where nothing else helps, without the last ones. */
function dropped<T>(table: Fitted<T>, most: number): Fitted<T> {
  const needed = table.columns.map((column, at) =>
    column.sentence ? least(column, table.widths[at]!) : table.widths[at]!,
  );
  if (total(needed) <= most) return table;
  const droppable = table.columns.filter(({ importance }) => importance !== undefined);
  const [first] = droppable.toSorted((a, b) => a.importance! - b.importance!);
  if (first) return dropped(without(table, table.columns.indexOf(first)), most);
  const narrowest = table.columns.map((column, at) => least(column, table.widths[at]!));
  if (total(narrowest) <= most || table.columns.length === 1) return table;
  return dropped(without(table, table.columns.length - 1), most);
}

const without = <T>({ columns, widths }: Fitted<T>, at: number): Fitted<T> => ({
  columns: columns.toSpliced(at, 1),
  widths: widths.toSpliced(at, 1),
});

/** Takes what is too much from the widest columns first. */
function shrunk<T>({ columns, widths }: Fitted<T>, most: number): Fitted<T> {
  const narrow = [...widths];
  for (let over = total(narrow) - most; over > 0; over--) {
    const spare = narrow.map((width, at) => width - least(columns[at]!, widths[at]!));
    const sentence = columns.findIndex((column, at) => column.sentence && spare[at]! > 0);
    const widest = narrow.reduce((best, width, at) => (spare[at]! > 0 && width > (narrow[best] ?? 0) ? at : best), -1);
    const at = sentence >= 0 ? sentence : widest;
    if (at < 0) break;
    narrow[at] = narrow[at]! - 1;
  }
  return { columns, widths: narrow };
}

/** `checkout-7d…-x2x4z`: names differ at their ends. */
export function shortened(text: string, width: number): string {
  if (text.length <= width) return text;
  const tail = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - tail)}…${tail === 0 ? "" : text.slice(-tail)}`;
}
