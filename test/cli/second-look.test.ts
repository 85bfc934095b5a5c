/** TRY-05: owners that came back while a question stood open. Each owner is looked at again right before the write. */
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, usedBlock } from "../support/ipam-data.ts";
import { scratchFile } from "./ipamctl.ts";
import { emptyBlock, node, ofPod, ofTunnel, pod, sound } from "./sound.ts";
import { rowsOf, type Site, siteOf } from "./writing-site.ts";

const without = (...names: string[]) => sound.pods!.filter(({ name }) => !names.includes(name));
/** Answers yes after the world around has changed. */
const yesAfter = (site: Site, change: Parameters<Site["around"]>[0]) => ({
  ask: async () => {
    site.around(change);
    return "y";
  },
});
const objects = async (site: Site) => {
  const { blocks, affinities, handles } = await site.snapshot();
  return { blocks, affinities, handles };
};

/** A node that is gone, with a tunnel's address in the block of another, and an empty block of its own. */
const withoutNode: Snapshot = {
  ...sound,
  blocks: [
    ...sound.blocks,
    usedBlock("10.0.0.8/30", "node-a", { 0: ofTunnel("node-z") }),
    emptyBlock("10.0.0.12/30", "node-z"),
  ],
  affinities: [...sound.affinities, affinity("node-a", "10.0.0.8/30"), affinity("node-z", "10.0.0.12/30")],
};
const backAgain = { nodes: [...sound.nodes!, node("node-z")] };

describe("gc", () => {
  const gc = ["gc", "--grace", "0", "-o", "json"];

  it("a node that was made again keeps its tunnel's address and its block", async () => {
    const site = await siteOf(withoutNode);
    const before = await objects(site);
    const ran = await site.run(gc, yesAfter(site, backAgain));
    expect(rowsOf(ran).filter((row) => row.startsWith("done"))).toEqual([]);
    expect(rowsOf(ran)).toEqual(
      expect.arrayContaining(["kept release 10.0.0.8", "kept give up IPAMBlock/10-0-0-12-30"]),
    );
    expect(await objects(site)).toEqual(before);
    expect(ran.stdout).toContain("node node-z is there");
  });

  it.each<[string, Snapshot, Parameters<Site["around"]>[0], string]>([
    ["a pod", { ...sound, pods: without("web-1") }, { pods: sound.pods! }, "10.0.0.4"],
    [
      "a pod that starts",
      { ...sound, pods: without("web-1") },
      { pods: [...without("web-1"), pod("web-1", "node-b", [])] },
      "10.0.0.4",
    ],
    ["a Service", { ...sound, services: [] }, { services: sound.services! }, "10.4.0.0"],
  ])("%s that came back keeps its address", async (_what, snapshot, back, address) => {
    const site = await siteOf(snapshot);
    const before = await objects(site);
    const ran = await site.run(gc, yesAfter(site, back));
    expect(rowsOf(ran)).toContain(`kept release ${address}`);
    expect(await objects(site)).toEqual(before);
  });

  it("nothing is freed where owners can no longer be read", async () => {
    const site = await siteOf({ ...sound, pods: without("web-1") });
    const unread = [{ part: "pods", reason: "may not list pods" }];
    const ran = await site.run(gc, yesAfter(site, { pods: undefined as never, unread }));
    expect(rowsOf(ran)).toContain("kept release 10.0.0.4");
    expect(ran.stdout).toContain("may not list pods");
  });

  it("addresses that have cooled down, and that somebody uses by then", async () => {
    const cooled = usedBlock("10.0.0.8/30", "node-a", { 1: { releasedAt: "2026-01-02T11:00:00Z" } });
    const site = await siteOf({
      ...sound,
      blocks: [...sound.blocks, cooled],
      affinities: [...sound.affinities, affinity("node-a", "10.0.0.8/30")],
    });
    const before = await objects(site);
    const user = pod("by-hand", "node-a", ["10.0.0.9"]);
    const ran = await site.run(gc, yesAfter(site, { pods: [...sound.pods!, user] }));
    expect(rowsOf(ran)).toContain("kept free IPAMBlock/10-0-0-8-30");
    expect(await objects(site)).toEqual(before);
  });
});

