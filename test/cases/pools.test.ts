/** Cases of pools as they are found: cut oddly, huge, unmasked, for nobody, or gone. */
import { describe, expect, test } from "vitest";
import { check } from "../invariants/check.ts";
import { oddPool } from "../support/case-inputs.ts";
import { count, errorOf, type World, world } from "../support/ipam.ts";
import { affinity, block, pool, reservation, usedBlock } from "../support/ipam-data.ts";

const ask = { intendedUse: "Workload", hostname: "node-a" } as const;
const owner = { affinityType: "host", host: "node-a" } as const;
const findings = async (w: World) => check(await w.stored(), { mode: "atRest", now: w.now });

/** A cluster with one stored pool, whatever its CRD would say of it today. */
async function withPool(stored: ReturnType<typeof pool>): Promise<World> {
  const w = await world({ blockOrder: () => 0n });
  await w.store.create(stored);
  return w;
}

// V6-02: that such a pool is refused at the door is tested with the CRDs.
describe("V6-02: a stored pool with blocks that no object can hold", () => {
  test.each([
    ["a /64 per node", oddPool("v6-64-per-node"), "2001:db8:65::", "IPv6 blocks are /116 to /128"],
    ["a /16 per node", pool("wide", "10.0.0.0/8", { blockSize: 16 }), "10.0.0.0", "IPv4 blocks are /20 to /32"],
    ["beyond the width", pool("beyond", "10.0.0.0/24", { blockSize: 64 }), "10.0.0.0", "IPv4 blocks are /20 to /32"],
    ["smaller than a block", pool("small", "10.0.0.0/28"), "10.0.0.0", "is smaller than one of its blocks (/26)"],
  ])("%s: an error that says so, no loop, and nothing claimed", async (_, stored, ip, words) => {
    await using w = await withPool(stored);
    const { cidr } = stored.spec;
    const ofFamily = ip.includes(":") ? { num6: 1, ipv6Pools: [cidr] } : { num4: 1, ipv4Pools: [cidr] };
    const { ipv4Pools: _4, ipv6Pools: _6, ...automatic } = ofFamily as { ipv4Pools?: string[]; ipv6Pools?: string[] };
    const calls = [
      w.ipam.autoAssign({ ...ask, ...ofFamily }),
      w.ipam.autoAssign({ ...ask, ...automatic }),
      w.ipam.assignIP({ ip, hostname: "node-a" }),
      w.ipam.claimAffinity(cidr, owner),
    ];
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error).toMatchObject({ name: "IpamError", details: [expect.stringContaining(words)] });
      expect((error as unknown as { details: string[] }).details[0]).toContain(`pool "${stored.metadata.name}"`);
    }
    expect(await w.ipam.releaseIPs([{ address: ip }])).toMatchObject({ unallocated: [ip] });
    expect((await w.ipam.getUtilization())[0]).toMatchObject({ inUse: 0n, blocks: [] });
    expect(w.writes()).toEqual([]);
  });

  test("beside a sound pool it is passed over", async () => {
    await using w = await withPool(oddPool("v6-64-per-node"));
    await w.store.create(oddPool("v6-wide-blocks"));
    const { v6 } = await w.ipam.autoAssign({ ...ask, num6: 1 });
    expect(v6?.ips).toEqual(["2001:db8:64::/120"]);
  });
});

