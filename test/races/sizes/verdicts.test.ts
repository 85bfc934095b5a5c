/** The verdicts on a round: what the race over block sizes relies on must see a fault where there is one. */
import { expect, test } from "vitest";
import type { IPAMBlock } from "../../../src/api/v3.ts";
import { affinity, usedBlock } from "../../support/ipam-data.ts";
import type { Entry, Journal } from "../journal.ts";
import { type Aftermath, faultsOf } from "./verdicts.ts";

let uids = 0;
const block = (cidr: string, host: string, used: Readonly<Record<number, string>> = {}): IPAMBlock => {
  const attributes = Object.entries(used).map(([ordinal, handle_id]) => [ordinal, { handle_id }]);
  const made = usedBlock(cidr, host, Object.fromEntries(attributes));
  return { ...made, metadata: { ...made.metadata, uid: `uid-${uids++}` } };
};
/** Who got which address, `10.0.0.1/28` where the block is known. */
const journal = (got: Readonly<Record<string, string>>): Journal => ({
  host: "host-a",
  cached: false,
  entries: Object.entries(got).map(([subject, masked], index): Entry => {
    const ips = [masked.split("/")[0]!];
    return { at: BigInt(index + 1), what: "got", subject, ips, masked: [masked] };
  }),
});
const after = (blocks: readonly IPAMBlock[], more: Partial<Aftermath> = {}): string[] =>
  faultsOf({ journals: [], affinities: [], planted: [], sizes: [26, 28], blocks, ...more });

test("nothing is wrong with blocks side by side whose addresses are their callers'", () => {
  const blocks = [block("10.0.0.0/28", "host-a", { 1: "a" }), block("10.0.0.64/26", "host-b", { 0: "b" })];
  expect(after(blocks, { journals: [journal({ a: "10.0.0.1/28", b: "10.0.0.64/26" })] })).toEqual([]);
});

test("an address that two blocks hold, and two callers were given", () => {
  const blocks = [block("10.0.0.0/28", "host-a", { 1: "a" }), block("10.0.0.0/26", "host-b", { 1: "b" })];
  const affinities = [affinity("host-a", "10.0.0.0/28"), affinity("host-b", "10.0.0.0/26")];
  const faults = after(blocks, { affinities, journals: [journal({ a: "10.0.0.1/28", b: "10.0.0.1/26" })] });
  expect(faults).toEqual([
    "10.0.0.1: a had it when b got it",
    "10.0.0.1 is held by a in 10.0.0.0/28 and b in 10.0.0.0/26",
    "10.0.0.0/28 (host:host-a, confirmed, 1 held) and 10.0.0.0/26 (host:host-b, confirmed, 1 held) overlap",
    "10.0.0.0/28 and 10.0.0.0/26 overlap, are confirmed, and both gave addresses",
  ]);
});

test("an address that was held before the round", () => {
  const planted = [block("10.0.0.0/28", "host-a", { 1: "old" })];
  const blocks = [...planted];
  expect(after(blocks, { planted, journals: [journal({ a: "10.0.0.1/28" })] })).toEqual([
    "10.0.0.1: old had it when a got it",
    "10.0.0.1 of a is not stored",
  ]);
});

test("an address that is stored for nobody, and one that is lost", () => {
  const blocks = [block("10.0.0.0/28", "host-a", { 2: "b" })];
  expect(after(blocks, { journals: [journal({ a: "10.0.0.1/28" })] })).toEqual([
    "10.0.0.1 of a is not stored",
    "10.0.0.2 of b is stored, and nobody was given it",
  ]);
});

test("a block of another size, and an overlap, but not where they were there before", () => {
  const planted = [block("10.0.0.0/27", "host-a"), block("10.0.0.0/26", "host-b")];
  expect(after(planted, { planted })).toEqual([]);
  const again = planted.map(({ spec: { cidr } }) => block(cidr, "host-a"));
  expect(after(again, { planted })).toEqual([
    "10.0.0.0/27 (host:host-a, no affinity, 0 held) and 10.0.0.0/26 (host:host-a, no affinity, 0 held) overlap",
    "10.0.0.0/27 was created, where pools have blocks of /26 and /28",
  ]);
});
