/** A block goes, or is confirmed, only after a last look: at who uses its addresses, and at the blocks that overlap it. */
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, block } from "../support/ipam-data.ts";
import { scratchFile } from "./ipamctl.ts";
import { emptyBlock, pod, sound } from "./sound.ts";
import { rowsOf, type Site, siteOf } from "./writing-site.ts";

const CIDR = "10.0.0.8/30";
const late = { pods: [...sound.pods!, pod("late", "node-a", ["10.0.0.9"])] };
const unread = { pods: undefined as never, unread: [{ part: "pods", reason: "may not list pods" }] };
const withBlock = (added: Snapshot["blocks"][number], ...affinities: Snapshot["affinities"]): Snapshot => ({
  ...sound,
  blocks: [...sound.blocks, added],
  affinities: [...sound.affinities, ...affinities],
});
const repair = (code: string) => () => [
  "repair",
  code,
  "--grace",
  "0",
  "-o",
  "json",
  "--copy",
  scratchFile("copy.jsonl"),
];
const GC = () => ["gc", "--grace", "0", "-o", "json"];
const rows = async (site: Site) => {
  const { blocks, affinities } = await site.snapshot();
  return { blocks, affinities };
};
const whyOf = ({ stdout }: { readonly stdout: string }): string[] =>
  JSON.parse(stdout).items.map(({ why }: { why: string }) => why);

describe.each<[string, () => string[], string, Snapshot]>([
  ["EmptyUnownedBlock", repair("EmptyUnownedBlock"), "IPAMBlock/10-0-0-8-30", withBlock(block(CIDR))],
  [
    "AffinityOfGoneNode",
    repair("AffinityOfGoneNode"),
    "BlockAffinity/node-z-10-0-0-8-30",
    withBlock(emptyBlock(CIDR, "node-z"), affinity("node-z", CIDR)),
  ],
  [
    "UnfinishedAffinity",
    repair("UnfinishedAffinity"),
    "BlockAffinity/node-a-10-0-0-8-30",
    withBlock(emptyBlock(CIDR, "node-a"), affinity("node-a", CIDR, { state: "pendingDeletion" })),
  ],
  [
    "BlockWithoutAffinity of a node that is gone",
    repair("BlockWithoutAffinity"),
    "IPAMBlock/10-0-0-8-30",
    withBlock(emptyBlock(CIDR, "node-z")),
  ],
  ["gc of a block without an owner", GC, "IPAMBlock/10-0-0-8-30", withBlock(block(CIDR))],
])("%s", (_what, args, object, snapshot) => {
  it.each([
    ["a pod uses an address of it", late, "Pod shop/late"],
    ["pods can no longer be read", unread, "may not list pods"],
  ])("the empty block stays where, by then, %s", async (_when, change, because) => {
    const site = await siteOf(snapshot);
    const before = await rows(site);
    const ask = async () => {
      site.around(change);
      return "y";
    };
    const ran = await site.run(args(), { ask });
    const own = rowsOf(ran).findIndex((row) => row.endsWith(object));
    expect(rowsOf(ran)[own]).toMatch(/^kept /);
    expect(whyOf(ran)[own]).toContain(because);
    expect(await rows(site)).toEqual(before);
  });

  it("it goes where nobody does", async () => {
    const site = await siteOf(snapshot);
    expect(rowsOf(await site.run(args())).find((row) => row.endsWith(object))).toMatch(/^done /);
    expect((await rows(site)).blocks.map(({ spec }) => spec.cidr)).not.toContain(CIDR);
  });
});

describe.each<[string, string, Snapshot]>([
  [
    "UnfinishedAffinity",
    "BlockAffinity/node-a-10-0-0-8-30",
    withBlock(emptyBlock(CIDR, "node-a"), affinity("node-a", CIDR, { state: "pending" })),
  ],
  ["BlockWithoutAffinity", "IPAMBlock/10-0-0-8-30", withBlock(emptyBlock(CIDR, "node-a"))],
])("%s", (code, object, snapshot) => {
  const confirmed = async (site: Site) =>
    (await rows(site)).affinities.some(({ spec }) => spec.cidr === CIDR && spec.state === "confirmed");

  it("nothing is confirmed where another block overlaps it by then", async () => {
    const site = await siteOf(snapshot);
    const ask = async () => {
      await site.change((store) => store.create({ ...emptyBlock("10.0.0.8/29", "node-b"), kind: "IPAMBlock" }));
      return "y";
    };
    const ran = await site.run(repair(code)(), { ask });
    expect(rowsOf(ran)).toEqual([`kept mend ${object}`]);
    expect(whyOf(ran)[0]).toContain("overlaps 10.0.0.8/29");
    expect(await confirmed(site)).toBe(false);
  });

  it("it is confirmed where none does", async () => {
    const site = await siteOf(snapshot);
    expect(rowsOf(await site.run(repair(code)()))).toEqual([`done mend ${object}`]);
    expect(await confirmed(site)).toBe(true);
  });
});
