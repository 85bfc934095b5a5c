/** What is wrong with a race, judged from the journals alone. Pure. */
import { contains, parseCidr } from "../../src/net/cidr.ts";
import { hostRange } from "../invariants/log.ts";
import { callsIn, type Entry, holdingsOf, type Journal } from "./journal.ts";

const inOrder = (journals: readonly Journal[]): Entry[] =>
  journals.flatMap(({ entries }) => entries).sort((a, b) => (a.at < b.at ? -1 : 1));

/**
 * Addresses that two handles had at once. An address is surely its handle's from the line after the call that took it to
 * the line before the one that gives it back.
 */
export function handedOutTwice(journals: readonly Journal[]): string[] {
  const holder = new Map<string, string>();
  const found: string[] = [];
  for (const { what, subject, ips } of inOrder(journals)) {
    for (const ip of ips) {
      const other = holder.get(ip);
      if (what === "got" && other !== undefined) found.push(`${ip}: ${other} had it when ${subject} got it`);
      if (what === "got") holder.set(ip, subject);
      if (what === "releasing") holder.delete(ip);
    }
  }
  return found;
}

/** A call that took addresses, from the line before it to the line after it. */
interface Taking {
  readonly host: string;
  readonly begun: Entry;
  readonly got: Entry;
}

/** The takings of racers that read from the server: what is in force they surely know. */
function takings(journals: readonly Journal[]): Taking[] {
  return journals
    .filter(({ cached }) => !cached)
    .flatMap(({ host, entries }) => {
      const begun = new Map(entries.filter(({ what }) => what === "taking").map((entry) => [entry.subject, entry]));
      const ended = entries.filter(({ what }) => what === "got");
      return ended.map((got) => ({ host, begun: begun.get(got.subject)!, got }));
    });
}

/** When something surely had a value: from the line after its change to the line before the next one. */
interface Period {
  readonly subject: string;
  readonly value: string;
  readonly from: bigint;
  readonly to: bigint | undefined;
}

function periods(journals: readonly Journal[]): Period[] {
  return journals.flatMap(({ entries }) =>
    entries.flatMap(({ what, subject, value, at }, index) => {
      if (what !== "changed" || value === undefined) return [];
      const next = entries.slice(index).find((later) => later.what === "changing" && later.subject === subject);
      return [{ subject, value, from: at, to: next?.at }];
    }),
  );
}

const during = ({ from, to }: Period, { begun, got }: Taking) => from < begun.at && (to === undefined || got.at < to);

/** Addresses that autoAssign gave although they were reserved during all of the call. */
export function takenWhileReserved(journals: readonly Journal[]): string[] {
  const reserved = periods(journals).filter(({ subject }) => subject.startsWith("reservation "));
  return takings(journals).flatMap((taking) => {
    if (taking.begun.by !== "autoAssign") return [];
    const inForce = reserved.filter((period) => during(period, taking));
    const cidrs = inForce.flatMap(({ value }) => value.split(" ").filter(Boolean)).map((text) => parseCidr(text)!);
    const wrong = taking.got.ips.filter((ip) => cidrs.some((cidr) => contains(cidr, hostRange(ip))));
    return wrong.map((ip) => `${ip} was reserved when ${taking.got.subject} got it`);
  });
}

/**
 * Addresses taken from another host's block while affinity was strict. A block that holds an address may lose its owner,
 * but is never another's: who owns it after the call owned it during the call.
 */
export function borrowedWhileStrict(journals: readonly Journal[]): string[] {
  const strict = periods(journals).filter(({ subject, value }) => subject === "strictAffinity" && value === "true");
  return takings(journals).flatMap((taking) => {
    const { host, got } = taking;
    if (!strict.some((period) => during(period, taking))) return [];
    const others = (got.owners ?? []).filter((owner) => owner !== "" && owner !== `host:${host}`);
    return others.map((owner) => `${got.subject} of ${host} got ${got.ips.join(", ")} from a block of ${owner}`);
  });
}

/** Handles with a call that was cut off: their counts may be too high. */
export function cutOffHandles(journals: readonly Journal[]): Set<string> {
  return new Set(
    journals.flatMap(({ entries }) => [
      ...entries.filter(({ what }) => what === "recovering").map(({ subject }) => subject),
      ...holdingsOf(entries).uncertain,
    ]),
  );
}

/** What calls ended in that may not end in an error. */
export const failuresIn = (journals: readonly Journal[]): string[] =>
  journals.flatMap(({ entries }) => entries.flatMap(({ what, error = "" }) => (what === "failed" ? error : [])));

/** What was done, in words. */
export function summaryOf(journals: readonly Journal[]): string {
  const entries = journals.flatMap((journal) => journal.entries);
  const count = (wanted: (entry: Entry) => boolean) => entries.filter(wanted).length;
  const changed = (subject: string) => count((entry) => entry.what === "changed" && entry.subject.startsWith(subject));
  return [
    `${callsIn(entries)} calls, of them ${count(({ what, ips }) => what === "got" && ips.length > 0)} took addresses`,
    `${count(({ what, ips }) => what === "released" && ips.length > 0)} released them`,
    `${count(({ what }) => what === "recovering")} ended what a kill had cut off`,
    `${count(({ what }) => what === "claiming")} were about blocks`,
    `${changed("owner of ")} moved a VM`,
    `${changed("reservation ")} changed a reservation`,
    `${changed("strictAffinity")} strict affinity and ${changed("ipCooldownSeconds")} the cooldown`,
  ].join(", ");
}
