/** Cases of nodes that get no address, or not all they asked for: what they are told, and what is left behind. */
import { describe, expect, test } from "vitest";
import { partialResult } from "../../src/ipam/assignments.ts";
import { check } from "../invariants/check.ts";
import { count, errorOf, failing, type World, world } from "../support/ipam.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const host = (name: string) => ({ affinityType: "host", host: name }) as const;
const strict = { strictAffinity: true };
const findings = async (w: World) => check(await w.stored(), { mode: "atRest", now: w.now });
const rows = async (w: World) => (await w.all("BlockAffinity")).map(({ spec }) => `${spec.node} ${spec.cidr}`);
const ofBoth = (error: unknown) => partialResult(error)?.v4;

describe("CORE-11: the cap is for automatic allocation", () => {
  test("a fixed address in a block of nobody's claims it, cap or no cap", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]], blockOrder: () => 0n });
    await w.ipam.setIPAMConfig({ ...strict, maxBlocksPerHost: 1 });
    await w.ipam.autoAssign(ask);
    await w.ipam.assignIP({ ip: "10.0.0.9", hostname: "node-a", handleID: "fixed" });
    expect(await rows(w)).toEqual(["node-a 10.0.0.0/30", "node-a 10.0.0.8/30"]);
    const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 7 }));
    expect([error.code, ofBoth(error)?.ips.length]).toEqual(["BlockLimit", 6]);
    expect(new Set((await findings(w)).map(({ invariant }) => invariant))).toEqual(new Set([25])); // the cap is exceeded
  });
});

describe("CORE-12: nothing to draw from ends in words, and leaves nothing half-made", () => {
  test("a node without blocks, a full pool, and no borrowing", async () => {
    await using w = await world({ pools: [["10.0.0.0/30", 30]] });
    await w.ipam.setIPAMConfig(strict);
    await w.ipam.autoAssign({ ...ask, num4: 4, hostname: "node-b" });
    const { v4 } = await w.ipam.autoAssign(ask);
    expect(v4).toMatchObject({ ips: [], msgs: ["No more free affine blocks and strict affinity enabled"] });
    expect(await rows(w)).toEqual(["node-b 10.0.0.0/30"]);
  });

  test("no pool at all", async () => {
    await using w = await world();
    for (const use of ["Workload", "Tunnel", "LoadBalancer"] as const) {
      const error = await errorOf(w.ipam.autoAssign({ ...ask, num6: 1, intendedUse: use }));
      expect(error).toMatchObject({ code: "NoQualifiedPool", message: "cannot find a qualified ippool" });
    }
    const assign = await errorOf(w.ipam.assignIP({ ip: "10.0.0.1", hostname: "node-a" }));
    expect(assign).toMatchObject({ code: "NotInPool" });
    const ensure = w.ipam.ensureBlock({
      hostname: "node-a",
      hostReservedAttrIPv4s: { startOfBlock: 3, endOfBlock: 1, handle: "windows-reserved-ipam-handle", note: "" },
    });
    expect(await errorOf(ensure)).toMatchObject({ code: "NoQualifiedPool" });
    expect(await rows(w)).toEqual([]);
  });

  test("no such node", async () => {
    await using w = await world({ pools: [["10.0.0.0/30", 30]], nodes: { "node-b": {} } });
    const error = await errorOf(w.ipam.autoAssign(ask));
    expect(error).toMatchObject({ code: "NodeNotFound", message: expect.stringContaining('"node-a" not found') });
    expect([...(await rows(w)), ...(await w.all("IPAMHandle"))]).toEqual([]);
  });

  test("a pool that is deleted between its listing and the claim", async () => {
    await using w = await world({ pools: [["10.0.0.0/30", 30]] });
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "create" || kind !== "BlockAffinity") return;
      w.meddler = undefined;
      await w.store.delete((await w.all("IPPool"))[0]!);
    };
    expect(count((await w.ipam.autoAssign({ ...ask, handleID: "h" })).v4)).toBe(1);
    expect(await findings(w)).toEqual([]);
    expect(await errorOf(w.ipam.autoAssign(ask))).toMatchObject({ code: "NoQualifiedPool" });
    await w.ipam.releaseByHandle("h");
    await w.ipam.removeIPAMHost(host("node-a"));
    expect([...(await rows(w)), ...(await w.all("IPAMBlock"))]).toEqual([]);
  });
});

test("CORE-15: .0 and .255 are addresses as any other", async () => {
  await using w = await world({ pools: [["10.0.0.0/24", 26]] });
  const [before] = await w.ipam.getUtilization();
  expect(before).toMatchObject({ capacity: 256n, available: 256n });
  const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 257 });
  const ips = new Set(v4!.ips.map((ip) => ip.split("/")[0]));
  expect([ips.size, ips.has("10.0.0.0"), ips.has("10.0.0.255")]).toEqual([256, true, true]);
  expect((await w.ipam.getUtilization())[0]).toMatchObject({ capacity: 256n, inUse: 256n, available: 0n });
});

