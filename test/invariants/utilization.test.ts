/** Invariants 35 and 36 over what the reference's getUtilization said of the blocks it stored. */
import { describe, expect, it } from "vitest";
import {
  COUNTS_DELETED,
  storedFor,
  type UtilizationCase,
  utilizationCases,
} from "../conformance/utilization-recording.ts";
import { check, type PoolReport } from "./check.ts";

function findingsOf(recorded: UtilizationCase, change: (report: PoolReport) => PoolReport) {
  const utilization = recorded.queries[0]!.result.map(change);
  const others = { affinities: [], handles: [], configurations: [], nodes: [] };
  const objects = { ...storedFor(recorded), ...others, utilization };
  const found = check(objects, { mode: "always", now: new Date("2026-12-01T00:00:00Z") });
  return [...new Set(found.map(({ invariant }) => invariant).filter((invariant) => invariant >= 35))];
}

/** There the reference counts by the first pool that meets the block, and the invariant does not ask. */
const BY_FIRST_POOL = [
  "block of another size, larger than the pool",
  "overlapping pools, block belongs to the first by name",
];

const plain = utilizationCases.filter(({ name }) => ![COUNTS_DELETED, ...BY_FIRST_POOL].includes(name));

describe("recorded utilization", () => {
  it.each(utilizationCases)("$name: comes out", (recorded) => {
    expect(findingsOf(recorded, (report) => report)).toEqual(recorded.name === COUNTS_DELETED ? [35] : []);
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
