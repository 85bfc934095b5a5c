/** `ipamctl split` by situation. */
import { describe, expect, it } from "vitest";
import type { IPPoolSpec } from "../../src/api/v3.ts";
import { partName } from "../../src/cli/split/parts.ts";
import { pool } from "../support/ipam-data.ts";
import { sound } from "./sound.ts";
import { rowsOf, type Site, siteOf, stopsAfter } from "./writing-site.ts";

const json = (...args: string[]) => ["split", ...args, "-o", "json"];
const poolsOf = async (site: Site): Promise<Record<string, IPPoolSpec>> =>
  Object.fromEntries((await site.snapshot()).pools.map(({ metadata, spec }) => [metadata.name, spec]));
const part = (index: number, cidr: string, more: object = {}) => [
  `split-p4-${index}`,
  { cidr, blockSize: 30, ...more },
];
const others = Object.fromEntries(
  sound.pools.filter(({ metadata }) => metadata.name !== "p4").map(({ metadata, spec }) => [metadata.name, spec]),
);
const halves = { ...others, ...Object.fromEntries([part(0, "10.0.0.0/29"), part(1, "10.0.0.8/29")]) };

describe("a pool is cut", () => {
  it.each([[["--name", "p4"]], [["--cidr", "10.0.0.0/28"]]])("named by %j", async (flags) => {
    const site = await siteOf(sound);
    const before = await site.snapshot();
    const ran = await site.run(json("2", ...flags));
    expect(ran.asked).toEqual(['Cut pool "p4" (10.0.0.0/28) into 2? [y/N] ']);
    expect([ran.code, ...rowsOf(ran)]).toEqual([
      0,
      "done disable IPPool/p4",
      "done create IPPool/split-p4-0",
      "done create IPPool/split-p4-1",
      "done delete IPPool/p4",
    ]);
    expect(await poolsOf(site)).toEqual(halves);
    const { blocks, affinities, handles } = await site.snapshot();
    expect({ blocks, affinities, handles }).toEqual({
      blocks: before.blocks,
      affinities: before.affinities,
      handles: before.handles,
    });
    expect(await site.codes()).toEqual([]);
    const again = await site.run(json("2", ...flags));
    expect([again.code, ...rowsOf(again)]).toEqual([
      0,
      "kept create IPPool/split-p4-0",
      "kept create IPPool/split-p4-1",
    ]);
  });

  it("with everything it is: IPv6, selectors, and being disabled", async () => {
    const spec = { blockSize: 122, nodeSelector: "has(rack)", natOutgoing: true, disabled: true };
    const site = await siteOf({ ...sound, pools: [...sound.pools, pool("wide", "fd01::/64", spec)] });
    expect((await site.run(json("4", "--name", "wide"))).code).toBe(0);
    const found = await poolsOf(site);
    expect(["0", "1", "2", "3"].map((index) => found[`split-wide-${index}`])).toEqual(
      ["fd01::/66", "fd01::4000:0:0:0/66", "fd01::8000:0:0:0/66", "fd01::c000:0:0:0/66"].map((cidr) => ({
        ...spec,
        cidr,
      })),
    );
    expect(found["wide"]).toBeUndefined();
  });

  it("--dry-run shows the parts", async () => {
    const site = await siteOf(sound);
    const ran = await site.run(json("4", "--name", "p4", "--dry-run"));
    expect(
      JSON.parse(ran.stdout)
        .items.map(({ why }: { why: string }) => why)
        .slice(1, 5),
    ).toEqual(["10.0.0.0/30", "10.0.0.4/30", "10.0.0.8/30", "10.0.0.12/30"]);
    expect(Object.keys(await poolsOf(site))).toEqual(["lb", "p4", "p6"]);
  });
});

