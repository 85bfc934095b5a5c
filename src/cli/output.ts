/** What a reading verb answers, in every form it can be printed in. The JSON is the documented one; tables are for people. */

import { escapeJson, escapeLine, escapeYaml } from "../escape.ts";
import type { Format } from "./output-format.ts";
import { plain, type Screen } from "./screen.ts";
import { type Column, tableText } from "./table.ts";

/** How the JSON of every verb says what it is. */
export const OUTPUT_VERSION = "ipamctl.ipam-operator.io/v1alpha1";

export interface Output {
  /** Kind of the JSON document: `PoolList`. */
  readonly kind: string;
  /** Its other fields. */
  readonly value: Readonly<Record<string, unknown>>;
  /** For `-o name`, a line each. */
  readonly names: readonly string[];
  text(style: TextStyle): string;
  /** Whether an empty text is an empty list, which is then said. */
  readonly isList?: true;
}

/** Said where a list is empty, as kubectl says it. */
export const NOTHING = "No resources found";

export interface TextStyle extends Screen {
  readonly wide: boolean;
  readonly headers: boolean;
}

/** Rows as an answer: a table of `columns`, or `{ items: rows }`. */
export function listing<T extends object>(
  kind: string,
  items: readonly T[],
  columns: readonly Column<T>[],
  name: (row: T) => string,
): Output {
  return { kind, value: { items }, names: items.map(name), text: tableOf(items, columns), isList: true };
}

/** How rows are shown to people. With `-o wide` a table is whole, however narrow the terminal is. */
export function tableOf<T>(rows: readonly T[], all: readonly Column<T>[]): Output["text"] {
  return ({ wide, headers, paint, columns }) =>
    tableText(
      rows,
      all.filter((column) => wide || !column.wide),
      { headers, paint, columns: wide ? undefined : columns },
    );
}

export const isTable = (format: Format): boolean => format === "table" || format === "wide";

export interface PrintOptions extends Partial<Screen> {
  readonly format: Format;
  readonly headers: boolean;
}

/** The text of an answer, ending in a line feed; empty where there is nothing to say. */
export async function printed(
  output: Output,
  { format, headers, columns, paint = plain }: PrintOptions,
): Promise<string> {
  const { kind, value, names } = output;
  if (format === "name") return names.map((name) => `${escapeLine(name)}\n`).join("");
  if (isTable(format)) return output.text({ wide: format === "wide", headers, columns, paint });
  const document = { apiVersion: OUTPUT_VERSION, kind, ...value };
  if (format === "json") return `${escapeJson(json(document))}\n`;
  return yaml(JSON.parse(json(document)));
}

async function yaml(document: unknown): Promise<string> {
  const { yamlText } = await import("./yaml.ts");
  return escapeYaml(yamlText(document));
}

/** What may be beyond 2^53, a count of a pool's addresses or a sequence number, is text: see `show/counts.ts`. */
function json(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === "bigint" ? part.toString() : part), 2);
}
