/** Objects of every older form in one cluster: calls work on them, and what is written is of today's form. */
import { describe, expect, test } from "vitest";
import { check } from "../../invariants/check.ts";
import { count, errorOf, type World, world } from "../../support/ipam.ts";
import { olderObjects } from "../../support/older-objects.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const owner = { affinityType: "host", host: "node-a" } as const;

async function start(): Promise<World> {
  const w = await world({ pools: [["10.0.0.0/26", 29]], blockOrder: () => 0n });
  for (const object of olderObjects()) await w.store.create(object);
  return w;
}
const expectSound = async (w: World) => expect(check(await w.stored(), { mode: "atRest", now: w.now })).toEqual([]);

describe("older forms of rows, blocks and handles side by side", () => {
  test("autoAssign goes on in the block that the old row stands for; the write gives numbers to what has none", async () => {
    await using w = await start();
    expect((await w.ipam.autoAssign({ ...ask, handleID: "new" })).v4?.ips).toEqual(["10.0.0.1/29"]);
    const { spec } = await w.block("10.0.0.0/29");
    expect(spec).toMatchObject({ sequenceNumber: 1n, sequenceNumberForAllocation: { 0: 0n, 1: 0n } });
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.cidr)).toHaveLength(3);
  });

  test("all that they leave free is given before a new block is claimed", async () => {
    await using w = await start();
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 15, handleID: "new" });
    expect(count(v4)).toBe(15);
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.cidr)).toHaveLength(3);
  });

  test("release by handle, by address, and with the number that is absent", async () => {
    await using w = await start();
    expect(await w.ipam.ipsByHandle("old")).toEqual(["10.0.0.0"]);
    const wrong = w.ipam.releaseIPs([{ address: "10.0.0.0", sequenceNumber: 7n }]);
    expect(await errorOf(wrong)).toMatchObject({ code: "BadSequenceNumber" });
    await w.ipam.releaseIPs([{ address: "10.0.0.0", handle: "old", sequenceNumber: 0n }]);
    expect(await errorOf(w.ipam.ipsByHandle("old"))).toMatchObject({ code: "NotFound" });
    await w.ipam.releaseIPs([{ address: "10.0.0.16" }]);
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.cidr)).toEqual(["10.0.0.0/29", "10.0.0.8/29"]);
  });

  test("getUtilization counts them and writes nothing", async () => {
    await using w = await start();
    const [row] = await w.ipam.getUtilization();
    expect(row).toMatchObject({ capacity: 64n, inUse: 2n, inCooldown: 0n, available: 62n });
    expect(row!.blocks.map(({ cidr, inUse }) => [cidr, inUse])).toEqual([
      ["10.0.0.0/29", 1n],
      ["10.0.0.16/29", 1n],
      ["10.0.0.8/29", 0n],
    ]);
    expect(w.writes()).toEqual([]);
    expect(w.warnings).toEqual([]);
  });

  test("upgradeHost gives its rows a type and keeps their states", async () => {
    await using w = await start();
    await w.ipam.upgradeHost("node-a");
    expect((await w.all("BlockAffinity")).map(({ spec }) => [spec.type, spec.state])).toEqual([
      ["host", ""],
      ["host", "confirmed"],
    ]);
  });

  test("releaseHostAffinities gives up what they stand for, and keeps the block that is in use", async () => {
    await using w = await start();
    await errorOf(w.ipam.releaseHostAffinities(owner, true)).then((error) =>
      expect(error).toMatchObject({ code: "BlockNotEmpty" }),
    );
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.cidr)).toEqual(["10.0.0.0/29"]);
    await w.ipam.releaseHostAffinities(owner, false);
    expect(await w.all("BlockAffinity")).toEqual([]);
    const blocks = await w.all("IPAMBlock");
    expect(blocks.map(({ spec }) => [spec.cidr, spec.affinity])).toEqual([
      ["10.0.0.0/29", undefined],
      ["10.0.0.16/29", undefined],
    ]);
    await expectSound(w);
  });
});
