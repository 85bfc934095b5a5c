/** A pool that was made again with blocks of another size, while blocks of the old size are still in use. */
import { describe, expect, test } from "vitest";
import { check } from "../../invariants/check.ts";
import { errorOf, type World, world } from "../../support/ipam.ts";

const ask = { num4: 1, intendedUse: "Workload" } as const;
const owner = (host: string) => ({ affinityType: "host", host }) as const;

/** Blocks of /29, of which node-a uses the first; then the pool's blocks are of another size. */
async function recut(blockSize: number): Promise<World> {
  const w = await world({ pools: [["10.0.0.0/26", 29]], blockOrder: () => 0n });
  await w.ipam.autoAssign({ ...ask, hostname: "node-a", handleID: "old", num4: 2 });
  const [pool] = await w.all("IPPool");
  await w.store.update({ ...pool!, spec: { ...pool!.spec, blockSize } });
  return w;
}
/** No two blocks overlap; that blocks have their pool's size is what these tests are without. */
async function expectNoOverlap(w: World): Promise<void> {
  const findings = check(await w.stored(), { mode: "atRest", now: w.now });
  expect(findings.filter(({ message }) => /overlap/.test(message))).toEqual([]);
  expect(findings.filter(({ invariant }) => invariant !== 10)).toEqual([]);
}

describe.each([
  ["smaller", 30],
  ["larger", 28],
] as const)("with %s blocks", (_, blockSize) => {
  test("no block is made over an old one, and no address is given twice", async () => {
    await using w = await recut(blockSize);
    const taken = await w.ipam.ipsByHandle("old");
    const { v4 } = await w.ipam.autoAssign({ ...ask, hostname: "node-b", num4: 64 });
    const ips = v4!.ips.map((ip) => ip.split("/")[0]!);
    expect(new Set(ips).size).toBe(ips.length);
    expect(ips.filter((ip) => taken.includes(ip))).toEqual([]);
    expect(ips.length).toBe(blockSize === 30 ? 62 : 54);
    await expectNoOverlap(w);
  });

  test("addresses of the old block are found, changed and released", async () => {
    await using w = await recut(blockSize);
    const [first, second] = await w.ipam.ipsByHandle("old");
    expect(await w.ipam.getAssignmentAttributes(first!)).toMatchObject({ handleID: "old" });
    await w.ipam.setOwnerAttributes(first!, "old", { activeOwnerAttrs: { pod: "p", namespace: "n" } });
    expect(await w.ipam.getAssignmentAttributes(first!)).toMatchObject({ activeOwnerAttrs: { pod: "p" } });
    expect(await w.ipam.releaseIPs([{ address: first! }])).toMatchObject({ unallocated: [] });
    expect(await w.ipam.releaseIPs([{ address: first! }, { address: "10.0.0.60" }])).toMatchObject({
      unallocated: expect.arrayContaining([first, "10.0.0.60"]),
    });
    expect(await w.ipam.ipsByHandle("old")).toEqual([second]);
    await w.ipam.releaseByHandle("old");
    await w.ipam.removeIPAMHost(owner("node-a"));
    expect([...(await w.all("IPAMBlock")), ...(await w.all("IPAMHandle"))]).toEqual([]);
  });

  test("a fixed address in the old block is taken out of it, and one that is in use is in use", async () => {
    await using w = await recut(blockSize);
    const [first] = await w.ipam.ipsByHandle("old");
    const twice = await errorOf(w.ipam.assignIP({ ip: first!, hostname: "node-b" }));
    expect(twice).toMatchObject({ code: "AlreadyExists", holder: { handleID: "old" } });
    await w.ipam.assignIP({ ip: "10.0.0.7", hostname: "node-b", handleID: "fixed" });
    expect(await w.ipam.ipsByHandle("fixed")).toEqual(["10.0.0.7"]);
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.cidr)).toEqual(["10.0.0.0/29"]);
    await expectNoOverlap(w);
  });

  test("claiming all of it claims what is left", async () => {
    await using w = await recut(blockSize);
    const { claimed, failed } = await w.ipam.claimAffinity("10.0.0.0/26", owner("node-b"));
    expect(failed).toEqual(blockSize === 30 ? ["10.0.0.0/30", "10.0.0.4/30"] : ["10.0.0.0/28"]);
    expect(claimed).toHaveLength(blockSize === 30 ? 14 : 3);
    await expectNoOverlap(w);
  });
});

test("a fixed address in a new block that would cover an old one is refused, and leaves no row", async () => {
  await using w = await recut(28);
  const error = await errorOf(w.ipam.assignIP({ ip: "10.0.0.9", hostname: "node-b" }));
  expect(error).toMatchObject({ code: "BlockOverlap", message: expect.stringContaining("10.0.0.0/29") });
  expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual(["node-a"]);
});

test("of overlapping pools of different sizes one allocates, and the others name it", async () => {
  const pools = [
    ["10.0.0.0/27", 29],
    ["10.0.0.0/28", 30],
    ["10.0.0.16/28", 28],
  ] as const;
  await using w = await world({ pools, blockOrder: () => 0n });
  const ips: string[] = [];
  for (const cidr of ["10.0.0.0/28", "10.0.0.16/28"]) {
    const error = await errorOf(w.ipam.autoAssign({ ...ask, hostname: "node-0", num4: 3, ipv4Pools: [cidr] }));
    const winner = expect.stringContaining('overlaps pool "pool0" (10.0.0.0/27)');
    expect(error).toMatchObject({ code: "PoolNotEnabled", details: expect.arrayContaining([winner]) });
  }
  const { v4 } = await w.ipam.autoAssign({ ...ask, hostname: "node-9", num4: 32 });
  ips.push(...v4!.ips.map((ip) => ip.split("/")[0]!));
  expect(new Set(ips).size).toBe(ips.length);
  await expectNoOverlap(w);
});
