/** The journals' own judgements: what the race test relies on must see a fault where there is one. */
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { callsIn, callsInFile, type Entry, holdingsOf, type Journal, note, readEntries, valuesOf } from "./journal.ts";
import { borrowedWhileStrict, cutOffHandles, handedOutTwice, takenWhileReserved } from "./verdicts.ts";

const IP = "10.0.0.1";
const entry = (at: number, what: Entry["what"], subject: string, more: Partial<Entry> = {}): Entry => ({
  at: BigInt(at),
  what,
  subject,
  ips: [],
  ...more,
});
const holding = (at: number, what: Entry["what"], subject: string, ...ips: string[]) =>
  entry(at, what, subject, { ips });
const journal = (...entries: Entry[]): Journal => ({ host: "host-a", cached: false, entries });
const change = (subject: string, value: string, from: number, to: number) => [
  entry(from, "changing", subject, { value }),
  entry(to, "changed", subject, { value }),
];

describe("handed out twice", () => {
  test("is an address that two handles have at once, whatever journal says so", () => {
    const first = journal(entry(1, "taking", "a"), holding(2, "got", "a", IP), holding(9, "releasing", "a", IP));
    const second = journal(entry(3, "taking", "b"), holding(5, "got", "b", IP));
    expect(handedOutTwice([first, second])).toEqual(["10.0.0.1: a had it when b got it"]);
  });

  test("is none that became another's once its release had begun", () => {
    const first = [holding(2, "got", "a", IP), holding(4, "releasing", "a", IP), holding(6, "released", "a", IP)];
    expect(handedOutTwice([journal(...first), journal(holding(5, "got", "b", IP))])).toEqual([]);
  });
});

test("a handle whose last call has no end may have addresses or not", () => {
  const entries = [
    entry(1, "taking", "kept"),
    holding(2, "got", "kept", IP),
    entry(3, "taking", "nothing"),
    entry(4, "got", "nothing"),
    entry(5, "taking", "given-back"),
    holding(6, "got", "given-back", "10.0.0.2"),
    holding(7, "releasing", "given-back", "10.0.0.2"),
    holding(8, "released", "given-back", "10.0.0.2"),
    entry(9, "recovering", "ended"),
    entry(10, "released", "ended"),
    entry(11, "taking", "cut-off"),
  ];
  expect(holdingsOf(entries)).toEqual({ held: new Map([["kept", [IP]]]), uncertain: new Set(["cut-off"]) });
  expect(callsIn(entries)).toBe(6);
  expect(cutOffHandles([journal(...entries)])).toEqual(new Set(["ended", "cut-off"]));
});

test("a journal is read while it is being written; a line that is not whole does not count", () => {
  const dir = mkdtempSync(join(tmpdir(), "ipam-operator-journal-"));
  const path = join(dir, "journal");
  expect([readEntries(path), callsInFile(path)]).toEqual([[], 0]);
  note(path, "taking", "a", { by: "autoAssign" });
  note(path, "got", "a", { ips: [IP] });
  note(path, "changing", "what", { value: "releasing" });
  expect(callsInFile(path)).toBe(2);
  appendFileSync(path, '{"at":"1","wha');
  expect(readEntries(path)).toMatchObject([{ subject: "a" }, { what: "got", ips: [IP] }, { value: "releasing" }]);
  rmSync(dir, { recursive: true });
});

test("the last value counts, and none while it is being changed", () => {
  const entries = [...change("a", "1", 1, 2), ...change("a", "2", 3, 4), ...change("b", "1", 5, 6)];
  expect(valuesOf([...entries, entry(7, "changing", "b", { value: "2" })])).toEqual(new Map([["a", "2"]]));
});

describe("a reserved address", () => {
  const reserving = [...change("reservation r", `${IP}/30 fd00::/127`, 1, 3), ...change("reservation r", "", 20, 22)];
  const taking = (from: number, to: number, by = "autoAssign", ip = IP) =>
    journal(entry(from, "taking", "h", { by }), holding(to, "got", "h", ip));
  const judged = (taken: Journal) => takenWhileReserved([journal(...reserving), taken]);

  test("may not be given while it surely is one", () => {
    expect(judged(taking(4, 5))).toEqual(["10.0.0.1 was reserved when h got it"]);
    expect(judged(taking(4, 5, "autoAssign", "fd00::1"))).toHaveLength(1);
  });

  test.each([
    ["the reservation was being made", taking(2, 5)],
    ["it was being removed", taking(18, 21)],
    ["another address was given", taking(4, 5, "autoAssign", "10.0.0.4")],
    ["it was asked for by name", taking(4, 5, "assignIP")],
    ["the caller reads from caches", { ...taking(4, 5), cached: true }],
  ])("may be when %s", (_, taken) => expect(judged(taken)).toEqual([]));
});

describe("an address of another host's block", () => {
  const strict = [...change("strictAffinity", "true", 1, 3), ...change("strictAffinity", "false", 20, 22)];
  const taking = (from: number, to: number, owner: string) =>
    journal(entry(from, "taking", "h"), entry(to, "got", "h", { ips: [IP], owners: [owner] }));
  const judged = (taken: Journal) => borrowedWhileStrict([journal(...strict), taken]);

  test("may not be given while affinity surely is strict", () => {
    expect(judged(taking(4, 5, "host:host-b"))).toEqual(["h of host-a got 10.0.0.1 from a block of host:host-b"]);
  });

  test.each([
    ["its own", taking(4, 5, "host:host-a")],
    ["nobody's", taking(4, 5, "")],
    ["another's, when strictness was just coming", taking(2, 5, "host:host-b")],
    ["another's, when it was going", taking(18, 21, "host:host-b")],
    ["another's, when it was gone", taking(23, 24, "host:host-b")],
  ])("may be %s", (_, taken) => expect(judged(taken)).toEqual([]));
});
