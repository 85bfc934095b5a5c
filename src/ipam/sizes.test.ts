/** Blocks have their pool's size, whatever is stored; and what two stored blocks cover is allocated from neither. */
import { describe, expect, test } from "vitest";
import { check } from "../../test/invariants/check.ts";
import { errorOf, type World, type WorldOptions, windowsReserve, world } from "../../test/support/ipam.ts";
import { affinity, block, usedBlock } from "../../test/support/ipam-data.ts";
import { affinityLabels } from "../api/names.ts";
import type { BlockAffinitySpec } from "../api/v3.ts";
import { cachedDatastore } from "../datastore/cached.ts";
import type { Ipam } from "./client.ts";

const ask = { num4: 1, intendedUse: "Workload" } as const;
const owner = (host: string) => ({ affinityType: "host", host }) as const;
const sizes = async (w: World) => (await w.all("IPAMBlock")).map(({ spec }) => spec.cidr);
const affinities = async (w: World) =>
  (await w.all("BlockAffinity")).map(({ spec }) => `${spec.node} ${spec.cidr} ${spec.state}`);

/** Work of a long-lived process: it has all blocks at hand, whatever the store. */
async function withCaches(w: World, work: (ipam: Ipam) => Promise<void>): Promise<void> {
  const datastore = cachedDatastore({ ...w.watched, close: async () => {} });
  await datastore.synced();
  await work(w.openIpam({ datastore, blockOrder: () => 0n })).finally(() => datastore.close());
}

async function putAffinity(w: World, node: string, cidr: string, state: BlockAffinitySpec["state"] = "confirmed") {
  const spec: BlockAffinitySpec = { cidr, node, state, type: "host", deleted: false };
  const name = `${node}-${cidr.replaceAll(/[.:/]+/g, "-")}`.replaceAll(/-+$|--+/g, "-x");
  return w.store.create({
    apiVersion: "projectcalico.org/v3",
    kind: "BlockAffinity",
    metadata: { name, labels: affinityLabels(spec) },
    spec,
  } as never);
}

describe("TRY-01: an affinity of another size than the pool's blocks", () => {
  const v4 = ["10.1.0.40/29", "10.1.0.0/16", "10.1.0.64/12", "10.1.0.0/24", "10.1.0.0/32", "0.0.0.0/0"];
  const v6 = ["fd00:0:0:1::/64", "fd00:0:0:1::/100", "fd00::/16", "::/0", "fd00:0:0:1::5/128"];
  test.each([...v4, ...v6])("%s is skipped, named, and released", async (cidr) => {
    const isV6 = cidr.includes(":");
    await using w = await world({
      pools: isV6 ? [["fd00:0:0:1::/96", 122]] : [["10.1.0.0/24", 27]],
      blockOrder: () => 0n,
    });
    await putAffinity(w, "host-a", cidr);
    const result = await w.ipam.autoAssign(isV6 ? { num6: 1, intendedUse: "Workload" } : ask);
    const expected = isV6 ? "fd00:0:0:1::/122" : "10.1.0.0/27";
    expect((isV6 ? result.v6 : result.v4)?.ips).toHaveLength(1);
    expect(await sizes(w)).toEqual([expected]);
    expect(await affinities(w)).toEqual([`host-a ${expected} confirmed`]);
    expect(w.warnings.join()).toContain(cidr);
  });

  test("one with a block behind it stays, and its addresses are used", async () => {
    await using w = await world({ pools: [["10.1.0.0/24", 27]], blockOrder: () => 0n });
    await putAffinity(w, "host-a", "10.1.0.40/29");
    await w.store.create(block("10.1.0.40/29", { affinity: "host:host-a" }));
    const { v4 } = await w.ipam.autoAssign(ask);
    expect(v4?.ips).toEqual(["10.1.0.40/29"]);
  });

  test("an affinity to no pool's range stays as it is", async () => {
    await using w = await world({ pools: [["10.1.0.0/24", 27]] });
    await putAffinity(w, "host-a", "10.9.0.0/29");
    await w.ipam.autoAssign(ask);
    expect(await affinities(w)).toContain("host-a 10.9.0.0/29 confirmed");
  });
});

