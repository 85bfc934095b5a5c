/** What a writing verb means to do, and what came of it: rows that are printed the same before and after. */
import { type Output, tableOf } from "../output.ts";
import type { Screen, Tone } from "../screen.ts";
import type { Column } from "../table.ts";

/** Something that the verb is about, with its reason. */
export interface Item {
  /** `release`, `delete`, `keep`. */
  readonly action: string;
  /** `10.0.0.4`, `IPAMHandle/ghost`. */
  readonly object: string;
  /** A sentence. */
  readonly why: string;
  /** Further fields of the JSON. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface Step extends Item {
  /** Steps of one lane wait for each other, because they write the same object. Default: the object. */
  readonly lane?: string;
  /** Whether it is being done already, together with an earlier step of its lane: it is then not left out. */
  hasBegun?(): boolean;
  /** Where it is not done, nothing else is. */
  readonly needed?: true;
  /**
   * Does it, wholly, and is never cut off by Ctrl-C. Looks first whether what was planned still holds.
   * @returns why it was left alone, where it does not; what it came to, where that was not known before
   * @throws Partly where only some of it could be done
   */
  run(): Promise<string | Partial<Item> | undefined>;
}

/** Some of a step was done, and the rest could not be. */
export class Partly extends Error {
  override readonly name = "Partly";
  /** What was done. */
  readonly item: Partial<Item>;

  constructor(message: string, item: Partial<Item>) {
    super(message);
    this.item = item;
  }
}

export interface Kept extends Item {
  /** It was asked for by name, and is refused. */
  readonly refused?: true;
}

export interface Plan {
  /** Kind of the JSON document: `Release`. */
  readonly kind: string;
  /** Asked of the person: `Release 3 addresses`. */
  readonly title: string;
  readonly steps: readonly Step[];
  /** What was looked at, and is left alone. */
  readonly kept: readonly Kept[];
  /** Said before the question. */
  readonly notes?: readonly string[];
  /** Said when all is done. */
  readonly afterwards?: string;
}

export type Result = "planned" | "done" | "kept" | "failed" | "not reached";

export interface Row extends Item {
  readonly result: Result;
}

const TONES: Readonly<Partial<Record<Result, Tone>>> = { done: "good", failed: "critical", "not reached": "warning" };

const COLUMNS: readonly Column<Row>[] = [
  { header: "RESULT", value: ({ result }) => result, tone: ({ result }) => TONES[result] },
  { header: "ACTION", value: ({ action }) => action },
  { header: "OBJECT", name: true, value: ({ object }) => object },
  { header: "WHY", sentence: true, value: ({ why }) => why },
];

export const rowOf = ({ action, object, why, facts }: Item, result: Result): Row => ({
  result,
  action,
  object,
  why,
  ...(facts && { facts }),
});

/** Rows as an answer. `-o name` gives what was done, or would be. */
export function rowsOutput(kind: string, rows: readonly Row[]): Output {
  const items = rows.map(({ facts, ...row }) => ({ ...row, ...facts }));
  const names = rows.filter(({ result }) => result === "done" || result === "planned").map(({ object }) => object);
  return { kind, value: { counts: countsOf(rows), items }, names, text: tableOf(rows, COLUMNS) };
}

export function countsOf(rows: readonly Row[]): Readonly<Record<string, number>> {
  const byResult = Map.groupBy(rows, ({ result }) => result);
  return Object.fromEntries(Array.from(byResult, ([result, { length }]) => [result, length]));
}

/** `3 done, 1 kept`. */
export function countsText(rows: readonly Row[]): string {
  const counts = Object.entries(countsOf(rows)).map(([result, count]) => `${count} ${result}`);
  return counts.join(", ") || "nothing to do";
}

const MOST_SHOWN = 20;

/** The plan as a person is shown it before being asked. */
export function planText({ steps, kept }: Plan, screen: Screen): string {
  const rows = [...steps.map((step) => rowOf(step, "planned")), ...kept.map((item) => rowOf(item, "kept"))];
  const rest = rows.length - MOST_SHOWN;
  const shown = rowsOutput("", rows.slice(0, MOST_SHOWN)).text({ wide: false, headers: true, ...screen });
  return rest > 0 ? `${shown}and ${rest} more: --dry-run shows all\n` : shown;
}