describe("V6-04: nothing walks an IPv6 range", () => {
  /** Each test would run for years if anything looped over addresses or blocks. */
  test("a full /64 but for its last block, by one reservation", async () => {
    await using w = await withPool(pool("six", "fd00::/64", { blockSize: 122 }));
    const halves = Array.from({ length: 58 }, (_, i) => {
      const base = (1n << 64n) - (1n << BigInt(64 - i));
      const hex = base.toString(16).padStart(16, "0").match(/.{4}/g)!.join(":");
      return `fd00:0:0:0:${hex}/${65 + i}`;
    });
    await w.store.create(reservation("most", ...halves));
    const [before] = await w.ipam.getUtilization();
    expect(before).toMatchObject({ available: 64n, reserved: (1n << 63n) - 1n });
    const { v6 } = await w.ipam.autoAssign({ ...ask, num6: 65 });
    expect(v6?.ips).toHaveLength(64);
    expect(v6?.ips[0]).toBe("fd00::ffff:ffff:ffff:ffc0/122");
    expect(v6?.msgs).toEqual(["No IPs available in pools: [fd00::/64]"]);
  });

  test("a whole /48 reserved: nothing, at once", async () => {
    await using w = await withPool(pool("six", "fd00::/48", { blockSize: 122 }));
    await w.store.create(reservation("all", "fd00::/48"));
    expect(count((await w.ipam.autoAssign({ ...ask, num6: 1 })).v6)).toBe(0);
    expect((await w.ipam.getUtilization())[0]).toMatchObject({ available: 0n });
    await w.ipam.assignIP({ ip: "fd00::ffff:ffff:ffff:ffff:ffff", hostname: "node-a" });
  });

  test("a pool of 2^66 blocks: addresses, utilization, membership, release", async () => {
    await using w = await withPool(pool("six", "fd00::/56", { blockSize: 122 }));
    const { v6 } = await w.ipam.autoAssign({ ...ask, num6: 65, handleID: "h" });
    expect(v6?.ips).toHaveLength(65);
    const last = "fd00::ff:ffff:ffff:ffff:ffff";
    await w.ipam.assignIP({ ip: last, hostname: "node-b", handleID: "h" });
    expect((await w.ipam.getUtilization())[0]).toMatchObject({ inUse: 66n, available: (1n << 63n) - 1n });
    expect(await w.ipam.getAssignmentAttributes(last)).toMatchObject({ handleID: "h" });
    await w.ipam.releaseByHandle("h");
    await w.ipam.releasePoolAffinities("fd00::/56");
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });

  test("giving up all of it costs what is there, not what could be", async () => {
    await using w = await withPool(pool("six", "fd00::/56", { blockSize: 122 }));
    await w.ipam.autoAssign({ ...ask, num6: 200, handleID: "h" });
    await w.ipam.releaseByHandle("h");
    await w.ipam.releaseAffinity("fd00::/56", "node-a", true);
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });

  test("claiming all of it is refused at once", async () => {
    await using w = await withPool(pool("six", "fd00::/56", { blockSize: 122 }));
    const error = await errorOf(w.ipam.claimAffinity("fd00::/56", owner));
    expect(error).toMatchObject({
      code: "InvalidSize",
      message: expect.stringContaining("73786976294838206464 blocks"),
    });
    expect(w.writes()).toEqual([]);
  });

  test("a cancelled claim of many blocks ends with its reason, and says what it has", async () => {
    await using w = await withPool(pool("six", "fd00::/104", { blockSize: 120 }));
    const controller = new AbortController();
    const reason = new Error("enough");
    w.meddler = () => {
      if (w.calls.length === 100) controller.abort(reason);
    };
    expect(await errorOf(w.ipam.claimAffinity("fd00::/104", owner, { signal: controller.signal }))).toBe(reason);
    expect(w.calls.length).toBeLessThan(110);
  });
});

test("CLI-05: huge numbers are exact, and never rounded", async () => {
  await using w = await withPool(pool("six", "fd00::/66", { blockSize: 122 }));
  await w.ipam.assignIP({ ip: "fd00::1", hostname: "node-a" });
  const [row] = await w.ipam.getUtilization();
  expect(row).toMatchObject({ capacity: 4611686018427387904n, inUse: 1n, available: 4611686018427387903n });
});

// CRD-01: that unmasked pools are refused at the door is tested with the CRDs.
test("CRD-01: a stored unmasked pool is read as its masked form", async () => {
  await using w = await withPool(pool("unmasked", "192.168.0.77/24"));
  const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 1, ipv4Pools: ["192.168.0.0/24"] });
  expect(v4?.ips).toEqual(["192.168.0.0/26"]);
  expect(await w.ipam.getUtilization({ pools: ["192.168.0.77/24"] })).toMatchObject([
    { name: "unmasked", cidr: "192.168.0.0/24", capacity: 256n },
  ]);
  expect(await findings(w)).toEqual([]);
});

// CRD-03: the selector language itself is tested with its parser.
test("CRD-03: a pool for nobody gives nothing, spelt with a blank or without, and its blocks drain", async () => {
  await using w = await withPool(pool("nobody", "10.64.8.0/24", { blockSize: 26 }));
  await w.ipam.autoAssign({ ...ask, num4: 2, handleID: "h" });
  const [open] = await w.all("IPPool");
  await w.store.update({ ...oddPool("nobody"), metadata: open!.metadata });
  const { spec } = oddPool("nobody-spaced");
  await w.store.create(pool("nobody-spaced", spec.cidr, { ...spec, disabled: false }));
  const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 1 }));
  expect(error).toMatchObject({
    code: "NoQualifiedPool",
    details: [
      'pool "nobody" (10.64.8.0/24) does not select node node-a (nodeSelector: !all())',
      'pool "nobody-spaced" (10.64.9.0/24) does not select node node-a (nodeSelector: ! all())',
    ],
  });
  expect(await w.all("IPAMBlock")).toHaveLength(1);
  await w.ipam.releaseByHandle("h");
  expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
});

// GC-11: that a pass finds such a block is the collector's part.
test("GC-11: the block of a pool that is gone is released, whether its node is there or not", async () => {
  await using w = await world({ nodes: {} });
  await w.store.create(usedBlock("10.0.0.0/29", "node-a", { 2: { handle_id: "h" } }));
  await w.store.create(affinity("node-a", "10.0.0.0/29"));
  await w.store.create(block("10.0.0.8/29", { affinity: "host:node-a" }));
  await w.store.create(affinity("node-a", "10.0.0.8/29"));
  await w.ipam.releaseBlockAffinity(await w.block("10.0.0.8/29"), true);
  await w.ipam.releaseIPs([{ address: "10.0.0.2", handle: "h", sequenceNumber: 999n }]);
  await w.ipam.releaseBlockAffinity(await w.block("10.0.0.0/29"), true);
  expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
});

test("a pool of a single block", async () => {
  await using w = await withPool(oddPool("one-block-only"));
  expect(count((await w.ipam.autoAssign({ ...ask, num4: 64 })).v4)).toBe(64);
  expect(await findings(w)).toEqual([]);
});