describe("TRY-01: an affinity with host bits", () => {
  const odd = "10.1.0.40/27";
  const calls: Record<string, (w: World) => Promise<unknown>> = {
    autoAssign: (w) => w.ipam.autoAssign(ask),
    releaseHostAffinities: (w) => w.ipam.releaseHostAffinities(owner("host-a"), false),
    releasePoolAffinities: (w) => w.ipam.releasePoolAffinities("10.1.0.0/24"),
  };
  test.each(Object.keys(calls))("%s releases it, and no other of the host's", async (method) => {
    await using w = await world({ pools: [["10.1.0.0/24", 27]], blockOrder: () => 0n });
    await putAffinity(w, "host-a", odd);
    await calls[method]!(w);
    expect(await affinities(w)).toEqual(method === "autoAssign" ? ["host-a 10.1.0.0/27 confirmed"] : []);
    expect(w.warnings.join()).toContain(odd);
  });

  test("the block around it, where the host has addresses of it, stays the host's", async () => {
    await using w = await world({ pools: [["10.1.0.0/24", 27]], blockOrder: () => 0n });
    await putAffinity(w, "host-a", odd);
    const { spec } = block("10.1.0.32/27", { affinity: "host:host-a" });
    const held = { attributes: [{ handle_id: "h" }], allocations: [0, ...spec.allocations.slice(1)] };
    await w.store.create(block("10.1.0.32/27", { ...spec, ...held, unallocated: spec.unallocated.slice(1) }));
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual(["10.1.0.33/27"]);
    expect(await affinities(w)).toEqual(["host-a 10.1.0.32/27 confirmed"]);
  });
});

describe("TRY-02: two sizes over one range", () => {
  /** Pool b is the newer one; whoever read the pools before it came does not know of it. */
  const sequence = async (w: World, first: () => Promise<unknown>, then: () => Promise<unknown>) => {
    let other: Promise<unknown> | undefined;
    w.meddler = async ({ operation, kind, name }) => {
      if (other || operation !== "create" || kind !== "IPAMBlock" || name !== "10-1-0-0-28") return;
      other = then();
      await other;
    };
    await Promise.allSettled([first()]);
    await other;
    w.meddler = undefined;
  };

  test("a pool re-created with other blocks between a read and a create", async () => {
    await using w = await world({ pools: [["10.1.0.0/24", 28]], blockOrder: () => 0n });
    const ips: string[] = [];
    const assign = async (hostname: string) => {
      const { v4 } = await w.ipam.autoAssign({ ...ask, hostname, handleID: hostname });
      ips.push(...v4!.ips.map((ip) => ip.split("/")[0]!));
    };
    await sequence(
      w,
      () => assign("host-b"),
      async () => {
        const [pool] = await w.all("IPPool");
        await w.store.delete(pool!);
        await w.put("IPPool", "pool0", { ...pool!.spec, blockSize: 26 });
        await assign("host-a");
      },
    );
    await assign("host-b");
    expect(new Set(ips).size).toBe(ips.length);
    expect(ips.length).toBeGreaterThan(1);
    const findings = check(await w.stored(), { mode: "atRest", now: w.now });
    expect(findings.filter(({ message }) => /overlap/.test(message))).toEqual([]);
  });

  test("a claim that was cut off after its block was created is withdrawn where another block overlaps it", async () => {
    await using w = await world({ pools: [["10.1.0.0/24", 26]], blockOrder: () => 0n });
    await putAffinity(w, "host-b", "10.1.0.0/28", "pending");
    await w.store.create(block("10.1.0.0/28", { affinity: "host:host-b" }));
    await putAffinity(w, "host-a", "10.1.0.0/26");
    await w.store.create(block("10.1.0.0/26", { affinity: "host:host-a" }));
    const { v4 } = await w.ipam.autoAssign({ ...ask, hostname: "host-b" });
    expect(v4?.ips).toEqual(["10.1.0.64/26"]);
    expect(await sizes(w)).toEqual(["10.1.0.0/26", "10.1.0.64/26"]);
  });

  test("one that holds an address stays pending, and nothing is allocated from it", async () => {
    await using w = await world({ pools: [["10.1.0.0/24", 26]], blockOrder: () => 0n });
    await putAffinity(w, "host-b", "10.1.0.0/30", "pending");
    const used = { allocations: [0, null, null, null], attributes: [{ handle_id: "x" }], unallocated: [1, 2, 3] };
    await w.store.create(block("10.1.0.0/30", { affinity: "host:host-b", ...used }));
    await w.store.create(block("10.1.0.0/26", { affinity: "host:host-a" }));
    const { v4 } = await w.ipam.autoAssign({ ...ask, hostname: "host-b" });
    expect(v4?.ips).toEqual(["10.1.0.64/26"]);
    expect(await affinities(w)).toContain("host-b 10.1.0.0/30 pending");
  });

  test("an unfinished claim in the way is released after 60 seconds, and waited for while it is young", async () => {
    await using w = await world({ pools: [["10.1.0.0/26", 26]], blockOrder: () => 0n });
    await putAffinity(w, "host-b", "10.1.0.0/28", "pending");
    const since = { affinityClaimTime: "2026-01-02T03:04:05Z" };
    await w.store.create(block("10.1.0.0/28", { affinity: "host:host-b", ...since }));
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    expect(await errorOf(w.ipam.autoAssign(ask))).toMatchObject({ code: "MaxRetries" });
    w.pass(10);
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual([]);
    w.pass(60);
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual(["10.1.0.0/26"]);
    expect(await sizes(w)).toEqual(["10.1.0.0/26"]);
  });
});