describe("cut off, it goes on", () => {
  it.each([1, 2, 3, 4])("after %i of its steps", async (steps) => {
    const site = await siteOf(sound);
    const stopped = await site.run(json("2", "--name", "p4", "--yes"), { signal: stopsAfter(steps) });
    expect(stopped.code).toBe(steps === 4 ? 0 : 130);
    expect(rowsOf(stopped).filter((row) => row.startsWith("done"))).toHaveLength(steps);
    const ran = await site.run(json("2", "--name", "p4", "--yes"));
    expect(ran.code).toBe(0);
    expect(await poolsOf(site)).toEqual(halves);
  });

  it("one of calicoctl's, which leaves no mark: the parts say what the pool was", async () => {
    const site = await siteOf({
      ...sound,
      pools: [
        ...sound.pools.map((each) =>
          each.metadata.name === "p4" ? { ...each, spec: { ...each.spec, disabled: true } } : each,
        ),
        pool("split-p4-0", "10.0.0.0/29", { blockSize: 30 }),
      ],
    });
    const ran = await site.run(json("2", "--name", "p4", "--yes"));
    expect([ran.code, ...rowsOf(ran).slice(-1)]).toEqual([0, "kept create IPPool/split-p4-0"]);
    expect(ran.stderr).toContain("goes on with the split that was begun");
    expect(await poolsOf(site)).toEqual(halves);
  });

  it("into another number is refused", async () => {
    const site = await siteOf(sound);
    await site.run(json("2", "--name", "p4", "--yes"), { signal: stopsAfter(1) });
    const ran = await site.run(json("4", "--name", "p4", "--yes"));
    expect(ran).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("ipamctl split 2 --name p4") });
  });

  it("a step that cannot be done keeps all after it from being done", async () => {
    const site = await siteOf(sound);
    const ask = async () => {
      await site.change((store) => store.create({ ...pool("split-p4-0", "192.0.2.0/24"), kind: "IPPool" }));
      return "y";
    };
    const ran = await site.run(json("2", "--name", "p4"), { ask });
    expect([ran.code, ...rowsOf(ran).map((row) => row.split(" IPPool")[0])]).toEqual([
      1,
      "done disable",
      "failed create",
      "not reached create",
      "not reached delete",
    ]);
    expect(await site.run(json("2", "--name", "p4"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("it is no part of this split"),
    });
  });

  it("a pool that was changed while the question was open is left alone", async () => {
    const site = await siteOf(sound);
    const ask = async () => {
      await site.change(async (store) => {
        const found = await store.get("IPPool", "p4");
        await store.update({ ...found, spec: { ...found.spec, natOutgoing: true } });
      });
      return "y";
    };
    const ran = await site.run(json("2", "--name", "p4"), { ask });
    expect(rowsOf(ran)[0]).toBe("kept disable IPPool/p4");
    expect([ran.code, Object.keys(await poolsOf(site))]).toEqual([1, ["lb", "p4", "p6"]]);
  });
});

describe("what cannot be", () => {
  it.each([
    [["3", "--name", "p4"], 2, "'3' is no power of two"],
    [["1", "--name", "p4"], 2, "'1' is no power of two"],
    [["two", "--name", "p4"], 2, "'two' is no power of two"],
    [["2"], 2, "say which pool"],
    [["2", "--name", "p4", "--cidr", "10.0.0.0/28"], 2, "say which pool"],
    [["2", "--cidr", "10.0.0.0"], 2, "is not a CIDR"],
    [["8", "--name", "p4"], 1, 'pool "p4" has 4 blocks of /30: it cannot be cut into 8'],
    [["2", "--name", "nowhere"], 1, 'there is no IPPool "nowhere"'],
    [["2", "--cidr", "192.0.2.0/24"], 1, "there is no IPPool with the range 192.0.2.0/24"],
  ])("%j", async (args, code, message) => {
    const site = await siteOf(sound);
    const before = await site.snapshot();
    expect(await site.run(["split", ...args])).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringContaining(message),
    });
    expect(await site.snapshot()).toEqual(before);
  });

  it("a name that would be too long is cut, as calicoctl cuts it", () => {
    const long = "p".repeat(253);
    expect(partName(long, 1, 2)).toBe(`split-${"p".repeat(245)}-1`);
    expect(partName(long, 15, 16)).toHaveLength(253);
    expect(partName(`${"p".repeat(244)}.x`, 0, 2)).toBe(`split-${"p".repeat(244)}-0`);
  });
});
