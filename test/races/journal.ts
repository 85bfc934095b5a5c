/** What racing processes write down: a line before each call and one after, which survive the process. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export interface Entry {
  /** Of the machine's one monotonic clock, in nanoseconds. */
  readonly at: bigint;
  /**
   * Begun: `taking`, `releasing`, `recovering` (ends what was cut off), `claiming`, `changing`. Done: `got`, `released`,
   * `changed`. `failed`: a call that ended as none may; `gaveUp`: one that lost too many races.
   */
  readonly what:
    | "taking"
    | "got"
    | "releasing"
    | "recovering"
    | "released"
    | "claiming"
    | "changing"
    | "changed"
    | "gaveUp"
    | "failed";
  /** The handle; of a change, what is changed, which only this process changes. */
  readonly subject: string;
  readonly ips: readonly string[];
  /** The same with the prefix length of their block, where the method says it. */
  readonly masked?: readonly string[];
  /** The method that takes. */
  readonly by?: string;
  /** Whose blocks the addresses that it got are in, where it looked; "" is nobody. */
  readonly owners?: readonly string[];
  /** What it is changed to. */
  readonly value?: string;
  readonly error?: string;
}

/** One racer's lines, those of the processes before it included. */
export interface Journal {
  readonly host: string;
  /** It reads from watch-fed caches: what others have just changed it may not know yet. */
  readonly cached: boolean;
  readonly entries: readonly Entry[];
}

/** Appends one line at once. */
export function note(path: string, what: Entry["what"], subject: string, more: Partial<Entry> = {}): void {
  const at = String(process.hrtime.bigint());
  appendFileSync(path, `${JSON.stringify({ at, what, subject, ips: [], ...more })}\n`);
}

/** All whole lines of a journal. */
export function readEntries(path: string): Entry[] {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line, (key, value) => (key === "at" ? BigInt(value) : value)) as Entry);
}

const BEGINNINGS: readonly Entry["what"][] = ["taking", "releasing", "recovering", "claiming", "changing"];

/** Calls begun: each has one line before it. */
export const callsIn = (entries: readonly Entry[]): number =>
  entries.filter(({ what }) => BEGINNINGS.includes(what)).length;

const BEGINNING = new RegExp(`"what":"(${BEGINNINGS.join("|")})"`, "g");

/** The same of a journal that is being written, without reading it line by line. */
export const callsInFile = (path: string): number =>
  existsSync(path) ? (readFileSync(path, "utf8").match(BEGINNING)?.length ?? 0) : 0;

export interface Holdings {
  /** Addresses that a handle surely has. */
  readonly held: ReadonlyMap<string, readonly string[]>;
  /** Handles of calls that were cut off, or failed: they may have addresses or not. */
  readonly uncertain: ReadonlySet<string>;
}

/** What handles have at the end of a journal. */
export function holdingsOf(entries: readonly Entry[]): Holdings {
  const held = new Map<string, readonly string[]>();
  const uncertain = new Set<string>();
  for (const { what, subject, ips } of entries) {
    if (what === "taking" || what === "releasing" || what === "recovering") {
      uncertain.add(subject);
      held.delete(subject);
    } else if (what === "got" || what === "released") uncertain.delete(subject);
    if (what === "got" && ips.length > 0) held.set(subject, ips);
  }
  return { held, uncertain };
}

/** The last value of each thing a racer changed; what was being changed when it was cut off is left out. */
export function valuesOf(entries: readonly Entry[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const { what, subject, value } of entries) {
    if (what === "changing") values.delete(subject);
    if (what === "changed" && value !== undefined) values.set(subject, value);
  }
  return values;
}