describe("an unfinished claim in the way", () => {
  const A = "10.1.0.0/26";
  const unfinished = async (more: WorldOptions = {}) => {
    const w = await world({ pools: [[A, 26]], blockOrder: () => 0n, ...more });
    await putAffinity(w, "host-b", "10.1.0.0/28", "pending");
    await w.store.create(block("10.1.0.0/28", { affinity: "host:host-b", affinityClaimTime: "2026-01-02T03:04:05Z" }));
    return w;
  };

  test("assignIP releases it after 60 seconds, and is told of it before", async () => {
    await using w = await unfinished();
    w.pass(10);
    expect(await errorOf(w.ipam.assignIP({ ip: "10.1.0.40" }))).toMatchObject({ code: "BlockOverlap" });
    w.pass(60);
    await w.ipam.assignIP({ ip: "10.1.0.40" });
    expect(await sizes(w)).toEqual([A]);
  });

  test("claimAffinity releases it after 60 seconds", async () => {
    await using w = await unfinished();
    w.pass(10);
    expect(await w.ipam.claimAffinity(A, owner("host-a"))).toEqual({ claimed: [], failed: [A] });
    w.pass(60);
    expect(await w.ipam.claimAffinity(A, owner("host-a"))).toEqual({ claimed: [A], failed: [] });
  });

  test("autoAssign from an own block releases it after 60 seconds, and uses the other addresses before", async () => {
    await using w = await unfinished();
    await putAffinity(w, "host-a", A);
    await w.store.create(block(A, { affinity: "host:host-a" }));
    await withCaches(w, async (ipam) => {
      w.pass(10);
      expect((await ipam.autoAssign(ask)).v4?.ips).toEqual(["10.1.0.16/26"]);
      w.pass(60);
      expect((await ipam.autoAssign(ask)).v4?.ips).toEqual(["10.1.0.0/26"]);
    });
    expect(await sizes(w)).toEqual([A]);
  });

  test("it is waited for while it is young: its own claim withdraws", async () => {
    await using w = await unfinished();
    await putAffinity(w, "host-a", A);
    await w.store.create(block(A, { affinity: "host:host-a" }));
    const assigning = w.ipam.autoAssign(ask);
    await w.ipam.autoAssign({ ...ask, hostname: "host-b" });
    expect((await assigning).v4?.ips).toEqual(["10.1.0.0/26"]);
  });
});

