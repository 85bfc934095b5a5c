/** What racing processes write down of their addresses: a line before each call that takes or gives back, and one after. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export interface Entry {
  /** Of the machine's one monotonic clock, in nanoseconds. */
  readonly at: bigint;
  readonly what: "taking" | "got" | "releasing" | "released" | "claiming" | "failed";
  readonly handle: string;
  readonly ips: readonly string[];
  readonly error?: string;
}

/** Appends one line at once: it survives the process. */
export function note(path: string, what: Entry["what"], handle: string, ips: readonly string[], error?: string): void {
  appendFileSync(path, `${JSON.stringify({ at: String(process.hrtime.bigint()), what, handle, ips, error })}\n`);
}

/** All whole lines of a journal. */
export function readJournal(path: string): Entry[] {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line, (key, value) => (key === "at" ? BigInt(value) : value)) as Entry);
}

/** Calls begun: each has one line before it. */
export function callsIn(entries: readonly Entry[]): number {
  return entries.filter(({ what }) => ["taking", "releasing", "claiming"].includes(what)).length;
}

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
  for (const { what, handle, ips } of entries) {
    if (what === "taking" || what === "releasing") {
      uncertain.add(handle);
      held.delete(handle);
    } else if (what === "got" || what === "released") uncertain.delete(handle);
    if (what === "got" && ips.length > 0) held.set(handle, ips);
  }
  return { held, uncertain };
}

/**
 * Addresses that two handles had at once. An address is surely its handle's from the line after the call that took it to
 * the line before the one that gives it back.
 */
export function handedOutTwice(journals: readonly (readonly Entry[])[]): string[] {
  const entries = journals.flat().sort((a, b) => (a.at < b.at ? -1 : 1));
  const holder = new Map<string, string>();
  const found: string[] = [];
  for (const { what, handle, ips } of entries) {
    for (const ip of ips) {
      const other = holder.get(ip);
      if (what === "got" && other !== undefined) found.push(`${ip}: ${other} had it when ${handle} got it`);
      if (what === "got") holder.set(ip, handle);
      if (what === "releasing") holder.delete(ip);
    }
  }
  return found;
}

/** What was done, in words. */
export function summaryOf(entries: readonly Entry[]): string {
  const count = (wanted: (entry: Entry) => boolean) => entries.filter(wanted).length;
  const taken = count(({ what, ips }) => what === "got" && ips.length > 0);
  const released = count(({ what, ips }) => what === "released" && ips.length > 0);
  const recovered = count(({ what, ips }) => what === "releasing" && ips.length === 0);
  const claims = count(({ what }) => what === "claiming");
  return `${callsIn(entries)} calls, of them ${taken} took addresses, ${released} released them, ${recovered} ended what a kill had cut off, ${claims} were about affinities`;
}
