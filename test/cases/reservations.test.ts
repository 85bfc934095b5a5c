/** Cases of reservations: nested, outside, with a bad entry, over addresses in use; from the shared input. */
import { describe, expect, test } from "vitest";
import { numReservedIPsInCIDR } from "../../src/ipam/reserved.ts";
import { oddPool, reservationOf } from "../support/case-inputs.ts";
import { errorOf, type World, world } from "../support/ipam.ts";
import { reservation } from "../support/ipam-data.ts";

const ask = { num4: 64, intendedUse: "Workload", hostname: "node-a" } as const;
const pools = [["10.65.0.0/26", 29]] as const;
const NAMES = ["nested", "outside-every-pool", "whole-pool", "bad-entry-among-good", "v6-upper-case"] as const;
const reserve = async (w: World, ...names: readonly string[]) => {
  for (const name of names) await w.store.create(reservationOf(name));
};
const counts = async (w: World) => {
  const [row] = await w.ipam.getUtilization({ pools: ["pool0"] });
  const { capacity, inUse, reserved, available } = row!;
  return [capacity, inUse, reserved, available].map(Number);
};
const taken = async (w: World) => {
  const { v4 } = await w.ipam.autoAssign(ask);
  return v4!.ips.map((ip) => Number(/\.(\d+)\//.exec(ip)![1]));
};

describe("CRD-07: reservations that nest, repeat, lie outside, or have a bad entry", () => {
  test.each([
    ["nested", 4, [0, 1, 2, 3]],
    ["outside-every-pool", 0, []],
    ["whole-pool", 0, []],
    ["bad-entry-among-good", 1, [5]],
    ["v6-upper-case", 0, []],
  ] as const)("%s: counted once, and kept out", async (name, reserved, kept) => {
    await using w = await world({ pools });
    await reserve(w, name);
    expect(await counts(w)).toEqual([64, 0, reserved, 64 - reserved]);
    expect(numReservedIPsInCIDR("10.65.0.0/26", [reservationOf(name)])).toBe(BigInt(reserved));
    const ips = await taken(w);
    expect(ips).toHaveLength(64 - reserved);
    expect(kept.filter((ordinal) => ips.includes(ordinal))).toEqual([]);
  });

  test("all together", async () => {
    await using w = await world({ pools });
    await reserve(w, ...NAMES);
    expect(await counts(w)).toEqual([64, 0, 5, 59]);
    expect(await taken(w)).toHaveLength(59);
    expect(numReservedIPsInCIDR("10.65.0.0/26", NAMES.map(reservationOf))).toBe(5n);
  });

  test("upper-case IPv6 is the same range as lower-case", async () => {
    await using w = await world();
    await w.store.create(oddPool("v6-wide-blocks"));
    await reserve(w, "v6-upper-case");
    expect((await w.ipam.getUtilization())[0]).toMatchObject({ cidr: "2001:db8:64::/62", reserved: 32n });
  });

  test("an address in use that is reserved stays in use, is counted as both, and once released is not given again", async () => {
    await using w = await world({ pools });
    await w.ipam.assignIP({ ip: "10.65.0.5", hostname: "node-a", handleID: "h" });
    await reserve(w, "bad-entry-among-good");
    expect(await w.ipam.getAssignmentAttributes("10.65.0.5")).toMatchObject({ handleID: "h" });
    expect(await counts(w)).toEqual([64, 1, 1, 63]);
    await w.ipam.releaseByHandle("h");
    expect(await counts(w)).toEqual([64, 0, 1, 63]);
    expect(await taken(w)).not.toContain(5);
    expect(await errorOf(w.ipam.getAssignmentAttributes("10.65.0.5"))).toMatchObject({ code: "NotFound" });
  });

  test("a reserved address is still given to whoever asks for that very one", async () => {
    await using w = await world({ pools });
    await reserve(w, "nested");
    await w.ipam.assignIP({ ip: "10.65.0.2", hostname: "node-a", handleID: "h" });
    expect(await w.ipam.ipsByHandle("h")).toEqual(["10.65.0.2"]);
  });
});

describe("CLI-06: what is reserved is not shown as free", () => {
  test("a wholly reserved pool without a block", async () => {
    await using w = await world();
    await w.store.create(oddPool("one-block-only"));
    await reserve(w, "whole-pool");
    expect((await w.ipam.getUtilization())[0]).toMatchObject({ capacity: 64n, reserved: 64n, available: 0n });
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual([]);
    expect(await w.all("IPAMBlock")).toEqual([]);
  });

  test("a nested one on a half full block: pool and block agree with what is handed out", async () => {
    await using w = await world({ pools, blockOrder: () => 0n });
    for (const last of [0, 2, 4, 6]) await w.ipam.assignIP({ ip: `10.65.0.${last}`, hostname: "node-a" });
    await reserve(w, "nested");
    const [row] = await w.ipam.getUtilization();
    expect(row).toMatchObject({ capacity: 64n, inUse: 4n, reserved: 4n, available: 58n });
    expect(row?.blocks).toMatchObject([{ capacity: 8n, inUse: 4n, reserved: 4n, available: 2n }]);
    expect(await taken(w)).toHaveLength(58);
    expect((await w.ipam.getUtilization())[0]).toMatchObject({ inUse: 62n, available: 0n });
  });

  test("reservations over what a Windows host leaves free: no block is claimed in vain", async () => {
    await using w = await world({ pools: [["10.65.0.0/27", 30]], blockOrder: () => 0n });
    const middles = Array.from({ length: 7 }, (_, block) => `10.65.0.${block * 4 + 2}`);
    await w.store.create(reservation("middles", ...middles));
    const hostReservedAttrIPv4s = { startOfBlock: 2, endOfBlock: 1, handle: "windows-reserved-ipam-handle", note: "" };
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 1, hostReservedAttrIPv4s });
    expect(v4?.ips).toEqual(["10.65.0.30/30"]);
    expect(await w.all("IPAMBlock")).toHaveLength(1);
  });
});
