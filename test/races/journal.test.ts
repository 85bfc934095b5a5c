/** The journal's own judgements: what the race test relies on must see a fault where there is one. */
import { expect, test } from "vitest";
import { callsIn, type Entry, handedOutTwice, holdingsOf } from "./journal.ts";

const IP = "10.0.0.1";
const entry = (at: number, what: Entry["what"], handle: string, ...ips: string[]): Entry => ({
  at: BigInt(at),
  what,
  handle,
  ips,
});

test("an address that two handles have at once was handed out twice, whatever journal says so", () => {
  const first = [entry(1, "taking", "a"), entry(2, "got", "a", IP), entry(9, "releasing", "a", IP)];
  const second = [entry(3, "taking", "b"), entry(5, "got", "b", IP)];
  expect(handedOutTwice([first, second])).toEqual(["10.0.0.1: a had it when b got it"]);
});

test("an address may be another's once its release has begun", () => {
  const first = [entry(2, "got", "a", IP), entry(4, "releasing", "a", IP), entry(6, "released", "a", IP)];
  expect(handedOutTwice([first, [entry(5, "got", "b", IP)]])).toEqual([]);
});

test("a handle whose last call has no end may have addresses or not", () => {
  const entries = [
    entry(1, "taking", "kept"),
    entry(2, "got", "kept", IP),
    entry(3, "taking", "nothing"),
    entry(4, "got", "nothing"),
    entry(5, "taking", "given-back"),
    entry(6, "got", "given-back", "10.0.0.2"),
    entry(7, "releasing", "given-back", "10.0.0.2"),
    entry(8, "released", "given-back", "10.0.0.2"),
    entry(9, "taking", "cut-off"),
  ];
  expect(holdingsOf(entries)).toEqual({ held: new Map([["kept", [IP]]]), uncertain: new Set(["cut-off"]) });
  expect(callsIn(entries)).toBe(5);
});
