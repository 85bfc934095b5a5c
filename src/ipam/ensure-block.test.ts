import { expect, test } from "vitest";
import { errorOf, windowsReserve, world } from "../../test/support/ipam.ts";

const windows = { hostname: "win", hostReservedAttrIPv4s: windowsReserve(3, 1) };

test("T66: a block of the first pool, the same one again, also when it is full; families are ensured on request", async () => {
  await using w = await world({
    pools: [
      ["10.0.0.0/26", 29],
      ["10.1.0.0/26", 29],
      ["fd00::/112", 122],
    ],
  });
  const first = await w.ipam.ensureBlock(windows);
  expect(first).toEqual({ v4: expect.stringMatching(/^10\.0\.0\.\d+\/29$/), v6: null });
  await w.ipam.autoAssign({ num4: 4, intendedUse: "Workload", hostname: "win" });
  expect((await w.block(first.v4!)).spec.unallocated).toEqual([]);
  expect(await w.ipam.ensureBlock(windows)).toEqual(first);
  const six = await w.ipam.ensureBlock({
    hostname: "win",
    ipv6Pools: ["fd00::/112"],
    hostReservedAttrIPv6s: windowsReserve(3, 1),
  });
  expect(six).toEqual({ v4: null, v6: expect.stringMatching(/^fd00::.*\/122$/) });
});

test("T66: pools that are disabled, unknown, of the other family or too finely cut are refused", async () => {
  await using w = await world({
    pools: [
      ["10.0.0.0/26", 31],
      ["10.1.0.0/26", 29, { disabled: true }],
      ["fd00::/112", 122],
    ],
  });
  const code = async (ipv4Pools: string[]) => (await errorOf(w.ipam.ensureBlock({ ...windows, ipv4Pools }))).code;
  expect(await code(["10.1.0.0/26"])).toBe("NoQualifiedPool");
  expect(await code(["fd00::/112"])).toBe("InvalidArgument");
  expect(await code(["10.0.0.0/26"])).toBe("NoQualifiedPool");
  await w.put("IPPool", "fine", { cidr: "10.2.0.0/26", blockSize: 29 });
  expect(await code(["10.9.0.0/26"])).toBe("PoolNotEnabled");
});

test("T66: no block left, or none to be claimed", async () => {
  await using w = await world({ pools: [["10.0.0.0/29", 29]] });
  await w.ipam.claimAffinity("10.0.0.0/29", { affinityType: "host", host: "other" });
  expect(await errorOf(w.ipam.ensureBlock(windows))).toMatchObject({ code: "NoFreeBlocks", class: "validation" });
  await w.ipam.setIPAMConfig({ strictAffinity: true, autoAllocateBlocks: false });
  expect(await errorOf(w.ipam.ensureBlock(windows))).toMatchObject({ code: "NoClaimAllowed" });
});

test("T26: what is left of a block that the host reserves is handed out", async () => {
  await using w = await world({ pools: [["10.0.0.0/30", 30]] });
  await w.ipam.ensureBlock({ hostname: "win", hostReservedAttrIPv4s: windowsReserve(2, 1, "test-handle") });
  expect((await w.block("10.0.0.0/30")).spec).toMatchObject({ allocations: [0, 0, null, 0], unallocated: [2] });
  const { v4 } = await w.ipam.autoAssign({ num4: 2, intendedUse: "Workload", hostname: "win" });
  expect(v4?.ips).toEqual(["10.0.0.2/30"]);
});

test("wholly reserved blocks are passed over", async () => {
  await using w = await world({ pools: [["10.0.0.0/28", 29]], blockOrder: () => 0n });
  await w.put("IPReservation", "r", { reservedCIDRs: ["10.0.0.0/29"] });
  expect((await w.ipam.ensureBlock(windows)).v4).toBe("10.0.0.8/29");
});

test("an own block that is wholly reserved is not what was asked for", async () => {
  await using w = await world({ pools: [["10.0.0.0/28", 29]], blockOrder: () => 0n });
  const first = await w.ipam.ensureBlock(windows);
  await w.put("IPReservation", "r", { reservedCIDRs: [first.v4!] });
  expect(await w.ipam.ensureBlock(windows)).toEqual({ v4: "10.0.0.8/29", v6: null });
});
