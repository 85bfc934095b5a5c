import { describe, expect, test } from "vitest";
import { count, errorOf, windowsReserve, world } from "../../test/support/ipam.ts";
import { type AutoAssignResult, partialFulfillmentError, partialResult } from "./assignments.ts";

const ask = { intendedUse: "Workload", hostname: "host-a" } as const;
const onlyFour = (error: unknown) => partialResult<AutoAssignResult>(error)?.v4;

describe("autoAssign", () => {
  test.each([
    ["T1", "192.168.1.0/24", 32, "fd00::/120", 128],
    ["T2", "192.168.0.0/16", 20, "fd00::/110", 116],
  ])("%s: one address of each family", async (_, v4, size4, v6, size6) => {
    await using w = await world({
      pools: [
        [v4, size4],
        [v6, size6],
      ],
    });
    const result = await w.ipam.autoAssign({ ...ask, num4: 1, num6: 1 });
    expect([count(result.v4), count(result.v6), result.v4?.msgs, result.v6?.msgs]).toEqual([1, 1, [], []]);
    expect(result.v4?.ips[0]).toMatch(new RegExp(`/${size4}$`));
    expect(result.v6?.ips[0]).toMatch(new RegExp(`/${size6}$`));
  });

  test.each([
    ["T3", 26, 122, 0],
    ["T4", 30, 126, 256],
  ])(
    "%s: 256 of each family",
    async (_, size4, size6, maxBlocksPerHost) => {
      await using w = await world({
        pools: [
          ["192.168.1.0/24", size4],
          ["fd00::/120", size6],
        ],
      });
      const { v4, v6 } = await w.ipam.autoAssign({ ...ask, num4: 256, num6: 256, maxBlocksPerHost });
      expect([new Set(v4?.ips).size, new Set(v6?.ips).size]).toEqual([256, 256]);
    },
    120_000,
  );

  test.each([
    [{ num4: 256, maxBlocksPerHost: 1 }, "v4", 64],
    [{ num4: 256, maxBlocksPerHost: 2 }, "v4", 128],
    [{ num6: 256, maxBlocksPerHost: 1 }, "v6", 64],
  ] as const)("T5: a cap ends in BlockLimit with what there is: %j", async (args, family, number) => {
    await using w = await world({
      pools: [
        ["192.168.1.0/24", 26],
        ["fd00::/120", 122],
      ],
    });
    const error = await errorOf(w.ipam.autoAssign({ ...ask, ...args }));
    expect(error).toMatchObject({
      code: "BlockLimit",
      message: "cannot allocate new block due to per host block limit",
    });
    const assigned = partialResult<AutoAssignResult>(error)?.[family];
    expect(count(assigned ?? null)).toBe(number);
    const message = `Need to allocate an IPAM block but could not - limit of ${args.maxBlocksPerHost} blocks reached for this node`;
    expect(assigned?.msgs).toEqual([message]);
    expect(partialFulfillmentError(assigned!)).toBe(
      `Assigned ${number} out of 256 requested IPv${family[1]} addresses; ${message}`,
    );
  });

  test.each([
    ["192.168.1.0/24", 26, "num4", "v4"],
    ["fd00::/120", 122, "num6", "v6"],
  ] as const)("T6: running out of %s is no error", async (cidr, blockSize, number, family) => {
    await using w = await world({ pools: [[cidr, blockSize]] });
    const assigned = (await w.ipam.autoAssign({ ...ask, [number]: 257 }))[family];
    expect([count(assigned), assigned?.msgs]).toEqual([256, [`No IPs available in pools: [${cidr}]`]]);
  });

  test("T7: the last of 64 is borrowed", async () => {
    await using w = await world({ pools: [["10.0.0.0/25", 26]] });
    const a = await w.ipam.autoAssign({ ...ask, num4: 1 });
    const b = await w.ipam.autoAssign({ ...ask, hostname: "host-b", num4: 1 });
    const more = await w.ipam.autoAssign({ ...ask, num4: 64 });
    expect([count(more.v4), more.v4?.msgs]).toEqual([64, []]);
    const blocks = await w.all("IPAMBlock");
    expect(blocks.map(({ spec }) => [spec.affinity, spec.unallocated.length])).toEqual(
      expect.arrayContaining([
        ["host:host-a", 0],
        ["host:host-b", 62],
      ]),
    );
    expect(new Set([...a.v4!.ips, ...b.v4!.ips, ...more.v4!.ips]).size).toBe(66);
  });

  test("T8: strict affinity borrows nothing, and says so", async () => {
    await using w = await world({
      pools: [
        ["192.168.1.0/26", 26],
        ["192.168.1.64/26", 26],
      ],
    });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 256, ipv4Pools: ["192.168.1.0/26"] });
    expect([count(v4), v4?.msgs]).toEqual([64, ["No more free affine blocks and strict affinity enabled"]]);
  });

  test("T9: requested pools in their order, until both are empty", async () => {
    await using w = await world({
      pools: [
        ["20.0.0.0/24", 26],
        ["10.0.0.0/24", 26],
      ],
    });
    const from = { ...ask, ipv4Pools: ["10.0.0.0/24", "20.0.0.0/24"] };
    const one = await w.ipam.autoAssign({ ...from, num4: 1 });
    expect(one.v4?.ips[0]).toMatch(/^10\./);
    expect(count((await w.ipam.autoAssign({ ...from, num4: 300 })).v4)).toBe(300);
    expect(count((await w.ipam.autoAssign({ ...from, num4: 300 })).v4)).toBe(211);
  });

  test("T10: a pool that is disabled, unknown or of the other family is refused, and nothing is assigned", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/24", 26],
        ["20.0.0.0/24", 26, { disabled: true }],
      ],
    });
    for (const cidr of ["20.0.0.0/24", "40.0.0.0/24"]) {
      expect(await errorOf(w.ipam.autoAssign({ ...ask, num4: 1, ipv4Pools: ["10.0.0.0/24", cidr] }))).toMatchObject({
        code: "PoolNotEnabled",
        message: `the given pool (${cidr}) does not exist, or is not enabled`,
      });
    }
    const mixed = w.ipam.autoAssign({ ...ask, num6: 1, ipv6Pools: ["10.0.0.0/24"] });
    expect(await errorOf(mixed)).toMatchObject({ code: "InvalidArgument" });
    expect(await w.all("IPAMBlock")).toEqual([]);
  });

  test("T11: pools by use", async () => {
    const uses = (...allowedUses: string[]) => ({ allowedUses });
    await using w = await world({
      pools: [
        ["10.0.0.0/26", 26, uses("Tunnel")],
        ["20.0.0.0/26", 26, uses("Workload")],
      ],
    });
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 100 });
    expect(v4?.ips.every((ip) => ip.startsWith("20."))).toBe(true);
    expect(count(v4)).toBe(64);
    const wrong = await errorOf(w.ipam.autoAssign({ ...ask, num4: 1, ipv4Pools: ["10.0.0.0/26"] }));
    expect(wrong).toMatchObject({
      code: "NoQualifiedPool",
      message: expect.stringContaining("required use (Workload)"),
    });
    const none = w.ipam.autoAssign({ num4: 1, intendedUse: "" as "Workload" });
    expect(await errorOf(none)).toMatchObject({
      code: "UseRequired",
      message: "must specify the intended use when assigning an IP",
    });
  });

  test("T12: node selectors decide", async () => {
    const pools = ['foo == "bar"', 'foo != "bar"'].map(
      (nodeSelector, i) => [`${i + 1}0.0.0.0/24`, 26, { nodeSelector }] as const,
    );
    await using w = await world({ pools, nodes: { "host-a": { foo: "bar" } } });
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 300 });
    expect([count(v4), v4?.ips.every((ip) => ip.startsWith("10."))]).toEqual([256, true]);
  });

  test("T13: a node that is no longer selected gets an error that says why; the other borrows from its block", async () => {
    const pools = [["10.0.0.0/30", 30, { nodeSelector: "yes == '1'" }]] as const;
    await using w = await world({ pools, nodes: { host1: { yes: "1" }, host2: {} } });
    await w.ipam.autoAssign({ ...ask, hostname: "host1", num4: 3 });
    Object.assign(w.nodes, { host1: {}, host2: { yes: "1" } });
    expect(await errorOf(w.ipam.autoAssign({ ...ask, hostname: "host1", num4: 1 }))).toMatchObject({
      code: "NoQualifiedPool",
      message: "no configured Calico pools for node host1",
      details: [`pool "pool0" (10.0.0.0/30) does not select node host1 (nodeSelector: yes == '1')`],
    });
    expect(count((await w.ipam.autoAssign({ ...ask, hostname: "host2", num4: 1 })).v4)).toBe(1);
    expect((await w.block("10.0.0.0/30")).spec.affinity).toBe("host:host1");
  });

  test("T14: the smaller cap counts", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]] });
    await w.ipam.setIPAMConfig({ strictAffinity: true, maxBlocksPerHost: 2 });
    for (let i = 0; i < 8; i++) expect(count((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4)).toBe(1);
    for (const maxBlocksPerHost of [0, 3]) {
      const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 1, maxBlocksPerHost }));
      expect(error).toMatchObject({ code: "BlockLimit" });
      expect(onlyFour(error)).toMatchObject({ ips: [], numRequested: 1 });
    }
    await w.ipam.setIPAMConfig({ maxBlocksPerHost: 3 });
    expect(await errorOf(w.ipam.autoAssign({ ...ask, num4: 1, maxBlocksPerHost: 2 }))).toMatchObject({
      code: "BlockLimit",
    });
    expect(count((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4)).toBe(1);
  });

  test("T15: the default cap is 20 blocks", async () => {
    await using w = await world({ pools: [["10.0.0.0/24", 32]] });
    const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 30 }));
    expect([error.code, count(onlyFour(error) ?? null)]).toEqual(["BlockLimit", 20]);
  });

  test("at the cap, without strict affinity, addresses are borrowed", async () => {
    await using w = await world({ pools: [["10.0.0.0/29", 30]] });
    await w.ipam.autoAssign({ ...ask, hostname: "host-b", num4: 1 });
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 6, maxBlocksPerHost: 1 });
    expect(count(v4)).toBe(6);
    const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 2, maxBlocksPerHost: 1 }));
    expect([count(onlyFour(error) ?? null), onlyFour(error)?.msgs.length]).toEqual([1, 1]);
  });

  test("T16: without autoAllocateBlocks nothing is claimed", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]] });
    await w.ipam.autoAssign({ ...ask, num4: 2 });
    await w.ipam.setIPAMConfig({ strictAffinity: true, autoAllocateBlocks: false });
    const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 3 }));
    expect(error).toMatchObject({ code: "NoClaimAllowed", message: "failed to find or claim a block" });
    expect(count(onlyFour(error) ?? null)).toBe(2);
    const other = await errorOf(w.ipam.autoAssign({ ...ask, hostname: "host-b", num4: 3 }));
    expect([other.code, count(onlyFour(other) ?? null)]).toEqual(["NoClaimAllowed", 0]);
    expect(await w.all("IPAMBlock")).toHaveLength(1);
  });

  test.each([
    [false, 58],
    [true, 55],
  ])("T17: reservations are kept out (with a Windows reserve: %s)", async (windows, expected) => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    const reservedCIDRs = ["10.0.0.1/32", "10.0.0.32/30", "11.0.0.0/30", "10.0.0.17/32"];
    await w.put("IPReservation", "r", { reservedCIDRs });
    const hostReservedAttrIPv4s = windows ? windowsReserve(3, 1) : undefined;
    if (windows) await w.ipam.ensureBlock({ hostname: "host-a", hostReservedAttrIPv4s });
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 64, hostReservedAttrIPv4s });
    expect(count(v4)).toBe(expected);
  });

  test("T18: a Windows reserve is kept out of every block, and leaves no block that it fills", async () => {
    await using w = await world({ pools: [["100.0.0.0/24", 26]] });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 256, hostReservedAttrIPv4s: windowsReserve(3, 1) });
    expect(count(v4)).toBe(240);
    const ends = v4!.ips.map((ip) => Number(/\.(\d+)\//.exec(ip)![1]) % 64);
    expect(ends.filter((end) => [0, 1, 2, 63].includes(end))).toEqual([]);
    const full = w.ipam.autoAssign({ ...ask, hostname: "b", num4: 1, hostReservedAttrIPv4s: windowsReserve(32, 33) });
    expect(await errorOf(full)).toMatchObject({ code: "NoQualifiedPool" });
    const none = w.ipam.autoAssign({ ...ask, num4: 1, hostReservedAttrIPv4s: windowsReserve(0, 0) });
    expect(await errorOf(none)).toMatchObject({ message: "HostReservedAttr has wrong parameters" });
    await w.ipam.setIPAMConfig({ strictAffinity: false });
    const onWindows = w.openIpam({ windowsHost: true }).autoAssign({ ...ask, num4: 1 });
    expect(await errorOf(onWindows)).toMatchObject({ code: "StrictAffinity" });
  });

  test("T19: four addresses are gone through before the first comes again", async () => {
    await using w = await world({ pools: [["10.0.0.0/30", 30]] });
    const order: string[] = [];
    for (let i = 0; i < 5; i++) {
      const { v4 } = await w.ipam.autoAssign({ ...ask, handleID: "h", num4: 1 });
      order.push(v4!.ips[0]!);
      await w.ipam.releaseByHandle("h");
    }
    expect([new Set(order).size, order[4]]).toEqual([4, order[0]]);
  });

  test("T20: blocks of a deleted pool are not drawn from", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    await w.store.delete((await w.all("IPPool"))[0]!);
    await w.put("IPPool", "new", { cidr: "20.0.0.0/26", blockSize: 26 });
    expect((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4?.ips[0]).toMatch(/^20\./);
  });

  test("a handle that cannot be a name is refused before anything is asked", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    for (const handleID of ["", "has_underscore", "with space", "a..b", "-lead", "x".repeat(254), "t\rj"]) {
      expect(await errorOf(w.ipam.autoAssign({ ...ask, handleID, num4: 1 }))).toMatchObject({ code: "InvalidHandle" });
    }
    expect(w.calls).toEqual([]);
  });

  test("a pool that was passed over is named with its reason", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/24", 26, { disabled: true }],
        ["10.1.0.0/24", 26, { assignmentMode: "Manual" }],
      ],
    });
    expect((await errorOf(w.ipam.autoAssign({ ...ask, num4: 1 }))) as unknown).toMatchObject({
      code: "NoQualifiedPool",
      details: [expect.stringMatching(/"pool0" .* is disabled/), expect.stringMatching(/"pool1" .* is Manual/)],
    });
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 1, ipv4Pools: ["10.1.0.0/24"] });
    expect(count(v4)).toBe(1);
  });
});
