import { describe, expect, test } from "vitest";
import { errorOf, failing, type World, world } from "../../test/support/ipam.ts";
import { partialResult } from "./assignments.ts";
import type { ReleaseResult } from "./release.ts";

const ask = { intendedUse: "Workload", hostname: "host-a" } as const;
const four = { pools: [["10.0.0.0/24", 30]] } as const;

/** Puts a block's number back to what an old one has. */
async function renumber(w: World, cidr: string, sequenceNumber: bigint) {
  const block = await w.block(cidr);
  await w.store.update({ ...block, spec: { ...block.spec, sequenceNumber } });
}
const numberOf = async (w: World, cidr: string, ordinal: number) =>
  (await w.block(cidr)).spec.sequenceNumberForAllocation?.[ordinal];

describe("releaseIPs", () => {
  test("T37: what is unknown or free is unallocated", async () => {
    await using w = await world(four);
    expect(await w.ipam.releaseIPs([{ address: "1.1.1.1" }])).toEqual({ unallocated: ["1.1.1.1"], processed: [] });
    const free = [{ address: "10.0.0.1" }];
    expect(await w.ipam.releaseIPs(free)).toEqual({ unallocated: ["10.0.0.1"], processed: free });
    await w.ipam.assignIP({ ip: "10.0.0.2" });
    expect(await w.ipam.releaseIPs(free)).toEqual({ unallocated: ["10.0.0.1"], processed: free });
    expect(await errorOf(w.ipam.releaseIPs([{ address: "10.0.0.2" }, { address: "x" }]))).toMatchObject({
      code: "InvalidArgument",
    });
    expect(await w.ipam.getAssignmentAttributes("10.0.0.2")).toBeDefined();
  });

  test("T38: 66 addresses over two blocks", async () => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]] });
    const { v4 } = await w.ipam.autoAssign({ ...ask, handleID: "h", num4: 66 });
    const { unallocated } = await w.ipam.releaseIPs(v4!.ips.map((ip) => ({ address: ip.split("/")[0]! })));
    expect(unallocated).toEqual([]);
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.unallocated.length)).toEqual([64, 64]);
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test("T39: 0 is a number, and is compared", async () => {
    await using w = await world(four);
    await w.ipam.claimAffinity("10.0.0.0/30", { affinityType: "host", host: "host-a" });
    await renumber(w, "10.0.0.0/30", 0n);
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    const address = "10.0.0.1";
    expect(await errorOf(w.ipam.releaseIPs([{ address, sequenceNumber: 1n }]))).toMatchObject({
      code: "BadSequenceNumber",
      class: "stop-and-re-evaluate",
    });
    expect(await errorOf(w.ipam.releaseIPs([{ address, handle: "other" }]))).toMatchObject({ code: "BadHandle" });
    expect((await w.ipam.releaseIPs([{ address, sequenceNumber: 0n, handle: "h\rjunk" }])).unallocated).toEqual([]);
  });

  test.each([
    ["T40", true],
    ["T41", false],
  ])("%s: an address given to the same handle anew is not released by its old number", async (_, affine) => {
    await using w = await world(four);
    const address = "10.0.0.1";
    await w.ipam.assignIP({ ip: address, handleID: "h" });
    if (!affine) await w.ipam.releaseAffinity("10.0.0.0/30", "host-a", false);
    const before = (await numberOf(w, "10.0.0.0/30", 1))!;
    await w.ipam.releaseByHandle("h");
    if (!affine) expect(await w.all("IPAMBlock")).toEqual([]);
    await w.ipam.assignIP({ ip: address, handleID: "h" });
    const error = await errorOf(w.ipam.releaseIPs([{ address, sequenceNumber: before }]));
    expect(error).toMatchObject({ code: "BadSequenceNumber", requested: before });
    expect(partialResult<ReleaseResult>(error)).toEqual({ unallocated: [], processed: [] });
    const now = (await numberOf(w, "10.0.0.0/30", 1))!;
    if (affine) expect(now).toBe(before + 2n);
    expect((await w.ipam.releaseIPs([{ address, sequenceNumber: now }])).unallocated).toEqual([]);
    await w.ipam.assignIP({ ip: "10.0.0.2" });
    expect(await numberOf(w, "10.0.0.0/30", 2)).toBe(now + 2n);
  });

  test("T42: an address named twice is one address", async () => {
    await using w = await world({ pools: [["10.0.0.0/30", 30]] });
    await w.ipam.autoAssign({ ...ask, num4: 4 });
    await w.ipam.releaseIPs([{ address: "10.0.0.1" }, { address: "10.0.0.1" }]);
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 2 });
    expect(v4?.ips).toEqual(["10.0.0.1/30"]);
  });

  test("T43: a refused block keeps all it has, the others are released", async () => {
    await using w = await world(four);
    for (const ip of ["10.0.0.1", "10.0.0.2", "10.0.0.9"]) await w.ipam.assignIP({ ip, handleID: "h" });
    const releases = [{ address: "10.0.0.1", sequenceNumber: 5n }, { address: "10.0.0.2" }, { address: "10.0.0.9" }];
    const error = await errorOf(w.ipam.releaseIPs(releases));
    expect(error.code).toBe("BadSequenceNumber");
    expect(partialResult<ReleaseResult>(error)?.processed).toEqual([releases[2]]);
    expect(await w.ipam.ipsByHandle("h")).toEqual(["10.0.0.1", "10.0.0.2"]);
  });

  test("T44: a released address cools down, and is its own state everywhere", async () => {
    await using w = await world(four);
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 100 });
    for (const ip of ["10.0.0.1", "10.0.0.2"]) await w.ipam.assignIP({ ip, handleID: "h", attrs: { pod: "p" } });
    const sequenceNumber = await numberOf(w, "10.0.0.0/30", 1);
    await w.ipam.releaseIPs([{ address: "10.0.0.1", sequenceNumber }]);
    expect((await w.block("10.0.0.0/30")).spec.attributes).toContainEqual({ releasedAt: "2026-01-02T03:04:05Z" });
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual({ "10.0.0.0/30": 1 });
    const [pool] = await w.ipam.getUtilization();
    expect(pool).toMatchObject({ inUse: 2n, inCooldown: 1n });
    expect(await errorOf(w.ipam.getAssignmentAttributes("10.0.0.1"))).toMatchObject({
      code: "InCooldown",
      message: "address 10.0.0.1 is in cooldown",
    });
    w.writes();
    for (const again of [{ address: "10.0.0.1" }, { address: "10.0.0.1", sequenceNumber }]) {
      expect((await w.ipam.releaseIPs([again])).unallocated).toEqual(["10.0.0.1"]);
    }
    expect(w.writes()).toEqual([]);
    await w.ipam.releaseByHandle("h");
    const release = () => w.ipam.releaseAffinity("10.0.0.0/30", "host-a", true);
    expect(await errorOf(release())).toMatchObject({
      code: "BlockNotEmpty",
      message: "block '10.0.0.0/30' is not empty",
    });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 0 });
    await release();
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity")), ...(await w.all("IPAMHandle"))]).toEqual(
      [],
    );
  });

  test("T46: the last address of a block that nobody owns: the block is deleted, then the handle", async () => {
    await using w = await world(four);
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    await w.ipam.releaseAffinity("10.0.0.0/30", "host-a", false);
    w.writes();
    await w.ipam.releaseIPs([{ address: "10.0.0.1" }]);
    expect(w.writes()).toEqual(["delete IPAMBlock", "delete IPAMHandle"]);
  });

  test("blocks of a pool that is gone are found", async () => {
    await using w = await world(four);
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    await w.store.delete((await w.all("IPPool"))[0]!);
    expect((await w.ipam.releaseIPs([{ address: "10.0.0.1" }, { address: "10.0.9.1" }])).unallocated).toEqual([
      "10.0.9.1",
    ]);
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test("T48: a host that is no longer selected loses the block with its last address, and not before", async () => {
    for (const byHandle of [false, true]) {
      const nodes = { "host-a": { rack: "1" } };
      await using w = await world({ pools: [["10.0.0.0/24", 30, { nodeSelector: "rack == '1'" }]], nodes });
      for (const ip of ["10.0.0.1", "10.0.0.2"]) await w.ipam.assignIP({ ip, handleID: ip });
      Object.assign(w.nodes, { "host-a": {} });
      const release = (ip: string) => (byHandle ? w.ipam.releaseByHandle(ip) : w.ipam.releaseIPs([{ address: ip }]));
      await release("10.0.0.1");
      expect([await w.all("IPAMBlock"), await w.all("BlockAffinity")].map(({ length }) => length)).toEqual([1, 1]);
      await release("10.0.0.2");
      expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
    }
  });

  test("T49: an empty block stays until its host's next autoAssign, and for good where only the use or the request differs", async () => {
    const pools = [
      ["10.0.0.0/24", 30, { nodeSelector: "rack == '1'", allowedUses: ["Workload"] }],
      ["10.1.0.0/24", 30, { allowedUses: ["Workload", "Tunnel"] }],
    ] as const;
    await using w = await world({ pools, nodes: { "host-a": { rack: "1" } } });
    const { v4 } = await w.ipam.autoAssign({ ...ask, handleID: "h", num4: 1, ipv4Pools: ["10.0.0.0/24"] });
    expect(v4?.ips[0]).toMatch(/^10\.0\./);
    await w.ipam.releaseByHandle("h");
    const owned = async () => (await w.all("BlockAffinity")).map(({ spec }) => spec.cidr.slice(0, 4));
    await w.ipam.autoAssign({ ...ask, num4: 1, ipv4Pools: ["10.1.0.0/24"] });
    expect(await owned()).toEqual(["10.0", "10.1"]);
    expect((await w.ipam.autoAssign({ ...ask, intendedUse: "Tunnel", num4: 1 })).v4?.ips[0]).toMatch(/^10\.1\./);
    expect(await owned()).toEqual(["10.0", "10.1"]);
    Object.assign(w.nodes, { "host-a": {} });
    expect(await owned()).toEqual(["10.0", "10.1"]);
    expect((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4?.ips[0]).toMatch(/^10\.1\./);
    expect(await owned()).toEqual(["10.1"]);
  });

  test("an invalid configuration stops allocation, and not release", async () => {
    await using w = await world(four);
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    await w.put("IPAMConfiguration", "default", {
      strictAffinity: false,
      autoAllocateBlocks: false,
      ipCooldownSeconds: 60,
    });
    expect(await errorOf(w.ipam.autoAssign({ ...ask, num4: 1 }))).toMatchObject({ code: "IPAMConfigConflict" });
    expect(await errorOf(w.ipam.assignIP({ ip: "10.0.0.2" }))).toMatchObject({ code: "IPAMConfigConflict" });
    await w.ipam.releaseByHandle("h");
    expect(w.warnings.join()).toContain("AutoAllocateBlocks");
    expect(await errorOf(w.ipam.getAssignmentAttributes("10.0.0.1"))).toMatchObject({ code: "InCooldown" });
  });
});

describe("releaseByHandle", () => {
  test("T47: no such handle is NotFound; a block that is missing or holds nothing is success", async () => {
    await using w = await world(four);
    expect(await errorOf(w.ipam.releaseByHandle("nobody"))).toMatchObject({ code: "NotFound" });
    expect(await errorOf(w.ipam.ipsByHandle("not_a_name"))).toMatchObject({ code: "NotFound" });
    await w.ipam.assignIP({ ip: "10.0.0.1" });
    await w.put("IPAMHandle", "h", { handleID: "h", block: { "10.0.0.0/30": 1, "10.0.0.4/30": 2 }, deleted: false });
    await w.ipam.releaseByHandle("h");
    expect(await w.ipam.ipsByHandle("h")).toEqual([]);
  });

  test("at most four requests where the block is cached and stays", async () => {
    await using w = await world(four);
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    w.calls.splice(0);
    await w.ipam.releaseByHandle("h");
    const cached = ["IPAMConfiguration", "IPPool", "IPAMBlock"];
    const calls = w.calls.filter(
      ({ operation, kind }) => !(["get", "list"].includes(operation) && cached.includes(kind)),
    );
    // A handle's deletion is two requests on an API server: the mark, and the removal.
    expect(calls.map(({ operation, kind }) => `${operation} ${kind}`)).toEqual([
      "get IPAMHandle",
      "update IPAMBlock",
      "delete IPAMHandle",
    ]);
  });

  test("T52: an address that the handle got anew during a lost race stays", async () => {
    await using w = await world(four);
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "update" || kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await w.ipam.releaseIPs([{ address: "10.0.0.1" }]);
      await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    };
    await w.ipam.releaseByHandle("h");
    expect(await w.ipam.ipsByHandle("h")).toEqual(["10.0.0.1"]);
  });

  test("counts that others left too high are tolerated and not repaired", async () => {
    await using w = await world(four);
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    const [handle] = await w.all("IPAMHandle");
    await w.store.update({ ...handle!, spec: { ...handle!.spec, block: { "10.0.0.0/30": 3 } } });
    await w.ipam.releaseByHandle("h");
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual({ "10.0.0.0/30": 2 });
  });

  test("lost races end, and say so", async () => {
    await using w = await world(four);
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    w.meddler = failing("update", "IPAMBlock", "Conflict");
    expect(await errorOf(w.ipam.releaseByHandle("h"))).toMatchObject({ code: "MaxRetries" });
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual({ "10.0.0.0/30": 1 });
  });
});

