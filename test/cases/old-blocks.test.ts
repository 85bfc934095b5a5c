/** Cases of blocks as older or other writers left them, from the shared input. */
import { describe, expect, test } from "vitest";
import { withSpec } from "../../src/ipam/block.ts";
import { legacyBlock } from "../support/case-inputs.ts";
import { errorOf, type World, windowsReserve, world } from "../support/ipam.ts";
import { affinity, handle } from "../support/ipam-data.ts";

const ask = { num4: 1, intendedUse: "Workload" } as const;
const pools = [["10.65.0.0/26", 29]] as const;
type Letter = Parameters<typeof legacyBlock>[0];

async function holding(...letters: readonly Letter[]): Promise<World> {
  const w = await world({ pools, blockOrder: () => 7n });
  for (const letter of letters) {
    const { metadata, ...block } = legacyBlock(letter);
    await w.store.create({ ...block, metadata: { name: metadata.name } });
  }
  return w;
}

describe("BLK-15: a block without sequence numbers", () => {
  const address = "10.65.0.1";
  const aaaa = "k8s-pod-network.aaaa";
  async function withHandle(): Promise<World> {
    const w = await holding("a");
    await w.store.create(handle(aaaa, { "10.65.0.0/29": 1 }));
    return w;
  }

  test.each([
    ["without a number", {}],
    ["with number 0", { sequenceNumber: 0n }],
  ])("its addresses are released %s; the first write adds the numbers", async (_, number) => {
    await using w = await withHandle();
    expect(await w.ipam.releaseIPs([{ address, handle: aaaa, ...number }])).toMatchObject({ unallocated: [] });
    expect(await w.all("IPAMHandle")).toEqual([]);
    const { spec } = await w.block("10.65.0.0/29");
    expect(spec).toMatchObject({ sequenceNumber: 1n, sequenceNumberForAllocation: { 0: 0n } });
    expect(spec.unallocated).toEqual([2, 3, 4, 5, 6, 7, 1]);
  });

  test("with a number that it cannot have had, nothing is released", async () => {
    await using w = await withHandle();
    const error = await errorOf(w.ipam.releaseIPs([{ address, sequenceNumber: 7n }]));
    expect(error).toMatchObject({ code: "BadSequenceNumber", requested: 7n, expected: 0n });
    expect(w.writes()).toEqual([]);
  });

  test("a new address has its number; those from before get one with the same write", async () => {
    await using w = await withHandle();
    await w.store.create(affinity("node-a", "10.65.0.0/29"));
    await w.ipam.autoAssign({ ...ask, hostname: "node-a", handleID: "new" });
    const { spec } = await w.block("10.65.0.0/29");
    expect(spec.sequenceNumberForAllocation).toEqual({ 0: 0n, 1: 0n, 2: 0n });
    await w.ipam.releaseByHandle(aaaa);
    expect(await w.ipam.ipsByHandle("new")).toEqual(["10.65.0.2"]);
  });
});

describe("older forms of owners", () => {
  test("hostAffinity is no owner; the block is everybody's to borrow from", async () => {
    await using w = await holding("b");
    expect((await w.ipam.autoAssign({ ...ask, hostname: "node-z", num4: 72 })).v4?.ips).toHaveLength(64);
  });

  test("a block of nobody's, of null and of empty text", async () => {
    await using w = await holding("c");
    const c = await w.block("10.65.0.16/29");
    expect(c.spec.affinity).toBeUndefined();
    await w.ipam.releaseIPs([{ address: "10.65.0.16" }]);
    expect(await w.all("IPAMBlock")).toEqual([]);
  });

  test("what cools down since long ago is free, and fields that nobody knows stay", async () => {
    await using w = await holding("e");
    await w.ipam.assignIP({ ip: "10.65.0.32", hostname: "node-c", handleID: "h" });
    expect((await w.block("10.65.0.32/29")).spec).toMatchObject({
      futureField: "keep-me",
      allocations: [1, 0, null, null, null, null, null, null],
    });
  });

  test("a virtual owner's block is not its namesake's", async () => {
    await using w = await holding("f");
    await w.ipam.removeIPAMHost({ affinityType: "host", host: "node-c" });
    expect((await w.block("10.65.0.40/29")).spec.affinity).toBe("virtual:node-c");
  });
});

