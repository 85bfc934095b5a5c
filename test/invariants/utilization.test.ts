/** Invariants 35 and 36 over what the reference's getUtilization said of the blocks it stored. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { IPAMBlock, IPPoolSpec } from "../../src/api/v3.ts";
import { block, pool, reservation } from "../support/ipam-data.ts";
import { check, type PoolReport } from "./check.ts";

interface Case {
  readonly name: string;
  readonly pools: readonly ({ readonly name: string; readonly cidr: string } & Partial<IPPoolSpec>)[];
  readonly reservations: readonly (readonly string[])[];
  readonly blocks: readonly { readonly spec: IPAMBlock["spec"] }[];
  readonly queries: readonly { readonly result: readonly PoolReport[] }[];
}
const { cases }: { cases: Case[] } = JSON.parse(
  readFileSync(new URL("../golden/utilization.v3.json", import.meta.url), "utf8"),
);

/** What was stored and reported, with the pools as the reports name them: some cases replace those they begin with. */
function findingsOf({ reservations, blocks, queries, pools }: Case, change: (report: PoolReport) => PoolReport) {
  const utilization = queries[0]!.result.map(change);
  const objects = {
    blocks: blocks.map(({ spec }) => block(spec.cidr, spec)),
    affinities: [],
    handles: [],
    configurations: [],
    pools: utilization
      .filter(({ name }) => name !== "orphaned allocation blocks")
      .map(({ name, cidr }) =>
        pool(
          name,
          cidr,
          pools.find((given) => given.name === name),
        ),
      ),
    reservations: reservations.map((cidrs, index) => reservation(`r${index}`, ...cidrs)),
    nodes: [],
    utilization,
  };
  const found = check(objects, { mode: "always", now: new Date("2026-12-01T00:00:00Z") });
  return [...new Set(found.map(({ invariant }) => invariant).filter((invariant) => invariant >= 35))];
}

/** Number 15 of the differences: the reference counts blocks that are marked as deleted. */
const DELETED = "block marked deleted still counted";
/** There the reference counts by the first pool that meets the block, and the invariant does not ask. */
const BY_FIRST_POOL = [
  "block of another size, larger than the pool",
  "overlapping pools, block belongs to the first by name",
];

const plain = cases.filter(({ name }) => ![DELETED, ...BY_FIRST_POOL].includes(name));

describe("recorded utilization", () => {
  it.each(cases)("$name: comes out", (recorded) => {
    expect(findingsOf(recorded, (report) => report)).toEqual(recorded.name === DELETED ? [35] : []);
  });

  it.each(plain)("$name: would not with one address more in use", (recorded) => {
    const oneMore = (report: PoolReport) => ({
      ...report,
      inUse: BigInt(report.inUse) + 1n,
      blocks: report.blocks.map((counts) => ({ ...counts, inUse: BigInt(counts.inUse) + 1n })),
    });
    expect(findingsOf(recorded, oneMore)).toContain(35);
    expect(findingsOf(recorded, oneMore).includes(36)).toBe(recorded.blocks.length > 0);
  });
});