describe("release", () => {
  it.each([
    ["by address", ["10.0.0.4"]],
    ["by handle", ["--handle", "k8s-pod-network.web-1"]],
    ["by pod", ["--pod", "shop/web-1"]],
  ])("%s: a pod that came back keeps its address", async (_what, args) => {
    const site = await siteOf({ ...sound, pods: without("web-1") });
    const before = await objects(site);
    const ran = await site.run(["release", ...args, "-o", "json"], yesAfter(site, { pods: sound.pods! }));
    expect(rowsOf(ran)).toEqual(["kept release 10.0.0.4"]);
    expect(ran.stdout).toContain("Pod shop/web-1 uses it");
    expect(await objects(site)).toEqual(before);
  });

  it("--even-in-use releases it all the same", async () => {
    const site = await siteOf({ ...sound, pods: without("web-1") });
    const args = ["release", "10.0.0.4", "--even-in-use", "-o", "json"];
    expect(rowsOf(await site.run(args, yesAfter(site, { pods: sound.pods! })))).toEqual(["done release 10.0.0.4"]);
  });

  it("from a report: a pod that came back keeps its address", async () => {
    const clusterInformation = { ...sound.clusterInformation!, guid: "", resourceVersion: "" };
    const site = await siteOf({ ...sound, pods: without("web-1"), clusterInformation });
    const report = scratchFile("report.json");
    await site.run(["check", "--second-look", "0", "--report", report]);
    const before = await objects(site);
    const args = ["release", "--from-report", report, "--force", "-o", "json"];
    const ran = await site.run(args, yesAfter(site, { pods: sound.pods! }));
    expect(rowsOf(ran)).toEqual(["kept release 10.0.0.4"]);
    expect(await objects(site)).toEqual(before);
  });
});

describe("repair", () => {
  const repair = (code: string) => ["repair", code, "--grace", "0", "-o", "json", "--copy", scratchFile("copy.jsonl")];

  it("AffinityOfGoneNode: a node that was made again keeps its block", async () => {
    const site = await siteOf(withoutNode);
    const before = await objects(site);
    const ran = await site.run(repair("AffinityOfGoneNode"), yesAfter(site, backAgain));
    expect(rowsOf(ran)).toEqual(["kept mend BlockAffinity/node-z-10-0-0-12-30"]);
    expect(await objects(site)).toEqual(before);
  });

  it("BlockWithoutAffinity: a node that was made again gets its affinity", async () => {
    const site = await siteOf({ ...withoutNode, affinities: withoutNode.affinities.slice(0, -1) });
    await site.run(repair("BlockWithoutAffinity"), yesAfter(site, backAgain));
    const { blocks, affinities } = await objects(site);
    expect(blocks.map(({ spec }) => spec.cidr)).toContain("10.0.0.12/30");
    expect(affinities.map(({ metadata }) => metadata.name)).toContain("node-z-10-0-0-12-30");
  });

  it("AllocationPointsNowhere: an address that somebody uses by then stays taken", async () => {
    const torn = usedBlock("10.0.0.8/30", "node-a", { 0: ofPod("torn", "node-a") });
    const allocations = torn.spec.allocations.map((index, ordinal) => (ordinal === 1 ? 7 : index));
    const unallocated = torn.spec.unallocated.filter((ordinal) => ordinal !== 1);
    const site = await siteOf({
      ...sound,
      blocks: [...sound.blocks, { ...torn, spec: { ...torn.spec, allocations, unallocated } }],
      affinities: [...sound.affinities, affinity("node-a", "10.0.0.8/30")],
      pods: [...sound.pods!, pod("torn", "node-a", ["10.0.0.8"])],
    });
    const before = await objects(site);
    const pods = [...sound.pods!, pod("torn", "node-a", ["10.0.0.8"]), pod("late", "node-a", ["10.0.0.9"])];
    const ran = await site.run(repair("AllocationPointsNowhere"), yesAfter(site, { pods }));
    expect(rowsOf(ran)).toEqual(["kept mend IPAMBlock/10-0-0-8-30"]);
    expect(await objects(site)).toEqual(before);
  });
});