describe("BLK-17: what a Windows host keeps back", () => {
  const windows = { hostname: "win", hostReservedAttrIPv4s: windowsReserve(3, 1) };
  async function reserved(): Promise<World> {
    const w = await world({ pools: [["10.0.0.0/29", 29]] });
    await w.ipam.ensureBlock(windows);
    return w;
  }

  test("is no use of the block: it goes with its host", async () => {
    await using w = await reserved();
    await w.ipam.releaseAffinity("10.0.0.0/29", "win", true);
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });

  test("is no leak: collection leaves it, no handle counts it, and no release frees it unasked", async () => {
    await using w = await reserved();
    const before = await w.block("10.0.0.0/29");
    w.pass(3600);
    await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 0 }, before);
    expect(await w.block("10.0.0.0/29")).toEqual(before);
    expect(await w.all("IPAMHandle")).toEqual([]);
    expect(await errorOf(w.ipam.releaseByHandle("windows-reserved-ipam-handle"))).toMatchObject({ code: "NotFound" });
  });

  test("is not capacity that can be handed out", async () => {
    await using w = await reserved();
    const [pool] = await w.ipam.getUtilization();
    expect(pool).toMatchObject({ capacity: 8n, inUse: 4n, available: 4n });
    const { v4 } = await w.ipam.autoAssign({ ...ask, ...windows, num4: 8 });
    expect(v4?.ips).toEqual(["10.0.0.3/29", "10.0.0.4/29", "10.0.0.5/29", "10.0.0.6/29"]);
    const fixed = await errorOf(w.ipam.assignIP({ ip: "10.0.0.0", hostname: "win" }));
    expect(fixed).toMatchObject({ code: "AlreadyExists", holder: { handleID: "windows-reserved-ipam-handle" } });
  });
});

// BLK-19: the report, and the repair on request, are the checker's part.
describe("BLK-19: a block that contradicts itself", () => {
  test.each([
    ["an ordinal that is allocated and free", {}, /ordinal 3 is in spec.unallocated and allocated too/],
    [
      "an attribute that is not there",
      { allocations: [0, 7, null, null, null, null, null, null], unallocated: [2, 3, 4, 5, 6, 7] },
      /spec.allocations\[1\] points at attribute 7; the last one is 1/,
    ],
  ])(
    "%s: it is named, nothing is handed out of it or written to it, and all else goes on",
    async (_, damage, words) => {
      await using w = await holding("a");
      const d = withSpec(legacyBlock("d"), { affinity: "host:node-b", ...damage });
      const damaged = await w.store.create({ ...d, metadata: { name: d.metadata.name } });
      await w.store.create(affinity("node-b", "10.65.0.24/29"));
      const { v4 } = await w.ipam.autoAssign({ ...ask, hostname: "node-b", num4: 64 });
      expect(v4?.ips).toHaveLength(54);
      expect(v4?.ips.some((ip) => /^10\.65\.0\.(2[4-9]|3[01])\//.test(ip))).toBe(false);
      expect(w.warnings).not.toEqual([]);
      for (const warning of w.warnings) expect(warning).toMatch(words);
      expect(w.warnings.every((warning) => warning.includes('IPAMBlock "10-65-0-24-29"'))).toBe(true);
      for (const call of [
        w.ipam.assignIP({ ip: "10.65.0.27", hostname: "node-b" }),
        w.ipam.releaseIPs([{ address: "10.65.0.24" }]),
        w.ipam.getAssignmentAttributes("10.65.0.24"),
        w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 0 }, damaged),
        w.ipam.releaseBlockAffinity(damaged, false),
      ]) {
        expect(await errorOf(call)).toMatchObject({ code: "MalformedBlock", message: expect.stringMatching(words) });
      }
      expect(await w.block("10.65.0.24/29")).toEqual(damaged);
      const [pool] = await w.ipam.getUtilization();
      expect(pool).toMatchObject({ capacity: 64n, available: 0n });
      expect(await w.ipam.ipsByHandle("k8s-pod-network.aaaa").catch(({ code }) => code)).toBe("NotFound");
    },
  );
});
