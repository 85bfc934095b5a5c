/**
 * getUtilization against what the reference said of the same objects. Differences by number: 15 a block marked as
 * deleted is gone; 38 orphaned IPv6 blocks have a row of their own; 16 the count of what cools down is given beside.
 * Of a block that is larger than its pool, Calico counts all: here what lies in the pool, as a pool cannot have 63 free
 * addresses of 32.
 */
import { afterEach, describe, expect, it } from "vitest";
import { openCopy } from "../../src/datastore/embedded.ts";
import { createIpam } from "../../src/ipam/client.ts";
import type { BlockUtilization, PoolUtilization } from "../../src/ipam/utilization.ts";
import type { Counts, PoolReport } from "../invariants/check.ts";
import { COUNTS_DELETED, ORPHANS, storedFor, type UtilizationCase, utilizationCases } from "./utilization-recording.ts";

let store = openCopy(":memory:");
afterEach(async () => {
  await store.close();
  store = openCopy(":memory:");
});

async function reportsOf(recorded: UtilizationCase): Promise<(readonly PoolUtilization[])[]> {
  const { blocks, pools, reservations } = storedFor(recorded);
  for (const object of [...blocks, ...pools, ...reservations]) await store.create<typeof object.kind>(object);
  const ipam = createIpam({ datastore: store, clock: () => new Date("2026-11-29T16:04:00Z"), windowsHost: false });
  return Promise.all(recorded.queries.map(({ pools: wanted }) => ipam.getUtilization({ pools: wanted })));
}

const counts = ({ capacity, inUse, reserved, available }: Counts | BlockUtilization) =>
  [capacity, inUse, reserved, available].map(BigInt);
const rows = (reports: readonly (PoolReport | PoolUtilization)[]) =>
  reports.map((report) => ({
    row: [report.name, report.cidr, ...counts(report)],
    blocks: report.blocks.map((block) => [block.cidr, ...counts(block)]),
  }));

/** 38: the one case with an orphaned IPv6 block. */
const ORPHANED_V6 = { row: [ORPHANS, "::/0", 0n, 0n, 0n, 0n], blocks: [["fd00::/122", 64n, 1n, 0n, 63n]] };

const LARGER_THAN_POOL = "block of another size, larger than the pool";

function expected({ name, queries }: UtilizationCase) {
  if (name === COUNTS_DELETED) {
    const orphans = { row: [ORPHANS, "0.0.0.0/0", 0n, 0n, 0n, 0n], blocks: [] };
    return [[{ row: ["a", "10.0.0.0/27", 32n, 0n, 0n, 32n], blocks: [] }, orphans]]; // 15
  }
  const recorded = queries.map(({ result }) => rows(result));
  if (name === LARGER_THAN_POOL) {
    const [[half, ...others]] = recorded as [[(typeof recorded)[0][0], ...(typeof recorded)[0]]];
    return [[{ ...half, row: [...half!.row.slice(0, -1), 31n] }, ...others]];
  }
  return name === "orphaned blocks" ? [[...recorded[0]!, ORPHANED_V6], ...recorded.slice(1)] : recorded;
}

describe("recorded utilization", () => {
  it.each(utilizationCases)("$name", async (recorded) => {
    expect((await reportsOf(recorded)).map(rows)).toEqual(expected(recorded));
  });

  it("16: what cools down is counted, and in use", async () => {
    const recorded = utilizationCases.find(({ name }) => name.includes("cold addresses"))!;
    const [[pool]] = (await reportsOf(recorded)) as [[PoolUtilization]];
    expect(pool).toMatchObject({ inUse: 6n, inCooldown: 3n });
  });
});
