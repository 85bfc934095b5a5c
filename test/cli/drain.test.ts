/** `ipamctl repair` of blocks that are removed in steps: what it plans, what each run does, and what it leaves to people. */
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, configuration, handle, usedBlock } from "../support/ipam-data.ts";
import { scratchFile } from "./ipamctl.ts";
import { emptyBlock, ofPod, pod, sound } from "./sound.ts";
import { rowsOf, type Site, siteOf } from "./writing-site.ts";

const repair = (site: Site, code: string, ...args: string[]) =>
  site.run(["repair", code, "--grace", "0", "--copy", scratchFile("copy.jsonl"), "-o", "json", ...args]);
const whyOf = ({ stdout }: { stdout: string }): string => JSON.parse(stdout).items[0].why;
const handleOf = (name: string, cidr: string) => handle(`k8s-pod-network.${name}`, { [cidr]: 1 });

/** node-b's /29 lies over node-a's /30, which is of the pool's size; a pod runs in each. */
const overlapping: Snapshot = {
  ...sound,
  blocks: [
    ...sound.blocks,
    usedBlock("10.0.0.8/30", "node-a", { 1: ofPod("right", "node-a") }),
    usedBlock("10.0.0.8/29", "node-b", { 5: ofPod("odd", "node-b") }),
  ],
  affinities: [...sound.affinities, affinity("node-a", "10.0.0.8/30"), affinity("node-b", "10.0.0.8/29")],
  handles: [...sound.handles, handleOf("right", "10.0.0.8/30"), handleOf("odd", "10.0.0.8/29")],
  pods: [...sound.pods!, pod("right", "node-a", ["10.0.0.9"]), pod("odd", "node-b", ["10.0.0.13"])],
};

describe("OverlappingBlocks", () => {
  it("--dry-run prints which block stays, which goes, and the pods to delete", async () => {
    const site = await siteOf(overlapping);
    const before = await site.snapshot();
    const ran = await repair(site, "OverlappingBlocks", "--dry-run");
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, "planned remove IPAMBlock/10-0-0-8-29"]);
    expect(whyOf(ran)).toMatch(
      /10\.0\.0\.8\/30 stays, and 10\.0\.0\.8\/29 goes; its affinity \(host:node-b\) is released/,
    );
    expect(whyOf(ran)).toContain(
      "delete the pods shop/odd on node-b (10.0.0.13), first: kubectl delete pod -n shop odd",
    );
    expect(whyOf(ran)).not.toContain("shop/right");
    expect(JSON.parse(ran.stdout).items[0]).toMatchObject({
      goes: "10.0.0.8/29",
      stays: ["10.0.0.8/30"],
      pods: [{ namespace: "shop", name: "odd", node: "node-b", address: "10.0.0.13" }],
    });
    expect(await site.snapshot()).toEqual(before);
  });

  it("releases the affinity, waits for the pods, and deletes the block when it is empty", async () => {
    const site = await siteOf(overlapping);
    const first = await repair(site, "OverlappingBlocks");
    expect([first.code, ...rowsOf(first)]).toEqual([0, "done release affinity IPAMBlock/10-0-0-8-29"]);
    expect(whyOf(first)).toContain("left to do: delete the pods shop/odd on node-b (10.0.0.13)");
    const odd = (await site.snapshot()).blocks.find(({ spec }) => spec.cidr === "10.0.0.8/29")!;
    expect(odd.spec.affinity).toBeUndefined();
    expect(odd.spec.allocations[5]).not.toBeNull();
    const second = await repair(site, "OverlappingBlocks");
    expect([second.code, ...rowsOf(second)]).toEqual([0, "kept remove IPAMBlock/10-0-0-8-29"]);
    site.around({ pods: overlapping.pods!.filter(({ name }) => name !== "odd") });
    expect(whyOf(await repair(site, "OverlappingBlocks"))).toContain(
      "free 10.0.0.13, which nothing uses, with ipamctl gc",
    );
    await site.run(["gc", "--grace", "0", "--yes"]);
    expect(whyOf(await repair(site, "OverlappingBlocks"))).toContain("wait for 1 address to cool down");
    const configurations = [configuration({ strictAffinity: false, autoAllocateBlocks: true })];
    await site.change(async (store) => {
      const stored = await store.get("IPAMConfiguration", "default");
      await store.update({ ...stored, spec: configurations[0]!.spec });
    });
    await site.run(["gc", "--grace", "0", "--yes"]);
    await repair(site, "OverlappingBlocks");
    expect((await site.snapshot()).blocks.map(({ spec }) => spec.cidr)).not.toContain("10.0.0.8/29");
    expect(await site.codes()).toEqual([]);
  });

  it("a pod that runs in a block that holds nothing keeps it", async () => {
    const site = await siteOf({
      ...overlapping,
      blocks: [...overlapping.blocks.slice(0, -1), emptyBlock("10.0.0.8/29", "node-b")],
      handles: overlapping.handles.slice(0, -1),
    });
    const ran = await repair(site, "OverlappingBlocks");
    expect(rowsOf(ran)).toEqual(["kept remove IPAMBlock/10-0-0-8-29"]);
    expect(whyOf(ran)).toContain("delete the pods shop/odd on node-b (10.0.0.13)");
    expect((await site.snapshot()).blocks.map(({ spec }) => spec.cidr)).toContain("10.0.0.8/29");
  });
});

describe.each([
  ["ForeignBlockSize", "10.0.0.8/31"],
  ["BlockOutsidePools", "192.0.2.0/30"],
])("%s", (code, cidr) => {
  it("deletes an empty block, with its affinity", async () => {
    const site = await siteOf({
      ...sound,
      blocks: [...sound.blocks, emptyBlock(cidr, "node-b")],
      affinities: [...sound.affinities, affinity("node-b", cidr)],
    });
    expect(await site.codes()).toEqual([code]);
    const ran = await repair(site, code);
    expect(rowsOf(ran)).toEqual([`done delete IPAMBlock/${cidr.replaceAll(/[./]/g, "-")}`]);
    expect(await site.codes()).toEqual([]);
  });
});
