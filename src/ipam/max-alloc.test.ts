/** TRY-11: what a handle's limit allows is decided before anything is written, and does not depend on which block has room. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorOf, type World, world } from "../../test/support/ipam.ts";

const ask = { intendedUse: "Workload", hostname: "host-a", handleID: "h" } as const;
const pools = [["10.0.0.0/28", 30]] as const;
const addressOf = (masked: string) => masked.split("/")[0]!;

/** Gives the handle addresses in blocks of several hosts. */
async function hold(w: World, ips: readonly string[]): Promise<void> {
  for (const ip of ips) await w.ipam.assignIP({ ip, handleID: "h", hostname: `node-${ip.split(".").at(-1)}` });
  w.writes();
}

describe("TRY-11", () => {
  test("one held, two asked, at most two: refused at once, and nothing is written", async () => {
    await using w = await world({ pools });
    await hold(w, ["10.0.0.0"]);
    const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 2, maxAllocToHandlePerIPVersion: 2 }));
    expect(error).toMatchObject({ code: "InsufficientIPsByHandle", details: [] });
    expect(w.writes()).toEqual([]);
  });

  test("two held on two nodes, two asked, at most three: the held ones, and nothing is claimed", async () => {
    await using w = await world({ pools, blockOrder: () => 2n });
    await hold(w, ["10.0.0.0", "10.0.0.4"]);
    for (const ip of ["10.0.0.8", "10.0.0.9", "10.0.0.10"]) {
      await w.ipam.assignIP({ ip, handleID: "other", hostname: "host-a" });
    }
    w.writes();
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 2, maxAllocToHandlePerIPVersion: 3 });
    expect(v4?.ips).toEqual(["10.0.0.0/30", "10.0.0.4/30"]);
    expect(w.writes()).toEqual([]);
  });

  test.each([0, 1, 2, 3])(
    "two asked, at most one, %d free in the own block: refused, and nothing is written",
    async (free) => {
      await using w = await world({ pools, blockOrder: () => 0n });
      const used = ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"].slice(free);
      for (const ip of used) await w.ipam.assignIP({ ip, handleID: "other", hostname: "host-a" });
      w.writes();
      const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 2, maxAllocToHandlePerIPVersion: 1 }));
      expect(error).toMatchObject({ code: "InsufficientIPsByHandle" });
      expect(w.writes()).toEqual([]);
    },
  );

  test("assignIP claims no block for a handle that may get no more", async () => {
    await using w = await world({ pools });
    await hold(w, ["10.0.0.0"]);
    const request = { handleID: "h", hostname: "host-a", maxAllocToHandlePerIPVersion: 1 };
    expect(await errorOf(w.ipam.assignIP({ ...request, ip: "10.0.0.9" }))).toMatchObject({ code: "MaxAllocReached" });
    await w.ipam.assignIP({ ...request, ip: "10.0.0.0" });
    expect(w.writes()).toEqual([]);
  });
});

test("with a limit the result depends on held, asked and limit alone, not on which block has room", async () => {
  const ordinal = fc.nat(15);
  const layout = fc.record({
    held: fc.uniqueArray(ordinal, { maxLength: 4 }),
    taken: fc.uniqueArray(ordinal, { maxLength: 8 }),
    num4: fc.integer({ min: 1, max: 4 }),
    most: fc.integer({ min: 1, max: 5 }),
    start: fc.nat(3),
  });
  await fc.assert(
    fc.asyncProperty(layout, async ({ held, taken, num4, most, start }) => {
      await using w = await world({ pools, blockOrder: () => BigInt(start) });
      await hold(
        w,
        held.map((last) => `10.0.0.${last}`),
      );
      for (const last of taken.filter((last) => !held.includes(last))) {
        await w.ipam.assignIP({ ip: `10.0.0.${last}`, handleID: "other", hostname: `node-${last % 3}` });
      }
      w.writes();
      const before = held.map((last) => `10.0.0.${last}`);
      const calling = w.ipam.autoAssign({ ...ask, num4, maxAllocToHandlePerIPVersion: most });
      if (held.length + num4 <= most) {
        const ips = (await calling).v4!.ips.map(addressOf);
        expect(ips.filter((ip) => before.includes(ip))).toEqual([]);
        expect(ips).toHaveLength(Math.min(num4, 16 - new Set([...held, ...taken]).size));
        return;
      }
      if (held.length >= num4) {
        const ips = (await calling).v4!.ips.map(addressOf);
        expect(ips).toHaveLength(num4);
        expect(ips.filter((ip) => !before.includes(ip))).toEqual([]);
      } else {
        expect(await errorOf(calling)).toMatchObject({ code: "InsufficientIPsByHandle" });
      }
      expect(w.writes()).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