describe("garbageCollectColdIPs", () => {
  test("T51: one write at the revision given, none where there is nothing to free", async () => {
    await using w = await world(four);
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 10 });
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    await w.ipam.releaseByHandle("h");
    const listed = await w.block("10.0.0.0/30");
    w.writes();
    await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 10 }, listed);
    expect(w.writes()).toEqual([]);
    w.pass(10);
    await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 10 }, listed);
    expect(w.writes()).toEqual(["update IPAMBlock"]);
    expect((await w.block("10.0.0.0/30")).spec.unallocated).toEqual([0, 2, 3, 1]);
    expect(listed.spec.unallocated).toEqual([0, 2, 3]);
    const stale = w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 10 }, listed);
    expect(await errorOf(stale)).toMatchObject({ code: "Conflict" });
  });

  test("a block that nobody owns goes with its last cooling address", async () => {
    await using w = await world(four);
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 10 });
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h" });
    await w.ipam.releaseAffinity("10.0.0.0/30", "host-a", false);
    await w.ipam.releaseByHandle("h");
    w.pass(11);
    await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 10 }, await w.block("10.0.0.0/30"));
    expect(await w.all("IPAMBlock")).toEqual([]);
  });

  test("what cools down is free again after the cooldown, folded into the next write and never into a read", async () => {
    await using w = await world({ pools: [["10.0.0.0/30", 30]] });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 10 });
    await w.ipam.autoAssign({ ...ask, handleID: "h", num4: 4 });
    await w.ipam.releaseByHandle("h");
    w.pass(9);
    expect((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4?.ips).toEqual([]);
    w.pass(1);
    w.writes();
    expect(await errorOf(w.ipam.getAssignmentAttributes("10.0.0.0"))).toMatchObject({ code: "NotFound" });
    expect(w.writes()).toEqual([]);
    expect((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4?.ips).toEqual(["10.0.0.0/30"]);
    expect((await w.block("10.0.0.0/30")).spec.attributes).toEqual([{}]);
  });
});