// BLK-03: the operator's warning about blockSize and cap is told with the Installation.
describe("BLK-03: the cap where none is set is 20", () => {
  const pools = [["10.0.0.0/20", 32]] as const;
  const twentyFive = { ...ask, num4: 25 };
  const theDefault =
    'host node-a owns 20 blocks and may own 20: the default, as neither IPAMConfiguration "default" nor the request sets maxBlocksPerHost';

  test.each([
    ["unset", {}],
    ["0", { maxBlocksPerHost: 0 }],
  ])("%s", async (_, config) => {
    await using w = await world({ pools });
    await w.ipam.setIPAMConfig({ ...strict, ...config });
    const error = await errorOf(w.ipam.autoAssign(twentyFive));
    expect([error.code, ofBoth(error)?.ips.length]).toEqual(["BlockLimit", 20]);
    expect((error as unknown as { details: string[] }).details).toContain(theDefault);
  });

  test("a cap of 64 is enough; one of 22 is named with where it stands", async () => {
    await using w = await world({ pools });
    await w.ipam.setIPAMConfig({ ...strict, maxBlocksPerHost: 64 });
    const error = await errorOf(w.ipam.autoAssign({ ...twentyFive, maxBlocksPerHost: 22 }));
    const words = "host node-a owns 22 blocks and may own 22: maxBlocksPerHost of the request";
    expect(error).toMatchObject({ code: "BlockLimit", details: expect.arrayContaining([words]) });
    expect(count((await w.ipam.autoAssign({ ...ask, num4: 3 })).v4)).toBe(3);
    await w.ipam.setIPAMConfig({ maxBlocksPerHost: 25 });
    const global = await errorOf(w.ipam.autoAssign(ask));
    expect(global).toMatchObject({
      details: expect.arrayContaining([
        'host node-a owns 25 blocks and may own 25: maxBlocksPerHost of IPAMConfiguration "default"',
      ]),
    });
  });
});

// BLK-04: which of the addresses have no pod is known to the collector, which reads pods.
test("BLK-04: at the cap, the error says how full the node's blocks are and points at leaks", async () => {
  await using w = await world({ pools: [["10.0.0.0/24", 29]] });
  await w.ipam.setIPAMConfig({ strictAffinity: true });
  for (let i = 0; i < 19; i++) await w.ipam.autoAssign({ ...ask, num4: 8, handleID: `leaked-${i}` });
  await w.ipam.autoAssign({ ...ask, num4: 8, handleID: "live" });
  expect(await errorOf(w.ipam.autoAssign(ask))).toMatchObject({
    code: "BlockLimit",
    details: [
      expect.stringContaining("owns 20 blocks and may own 20"),
      "160 of their 160 addresses are allocated and 0 cooling down; addresses whose pod is gone are leaks: release them",
    ],
  });
});

describe("BLK-05: addresses of single-address blocks are not stranded on nodes", () => {
  async function stranded(): Promise<World> {
    const w = await world({ pools: [["10.0.0.0/30", 32]], blockOrder: () => 0n });
    await w.ipam.setIPAMConfig(strict);
    for (const node of ["a", "b", "c", "d"]) await w.ipam.autoAssign({ ...ask, hostname: node, handleID: node });
    return w;
  }
  const onE = (w: World) => w.ipam.autoAssign({ ...ask, hostname: "e" });

  test("an empty one moves once its claim is a minute old; younger and filled ones do not", async () => {
    await using w = await stranded();
    w.pass(61);
    expect(count((await onE(w)).v4)).toBe(0);
    await w.ipam.releaseByHandle("c");
    expect((await onE(w)).v4?.ips).toEqual(["10.0.0.2/32"]);
    await using young = await stranded();
    await young.ipam.releaseByHandle("c");
    young.pass(59);
    expect(count((await onE(young)).v4)).toBe(0);
    expect(await findings(w)).toEqual([]);
  });

  test.each([
    ["row is marked", "update", "BlockAffinity"],
    ["block is deleted", "delete", "IPAMBlock"],
  ] as const)("one that its owner fills before its %s stays its owner's", async (_, operation, kind) => {
    await using w = await stranded();
    w.pass(61);
    await w.ipam.releaseByHandle("c");
    w.meddler = async (call) => {
      if (call.operation !== operation || call.kind !== kind) return;
      w.meddler = undefined;
      await w.openIpam().assignIP({ ip: "10.0.0.2", hostname: "c", handleID: "again" });
    };
    expect(count((await onE(w)).v4)).toBe(0);
    expect((await w.block("10.0.0.2/32")).spec.affinity).toBe("host:c");
    expect(await w.ipam.ipsByHandle("again")).toEqual(["10.0.0.2"]);
    await w.ipam.autoAssign({ ...ask, hostname: "c" });
    expect(await findings(w)).toEqual([]);
  });

  test("where the take-over fails half-way, the next one finishes it", async () => {
    await using w = await stranded();
    w.pass(61);
    await w.ipam.releaseByHandle("c");
    w.meddler = failing("delete", "BlockAffinity", "Unavailable", 1);
    await onE(w);
    expect((await onE(w)).v4?.ips.length).toBe(1);
  });
});
