/** Host names as long as nodes can have them, and longer: the names of their rows are cut and made unique by a hash. */
import { describe, expect, test } from "vitest";
import { affinityName } from "../../../src/api/names.ts";
import { check } from "../../invariants/check.ts";
import { errorOf, type World, world } from "../../support/ipam.ts";

const ask = { num4: 1, intendedUse: "Workload" } as const;
const owner = (host: string) => ({ affinityType: "host", host }) as const;
/** 252 characters each, which differ only beyond the part that names of rows keep. */
const [first, second] = ["1", "2"].map((end) => `${"n".repeat(251)}${end}`) as [string, string];
const start = () =>
  world({ pools: [["10.0.0.0/26", 29]], blockOrder: () => 0n, nodes: { [first]: {}, [second]: {}, "node-a": {} } });

async function expectSound(w: World): Promise<void> {
  expect(check(await w.stored(), { mode: "atRest", now: w.now })).toEqual([]);
}
const rowsOf = async (w: World, host: string) =>
  (await w.all("BlockAffinity")).filter(({ spec }) => spec.node === host);

describe("hosts of 252 characters", () => {
  test("autoAssign gives each of two that begin alike a block and a row of its own", async () => {
    await using w = await start();
    for (const hostname of [first, second]) await w.ipam.autoAssign({ ...ask, hostname, handleID: "h" });
    const rows = await w.all("BlockAffinity");
    expect(rows.map(({ spec }) => spec.cidr).sort()).toEqual(["10.0.0.0/29", "10.0.0.8/29"]);
    for (const { metadata, spec } of rows) {
      expect(metadata.name).toHaveLength(252);
      expect(metadata.name).toBe(affinityName(spec.node, spec.cidr));
      expect((await w.block(spec.cidr)).spec.affinity).toBe(`host:${spec.node}`);
    }
    await w.ipam.autoAssign({ ...ask, hostname: first, num4: 7 });
    expect(await w.all("IPAMBlock")).toHaveLength(2);
    await expectSound(w);
  });

  test("claimAffinity is kept from the other's block, though both rows would begin alike", async () => {
    await using w = await start();
    const cidr = "10.0.0.0/29";
    expect(await w.ipam.claimAffinity(cidr, owner(first))).toEqual({ claimed: [cidr], failed: [] });
    expect(await w.ipam.claimAffinity(cidr, owner(second))).toEqual({ claimed: [], failed: [cidr] });
    expect(await rowsOf(w, second)).toEqual([]);
    await w.ipam.releaseAffinity(cidr, second, true);
    expect(await rowsOf(w, first)).toHaveLength(1);
    await w.ipam.releaseAffinity(cidr, first, true);
    expect(await rowsOf(w, first)).toEqual([]);
  });

  test("assignIP claims the block, and with strict affinity only its owner takes from it", async () => {
    await using w = await start();
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    await w.ipam.assignIP({ ip: "10.0.0.9", hostname: first, handleID: "h" });
    expect((await rowsOf(w, first)).map(({ spec }) => spec.cidr)).toEqual(["10.0.0.8/29"]);
    const others = await errorOf(w.ipam.assignIP({ ip: "10.0.0.10", hostname: second }));
    expect(others).toMatchObject({ code: "AffinityMismatch" });
    await w.ipam.assignIP({ ip: "10.0.0.10", hostname: first });
    await expectSound(w);
  });

  test.each(["releaseHostAffinities", "removeIPAMHost"] as const)("%s gives up one's blocks only", async (method) => {
    await using w = await start();
    for (const host of [first, second])
      await w.ipam.autoAssign({ ...ask, hostname: host, handleID: `h${host.at(-1)}` });
    await w.ipam.releaseByHandle("h1");
    if (method === "removeIPAMHost") await w.ipam.removeIPAMHost(owner(first));
    else await w.ipam.releaseHostAffinities(owner(first), true);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual([second]);
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.affinity)).toEqual([`host:${second}`]);
    await expectSound(w);
  });
});

describe("beyond the limit", () => {
  const tooLong = "n".repeat(513);
  test.each<[string, (w: World) => Promise<unknown>]>([
    ["autoAssign", ({ ipam }) => ipam.autoAssign({ ...ask, hostname: tooLong })],
    ["ensureBlock", ({ ipam }) => ipam.ensureBlock({ hostname: tooLong })],
    ["assignIP", ({ ipam }) => ipam.assignIP({ ip: "10.0.0.1", hostname: tooLong })],
    ["claimAffinity", ({ ipam }) => ipam.claimAffinity("10.0.0.0/29", owner(tooLong))],
  ])("%s says at once how long a name may be", async (_, call) => {
    await using w = await start();
    const error = await errorOf(call(w));
    expect(error).toMatchObject({ code: "InvalidArgument", message: expect.stringContaining("at most 512 long") });
    expect(w.calls).toEqual([]);
  });

  test.each<[string, (w: World) => Promise<unknown>]>([
    ["releaseHostAffinities", ({ ipam }) => ipam.releaseHostAffinities(owner(tooLong), true)],
    ["removeIPAMHost", ({ ipam }) => ipam.removeIPAMHost(owner(tooLong))],
  ])("%s has nothing to give up, as no such host can own a block", async (_, call) => {
    await using w = await start();
    await w.ipam.claimAffinity("10.0.0.0/29", owner(first));
    w.writes();
    await call(w);
    expect(w.writes()).toEqual([]);
  });

  test("a name that is cut at a dot can have no row: said at once, and nothing is left", async () => {
    const cut = `${"n".repeat(227)}.${"m".repeat(24)}`;
    await using w = await world({ pools: [["10.0.0.0/26", 29]], blockOrder: () => 0n });
    for (const call of [
      () => w.ipam.autoAssign({ ...ask, hostname: cut, handleID: "h" }),
      () => w.ipam.assignIP({ ip: "10.0.0.1", hostname: cut, handleID: "h" }),
      () => w.ipam.claimAffinity("10.0.0.0/29", owner(cut)),
    ]) {
      expect(await errorOf(call())).toMatchObject({
        code: "InvalidArgument",
        message: expect.stringContaining("which is no object name"),
      });
      expect(w.writes()).toEqual([]);
    }
    await w.ipam.removeIPAMHost(owner(cut));
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });
});