test("a block that was created again after the affinities were listed is not taken for confirmed", async () => {
  await using w = await world({ pools: [["10.1.0.0/26", 28]], blockOrder: () => 0n });
  const { blocksOverlapping: _, blocksOf: __, listNames: ___, ...datastore } = w.watched;
  const ipam = w.openIpam({ datastore, blockOrder: () => 0n });
  await ipam.claimAffinity("10.1.0.0/28", owner("host-a"));
  w.meddler = async ({ operation, kind, name }, store) => {
    if (operation !== "get" || kind !== "IPAMBlock" || name !== "10-1-0-0-28") return;
    w.meddler = undefined;
    const before = [
      await store.get("BlockAffinity", "host-a-10-1-0-0-28"),
      await store.get("IPAMBlock", name),
    ] as const;
    for (const object of before) await store.delete<typeof object.kind>(object);
    await store.create(affinity("host-b", "10.1.0.0/29"));
    await store.create(usedBlock("10.1.0.0/29", "host-b", { 0: { handle_id: "x" } }));
    await store.create(affinity("host-a", "10.1.0.0/28", { state: "pending" }));
    await store.create(block("10.1.0.0/28", { affinity: "host:host-a" }));
  };
  const { v4 } = await ipam.autoAssign(ask);
  expect(v4?.ips).toEqual(["10.1.0.16/28"]);
  expect(await sizes(w)).toEqual(["10.1.0.0/29", "10.1.0.16/28"]);
});

describe("an unconfirmed block that another one overlaps", () => {
  test.each(["autoAssign", "assignIP"])("%s takes nothing from it", async (by) => {
    await using w = await world({ pools: [["10.1.0.0/26", 26]], blockOrder: () => 0n });
    await w.store.create(affinity("host-a", "10.1.0.32/28"));
    await w.store.create(usedBlock("10.1.0.32/28", "host-a", { 0: { handle_id: "x" } }));
    await w.store.create(affinity("host-b", "10.1.0.0/26", { state: "pending" }));
    await w.store.create(block("10.1.0.0/26", { affinity: "host:host-b", affinityClaimTime: w.now.toISOString() }));
    const of = { hostname: "host-c", handleID: "p" };
    if (by === "assignIP") await w.ipam.assignIP({ ip: "10.1.0.5", ...of }).catch(() => {});
    else await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", ...of }).catch(() => {});
    const wide = (await w.all("IPAMBlock")).find(({ spec }) => spec.cidr === "10.1.0.0/26");
    expect(wide?.spec.allocations.filter((index) => index !== null) ?? []).toEqual([]);
  });
});

describe("TRY-03: two sizes stored already, and all blocks at hand", () => {
  /** A process with a cache on two blocks that overlap. */
  const overlapped = async (work: (ipam: Ipam) => Promise<void>) => {
    await using w = await world({ pools: [["10.0.0.0/28", 29]] });
    const blocks = [
      ["n1", "10.0.0.0/28"],
      ["n2", "10.0.0.0/29"],
    ] as const;
    for (const [host, cidr] of blocks) {
      await putAffinity(w, host, cidr);
      await w.store.create(block(cidr, { affinity: `host:${host}` }));
    }
    await withCaches(w, work);
  };

  test("what both cover is allocated from neither", async () => {
    await overlapped(async (ipam) => {
      const first = await ipam.autoAssign({ ...ask, hostname: "n1", num4: 16 });
      const second = await ipam.autoAssign({ ...ask, hostname: "n2", num4: 16 });
      expect(first.v4?.ips).toEqual(Array.from({ length: 8 }, (_, index) => `10.0.0.${index + 8}/28`));
      expect(first.v4?.msgs.join()).toContain("10.0.0.0/28");
      expect(second.v4?.ips).toEqual([]);
    });
  });

  test("one particular address of both is refused, and the other block named", async () => {
    await overlapped(async (ipam) => {
      for (const hostname of ["n1", "n2", "n3"]) {
        const error = await errorOf(ipam.assignIP({ ip: "10.0.0.1", hostname }));
        expect(error).toMatchObject({ code: "BlockOverlap", message: expect.stringMatching(/10\.0\.0\.0\/2[89]/) });
      }
      await ipam.assignIP({ ip: "10.0.0.12", hostname: "n1" });
    });
  });
});

