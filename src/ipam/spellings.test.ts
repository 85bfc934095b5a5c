/** A pool's range is the same however a caller or its object writes it. */
import { describe, expect, test } from "vitest";
import { world } from "../../test/support/ipam.ts";

const STORED = "2001:db8:42:0::/120";
const SPELLINGS = [
  "2001:db8:42::/120",
  "2001:DB8:42::0/120",
  "2001:0db8:0042:0000:0000:0000:0000:0000/120",
  "2001:db8:42::ff/120",
];
const BLOCK = "2001:DB8:42:0::7f/122";
const A = { affinityType: "host", host: "host-a" } as const;

describe.each(SPELLINGS)("a pool stored as %s is asked for otherwise", (text) => {
  const pools = {
    pools: [
      [STORED, 122],
      ["2001:db8:43::/120", 122],
    ],
  } as const;

  test("getUtilization finds it", async () => {
    await using w = await world(pools);
    const rows = await w.ipam.getUtilization({ pools: [text] });
    expect(rows.map(({ name, cidr }) => [name, cidr])).toEqual([["pool0", "2001:db8:42::/120"]]);
  });

  test("autoAssign and ensureBlock draw from it", async () => {
    await using w = await world(pools);
    const ipv6Pools = [text, STORED];
    const { v6 } = await w.ipam.autoAssign({ num6: 1, hostname: "host-a", intendedUse: "Workload", ipv6Pools });
    expect(v6?.ips).toEqual([expect.stringMatching(/^2001:db8:42::/)]);
    const hostReservedAttrIPv6s = { startOfBlock: 1, endOfBlock: 1, handle: "reserve", note: "test" };
    const { v6: block } = await w.ipam.ensureBlock({ hostname: "host-b", ipv6Pools: [text], hostReservedAttrIPv6s });
    expect(block).toMatch(/^2001:db8:42::/);
  });

  test("affinities of it are claimed and released", async () => {
    await using w = await world(pools);
    expect(await w.ipam.claimAffinity(text, A)).toMatchObject({ claimed: { length: 4 }, failed: [] });
    await w.ipam.releaseAffinity(BLOCK, "host-a", true);
    expect((await w.all("BlockAffinity")).length).toBe(3);
    await w.ipam.releasePoolAffinities(text);
    expect(await w.all("BlockAffinity")).toEqual([]);
  });

  test("a reservation of it takes out all of it", async () => {
    await using w = await world(pools);
    await w.put("IPReservation", "r", { reservedCIDRs: [text] });
    const [row] = await w.ipam.getUtilization({ pools: [text] });
    expect(row).toMatchObject({ reserved: 256n, available: 0n });
  });
});
