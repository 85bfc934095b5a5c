import { describe, expect, test } from "vitest";
import { count, errorOf, failing, storeError, world } from "../../test/support/ipam.ts";
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
  ])("%s: 256 of each family", async (_, size4, size6, maxBlocksPerHost) => {
    await using w = await world({
      pools: [
        ["192.168.1.0/24", size4],
        ["fd00::/120", size6],
      ],
    });
    const { v4, v6 } = await w.ipam.autoAssign({ ...ask, num4: 256, num6: 256, maxBlocksPerHost });
    expect([new Set(v4?.ips).size, new Set(v6?.ips).size]).toEqual([256, 256]);
  });

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
    const onWindows = w.library({ windowsHost: true }).autoAssign({ ...ask, num4: 1 });
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

  test("T21: 32 hosts race for 16 blocks", async () => {
    await using w = await world({ pools: [["10.0.0.0/22", 26]] });
    const hosts = Array.from({ length: 32 }, (_, i) => `node-${i}`);
    const results = await Promise.all(hosts.map((hostname) => w.ipam.autoAssign({ ...ask, hostname, num4: 1 })));
    expect(new Set(results.map(({ v4 }) => v4?.ips[0])).size).toBe(32);
    const rows = await w.all("BlockAffinity");
    const blocks = await w.all("IPAMBlock");
    expect(rows.map(({ spec }) => spec.state)).toEqual(Array.from({ length: 16 }, () => "confirmed"));
    const owners = new Map(blocks.map(({ spec }) => [spec.cidr, spec.affinity]));
    for (const { spec } of rows) expect(owners.get(spec.cidr)).toBe(`host:${spec.node}`);
    for (const { spec } of rows) {
      const [ip] = results[hosts.indexOf(spec.node)]!.v4!.ips;
      const block = blocks.find(({ spec: { cidr } }) => cidr === spec.cidr)!;
      expect(Math.floor(Number(ip!.split(/[./]/)[3]) / 64)).toBe(Number(block.spec.cidr.split(/[./]/)[3]) / 64);
    }
  });

  test("T22: four requests of one host at once", async () => {
    await using w = await world({ pools: [["10.0.0.0/25", 26]] });
    const all = await Promise.all([1, 2, 3, 4].map(() => w.ipam.autoAssign({ ...ask, num4: 1 })));
    expect(new Set(all.map(({ v4 }) => v4?.ips[0])).size).toBe(4);
    expect((await w.all("BlockAffinity")).length).toBeLessThanOrEqual(2);
  });

  test("T23: a block stolen between row and block: the address is borrowed, the row is cleaned up by the next call", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    let stolen = false;
    w.meddler = async ({ operation, kind, name }) => {
      if (operation === "create" && kind === "IPAMBlock" && !stolen) {
        stolen = true;
        await w.library().claimAffinity("10.0.0.0/26", { affinityType: "host", host: "host-b" });
      }
      if (operation === "delete" && kind === "BlockAffinity" && stolen && name.startsWith("host-a")) {
        w.meddler = undefined;
        throw storeError("Unavailable", { kind, name });
      }
    };
    expect(count((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4)).toBe(1);
    expect((await w.all("BlockAffinity")).map(({ spec }) => [spec.node, spec.state])).toEqual([
      ["host-a", "pending"],
      ["host-b", "confirmed"],
    ]);
    expect(count((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4)).toBe(1);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual(["host-b"]);
  });

  test("T24: an empty block of another host is taken over after a minute, and only then", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    const byB = () => w.ipam.autoAssign({ ...ask, hostname: "host-b", handleID: "b", num4: 1 });
    await w.ipam.autoAssign({ ...ask, handleID: "a", num4: 1 });
    expect(count((await byB()).v4)).toBe(0);
    await w.ipam.releaseByHandle("a");
    w.pass(59);
    expect(count((await byB()).v4)).toBe(0);
    w.pass(2);
    w.writes();
    expect(count((await byB()).v4)).toBe(1);
    expect(w.writes()).toEqual([
      "update BlockAffinity",
      "delete IPAMBlock",
      "delete BlockAffinity",
      "create BlockAffinity",
      "create IPAMBlock",
      "update BlockAffinity",
      "create IPAMHandle",
      "update IPAMBlock",
    ]);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual(["host-b"]);
  });

  test("T25: where the take-over fails there is no address and no error; a cancelled call ends with its reason", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    await w.ipam.claimAffinity("10.0.0.0/26", { affinityType: "host", host: "host-a" });
    w.pass(61);
    w.meddler = failing("delete", "IPAMBlock", "Unavailable");
    expect(count((await w.ipam.autoAssign({ ...ask, hostname: "host-b", num4: 1 })).v4)).toBe(0);
    const controller = new AbortController();
    const reason = new Error("stopping");
    w.meddler = ({ operation, kind }) => {
      if (operation === "delete" && kind === "IPAMBlock") controller.abort(reason);
    };
    const cancelled = w.ipam.autoAssign({ ...ask, hostname: "host-b", num4: 1 }, { signal: controller.signal });
    expect(await errorOf(cancelled)).toBe(reason);
  });

  test("T27: a block that can never be written ends in MaxRetries, and no handle stays", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    w.meddler = failing("update", "IPAMBlock", "Conflict");
    const error = await errorOf(w.ipam.autoAssign({ ...ask, handleID: "h", num4: 1 }));
    expect([error.code, count(onlyFour(error) ?? null)]).toEqual(["MaxRetries", 0]);
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test("T28: host names of 252 characters are kept apart", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/24", 26],
        ["fd00::/116", 122],
      ],
    });
    const host = "long--hostna".repeat(21);
    const other = `${host.slice(0, -1)}b`;
    for (const hostname of [host, other]) await w.ipam.autoAssign({ ...ask, hostname, num4: 1, num6: 1 });
    expect(await w.all("BlockAffinity")).toHaveLength(4);
    await w.ipam.releaseHostAffinities({ affinityType: "host", host }, false);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual([other, other]);
  });

  test("T29: a handle at its limit is given what it has, with the block's prefix", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/26", 26],
        ["fd00::/120", 122],
      ],
    });
    const call = () => w.ipam.autoAssign({ ...ask, handleID: "vm", num4: 1, num6: 1, maxAllocToHandlePerIPVersion: 1 });
    const first = await call();
    expect(await call()).toEqual(first);
    expect(first.v4?.ips[0]).toMatch(/\/26$/);
    expect(await w.ipam.ipsByHandle("vm")).toHaveLength(2);
    const two = () => w.ipam.autoAssign({ ...ask, handleID: "vm2", num4: 1, maxAllocToHandlePerIPVersion: 2 });
    const ips = [await two(), await two(), await two()].map(({ v4 }) => v4!.ips[0]);
    expect([new Set(ips.slice(0, 2)).size, ips.slice(0, 2).includes(ips[2])]).toEqual([2, true]);
    const many = w.ipam.autoAssign({ ...ask, handleID: "vm", num4: 2, maxAllocToHandlePerIPVersion: 1 });
    expect(await errorOf(many)).toMatchObject({ code: "InsufficientIPsByHandle" });
  });

  test("a count that someone left too high is named, and not repaired", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    const block = { "10.0.0.0/26": 1 };
    await w.put("IPAMHandle", "vm", { handleID: "vm", block, deleted: false });
    const limit = { handleID: "vm", maxAllocToHandlePerIPVersion: 1 };
    const calls = [w.ipam.autoAssign({ ...ask, ...limit, num4: 1 }), w.ipam.assignIP({ ip: "10.0.0.1", ...limit })];
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error).toMatchObject({
        code: "InsufficientIPsByHandle",
        message: expect.stringContaining("handle vm has 0"),
      });
    }
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual(block);
  });

  test("rows that a crash left pending are confirmed by the next call, also where it needs no block", async () => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]], blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    w.meddler = failing("create", "IPAMBlock", "Unavailable", 1);
    await errorOf(w.ipam.claimAffinity("10.0.0.128/26", { affinityType: "host", host: "host-a" }));
    expect((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4?.ips).toEqual(["10.0.0.1/26"]);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.state)).toEqual(["confirmed", "confirmed"]);
  });

  test("T30: two lost races leave an exact count", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    w.meddler = failing("update", "IPAMBlock", "Conflict", 2);
    await w.ipam.autoAssign({ ...ask, handleID: "vm", num4: 1, maxAllocToHandlePerIPVersion: 1 });
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual({ "10.0.0.0/26": 1 });
  });

  test("handles are counted exactly over several blocks", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]], blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, handleID: "h", num4: 6 });
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual({ "10.0.0.0/30": 4, "10.0.0.4/30": 2 });
    await w.ipam.releaseByHandle("h");
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test("T69: own blocks in the order of their names, reserved and full ones passed over, then a new one", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]], blockOrder: () => 2n });
    const hostReservedAttrIPv4s = windowsReserve(2, 1);
    const claim = (cidr: string) => w.ipam.claimAffinity(cidr, { affinityType: "host", host: "host-a" });
    await claim("10.0.0.0/29");
    const take = async () => (await w.ipam.autoAssign({ ...ask, num4: 1, hostReservedAttrIPv4s })).v4?.ips[0];
    expect(await take()).toBe("10.0.0.0/30");
    const reservation = await w.put("IPReservation", "r", { reservedCIDRs: ["10.0.0.0/30"] });
    expect(await take()).toBe("10.0.0.4/30");
    await w.store.delete(reservation);
    for (let i = 0; i < 6; i++) await take();
    expect(await take()).toBe("10.0.0.10/30");
    const limited = w.ipam.autoAssign({ ...ask, num4: 1, maxBlocksPerHost: 1, ipv4Pools: ["10.0.0.0/28"] });
    expect(
      await limited.then(
        ({ v4 }) => count(v4),
        ({ code }) => code,
      ),
    ).toBe("BlockLimit");
  });

  test("in steady state one address is a handle's creation and a block's update", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.autoAssign({ ...ask, handleID: "first", num4: 1 });
    w.calls.splice(0);
    await w.ipam.autoAssign({ ...ask, handleID: "second", num4: 1 });
    const cached = ["IPAMConfiguration", "IPReservation", "IPPool", "BlockAffinity", "IPAMBlock"];
    const calls = w.calls.filter(
      ({ operation, kind }) => !(["get", "list"].includes(operation) && cached.includes(kind)),
    );
    expect(calls.map(({ operation, kind }) => `${operation} ${kind}`)).toEqual([
      "create IPAMHandle",
      "update IPAMBlock",
    ]);
  });

  test("a handle that cannot be a name is refused before anything is asked", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    for (const handleID of ["", "has_underscore", "with space", "a..b", "-lead", "x".repeat(254), "t\rj"]) {
      expect(await errorOf(w.ipam.autoAssign({ ...ask, handleID, num4: 1 }))).toMatchObject({ code: "InvalidHandle" });
    }
    expect(w.calls).toEqual([]);
  });

  test("a malformed block is named and stops no other", async () => {
    await using w = await world({ pools: [["10.0.0.0/29", 30]], blockOrder: () => 0n });
    await w.ipam.claimAffinity("10.0.0.0/30", { affinityType: "host", host: "host-a" });
    const block = await w.block("10.0.0.0/30");
    await w.store.update<"IPAMBlock">({ ...block, spec: { ...block.spec, unallocated: [9] } });
    expect((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4?.ips).toEqual(["10.0.0.4/30"]);
    expect(w.warnings.join()).toContain('"10-0-0-0-30"');
  });

  test("a write whose answer was lost counts when it took place", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    w.meddler = async (call, store) => {
      if (call.operation !== "update" || call.kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await store.update(call.object as never);
      throw storeError("Unavailable", call);
    };
    expect(count((await w.ipam.autoAssign({ ...ask, handleID: "h", num4: 1 })).v4)).toBe(1);
    expect(await w.ipam.ipsByHandle("h")).toHaveLength(1);
    w.meddler = failing("update", "IPAMBlock", "Unavailable", 1);
    expect(await errorOf(w.ipam.autoAssign({ ...ask, handleID: "i", num4: 1 }))).toMatchObject({ code: "Unavailable" });
    expect((await w.all("IPAMHandle")).map(({ spec }) => spec.handleID)).toEqual(["h"]);
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

function windowsReserve(startOfBlock: number, endOfBlock: number) {
  return { startOfBlock, endOfBlock, handle: "windows-reserved-ipam-handle", note: "windows host rsvd" };
}
