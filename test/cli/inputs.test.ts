/** The writing verbs over data that people really have: nothing that is alive is freed. */
import { describe, expect, it } from "vitest";
import { allocationsOf } from "../../src/judgement/allocations.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { inputSnapshot } from "../support/input-snapshot.ts";
import { affinity, handle, usedBlock } from "../support/ipam-data.ts";
import { scratchFile } from "./ipamctl.ts";
import { NOW, ofPod, sound } from "./sound.ts";
import { rowsOf, siteOf } from "./writing-site.ts";

const INPUTS = [
  "r01-overlapping-block-sizes",
  "r01b-minimal-overlap",
  "r05-fixed-address-after-power-loss",
  "r07-empty-block-with-a-pod-in-it",
  "r07b-gone-and-unowned",
];
const input = (name: string) => inputSnapshot(`${name}.yaml`, NOW);

/** Addresses of running pods that blocks hold. */
function alive({ blocks, pods = [] }: Snapshot): string[] {
  const used = new Set(pods.flatMap(({ addresses }) => addresses));
  const held = blocks.flatMap((block) => Array.from(allocationsOf(block), ({ address }) => address));
  return held.filter((address) => used.has(address)).sort();
}
/** Blocks that hold an address of a running pod. */
function blocksInUse(snapshot: Snapshot): string[] {
  const used = new Set((snapshot.pods ?? []).flatMap(({ addresses }) => addresses));
  return snapshot.blocks
    .filter((block) => Array.from(allocationsOf(block)).some(({ address }) => used.has(address)))
    .map(({ spec }) => spec.cidr);
}

describe.each(INPUTS)("%s", (name) => {
  it.each([
    ["gc", ["gc", "--grace", "0"]],
    ["repair OverlappingBlocks", ["repair", "OverlappingBlocks", "--grace", "0"]],
    ["repair ForeignBlockSize", ["repair", "ForeignBlockSize", "--grace", "0"]],
    ["repair EmptyUnownedBlock", ["repair", "EmptyUnownedBlock", "--grace", "0"]],
  ])("%s frees nothing alive", async (_what, args) => {
    const site = await siteOf(input(name));
    const before = await site.snapshot();
    const copy = args[0] === "repair" ? ["--copy", scratchFile("copy.jsonl")] : [];
    const ran = await site.run([...args, ...copy, "--yes", "-o", "json"]);
    expect(ran.code, ran.stderr).toBe(0);
    const now = await site.snapshot();
    expect(alive(now)).toEqual(alive(before));
    expect(blocksInUse(now)).toEqual(expect.arrayContaining(blocksInUse(before)));
  });
});

it("r07: a block that holds nothing stays while a pod runs in it", async () => {
  const site = await siteOf(input("r07-empty-block-with-a-pod-in-it"));
  const { blocks } = await site.snapshot();
  await site.run(["gc", "--grace", "0", "--yes"]);
  const kept = (await site.snapshot()).blocks.map(({ spec }) => spec.cidr);
  expect(kept).toEqual(blocks.map(({ spec }) => spec.cidr));
});

describe("r05: an address that a pod's own former sandbox holds", () => {
  it("is kept while the pod lists no address", async () => {
    const site = await siteOf(input("r05-fixed-address-after-power-loss"));
    const ran = await site.run(["release", "--handle", "k8s-pod-network.oldsandbox", "-o", "json"]);
    expect([ran.code, ...rowsOf(ran)]).toEqual([1, "kept keep 90.0.0.1"]);
  });

  it("is released once the pod lists an address of another handle, and that one stays", async () => {
    const former = { ...ofPod("web-1", "node-b"), handle_id: "k8s-pod-network.former" };
    const site = await siteOf({
      ...sound,
      blocks: [...sound.blocks, usedBlock("10.0.0.8/30", "node-b", { 0: former })],
      affinities: [...sound.affinities, affinity("node-b", "10.0.0.8/30")],
      handles: [...sound.handles, handle("k8s-pod-network.former", { "10.0.0.8/30": 1 })],
    });
    const ran = await site.run(["release", "--handle", "k8s-pod-network.former", "-o", "json"]);
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, "done release 10.0.0.8"]);
    expect(alive(await site.snapshot())).toEqual(alive(sound));
  });
});