describe("TRY-03: utilization of blocks that overlap", () => {
  test("counts each address once, and what both cover as not available", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 29]] });
    const held = { allocations: [0, ...Array<null>(7).fill(null)], attributes: [{ handle_id: "x" }] };
    await w.store.create(block("10.0.0.0/28", { affinity: "host:n1" }));
    await w.store.create(block("10.0.0.0/29", { affinity: "host:n2", ...held }));
    const [pool] = await w.ipam.getUtilization({ pools: ["pool0"] });
    expect(pool).toMatchObject({ capacity: 16n, inUse: 1n, available: 8n });
    expect(pool!.blocks.map(({ available }) => available)).toEqual([8n, 0n]);
  });

  test("a block beyond its pool counts inside", async () => {
    await using w = await world({ pools: [["10.0.0.0/29", 30]] });
    const held = {
      allocations: [0, ...Array<null>(14).fill(null), 1],
      attributes: [{ handle_id: "x" }, { handle_id: "y" }],
    };
    await w.store.create(block("10.0.0.0/28", { affinity: "host:n1", ...held }));
    expect((await w.ipam.getUtilization())[0]).toMatchObject({ capacity: 8n, inUse: 1n, available: 7n });
  });
});

describe("TRY-28: a malformed block larger than any block", () => {
  test("stops no claim, and is named", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]] });
    await w.put("IPAMBlock", "0-0-0-0-0", { ...block("10.0.0.0/30").spec, cidr: "0.0.0.0/0" });
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toHaveLength(1);
    expect(await w.ipam.claimAffinity("10.0.0.12/30", owner("host-b"))).toMatchObject({ claimed: ["10.0.0.12/30"] });
    expect(w.warnings.join()).toContain("0-0-0-0-0");
  });

  test("one that keeps its range from being claimed is named by the calls that get nothing", async () => {
    await using w = await world({ pools: [["10.0.0.0/30", 30]] });
    await w.store.create({ ...block("10.0.0.0/30"), spec: block("10.0.0.4/30").spec });
    const named = expect.stringContaining('IPAMBlock "10-0-0-0-30" is malformed');
    expect((await w.ipam.autoAssign(ask)).v4?.msgs).toContainEqual(named);
    const ensuring = w.ipam.ensureBlock({ hostReservedAttrIPv4s: windowsReserve(1, 1) });
    expect(await errorOf(ensuring)).toMatchObject({ code: "NoFreeBlocks", details: [expect.anything(), named] });
    expect(await errorOf(w.ipam.assignIP({ ip: "10.0.0.1" }))).toMatchObject({ message: named });
  });
});

describe("a block whose name is no block's", () => {
  test("protects the range of its spec, whatever the store: no block is created over it", async () => {
    await using w = await world({ pools: [["10.0.0.0/27", 28]], blockOrder: () => 0n });
    await w.store.create({ ...block("10.0.0.0/29"), metadata: { name: "left-by-hand" } });
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual(["10.0.0.16/28"]);
    expect(await w.ipam.claimAffinity("10.0.0.0/28", owner("host-b"))).toMatchObject({ failed: ["10.0.0.0/28"] });
    const error = await errorOf(w.ipam.assignIP({ ip: "10.0.0.12", hostname: "host-b" }));
    expect(error).toMatchObject({ code: "BlockOverlap", message: expect.stringContaining("10.0.0.0/29") });
  });
});
