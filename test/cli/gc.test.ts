/** `ipamctl gc` by situation. */
import { describe, expect, it } from "vitest";
import { collectionOf } from "../../src/judgement/collection.ts";
import { inventoryOf } from "../../src/judgement/inventory.ts";
import { judge } from "../../src/judgement/judge.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { DAMAGES } from "../judgement/damage.ts";
import { affinity, block, handle, usedBlock } from "../support/ipam-data.ts";
import { emptyBlock, NOW, node, ofPod, pod, sound } from "./sound.ts";
import { rowsOf, type Site, siteOf } from "./writing-site.ts";

const json = (...args: string[]) => ["gc", "-o", "json", ...args];
const withoutPods = (...names: string[]) => sound.pods!.filter(({ name }) => !names.includes(name));
const more = (change: Partial<Pick<Snapshot, "blocks" | "affinities" | "handles">>): Snapshot => ({
  ...sound,
  blocks: [...sound.blocks, ...(change.blocks ?? [])],
  affinities: [...sound.affinities, ...(change.affinities ?? [])],
  handles: [...sound.handles, ...(change.handles ?? [])],
});
/** node-b's block, of which an address cools down: told of in every answer. */
const COOLING = "kept keep IPAMBlock/10-0-0-4-30";
const freed = (ran: { stdout: string }) => rowsOf(ran).filter((row) => !row.startsWith("kept keep"));
const whyOf = (ran: { stdout: string }, object: string): string =>
  JSON.parse(ran.stdout).items.find((item: { object: string }) => item.object === object)?.why;

describe("what is freed", () => {
  it.each<[string, Snapshot, string[]]>([
    ["leaked addresses, a handle at once", { ...sound, pods: withoutPods("web-0") }, ["done release 10.0.0.0 fd00::"]],
    ["a leaked address of a Service", { ...sound, services: [] }, ["done release 10.4.0.0"]],
    ["an orphan handle", more({ handles: [handle("ghost", { "10.0.0.0/30": 1 })] }), ["done delete IPAMHandle/ghost"]],
    ["an empty block of nobody's", more({ blocks: [block("10.0.0.8/30")] }), ["done delete IPAMBlock/10-0-0-8-30"]],
    [
      "an empty block that its node can do without",
      more({ blocks: [emptyBlock("10.0.0.8/30", "node-a")], affinities: [affinity("node-a", "10.0.0.8/30")] }),
      ["done give up IPAMBlock/10-0-0-8-30"],
    ],
    [
      "TRY-14: an empty block of a deleted pool, the last of its node",
      {
        ...more({ blocks: [emptyBlock("192.0.2.0/30", "node-c")], affinities: [affinity("node-c", "192.0.2.0/30")] }),
        nodes: [...sound.nodes!, node("node-c")],
      },
      ["done give up IPAMBlock/192-0-2-0-30"],
    ],
    [
      "an empty block of a node that is gone",
      more({ blocks: [emptyBlock("10.0.0.8/30", "node-z")], affinities: [affinity("node-z", "10.0.0.8/30")] }),
      ["done give up IPAMBlock/10-0-0-8-30"],
    ],
    [
      "addresses that have cooled down",
      more({
        blocks: [
          usedBlock("10.0.0.8/30", "node-c", { 1: { releasedAt: "2026-01-02T11:00:00Z" } }, { affinity: undefined }),
        ],
      }),
      ["done free IPAMBlock/10-0-0-8-30"],
    ],
  ])("%s", async (_what, snapshot, rows) => {
    const site = await siteOf(snapshot);
    const ran = await site.run(json("--grace", "0"));
    expect([ran.code, ...freed(ran)]).toEqual([0, ...rows]);
    expect(await site.codes()).toEqual([]);
    expect(freed(await site.run(json("--grace", "0")))).toEqual([]);
    expect((await site.snapshot()).blocks.map(({ spec }) => spec.cidr)).not.toContain("10.0.0.8/30");
  });

  it("nothing of a cluster that is as it should be", async () => {
    const site = await siteOf(sound);
    const before = await site.snapshot();
    const ran = await site.run(json());
    expect(ran).toMatchObject({ code: 0, asked: [] });
    expect(rowsOf(ran)).toEqual([COOLING]);
    expect(await site.snapshot()).toEqual(before);
  });

  it("--dry-run looks once, says so, and frees nothing", async () => {
    const site = await siteOf({ ...sound, pods: withoutPods("web-1") });
    const before = await site.snapshot();
    const ran = await site.run(json("--dry-run"), { ask: undefined });
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("looked once") });
    expect(rowsOf(ran)).toEqual(["planned release 10.0.0.4", COOLING]);
    expect(whyOf(ran, "10.0.0.4")).toContain("pod shop/web-1 does not exist");
    expect(await site.snapshot()).toEqual(before);
  });
});

describe("what is kept, and why", () => {
  it.each<[string, Snapshot, string, RegExp]>([
    ["cooling", sound, "IPAMBlock/10-0-0-4-30", /1 address still cooling down/],
    [
      "one of two addresses in use",
      { ...sound, pods: [...withoutPods("web-0"), pod("web-0", "node-a", ["10.0.0.0"])] },
      "fd00::",
      /^UnlistedAddress: /,
    ],
    [
      "assigned by hand",
      more({
        blocks: [usedBlock("10.0.0.8/30", "node-a", { 0: { handle_id: "by-hand" } })],
        handles: [handle("by-hand", { "10.0.0.8/30": 1 })],
      }),
      "10.0.0.8",
      /^UnknownOwner: /,
    ],
    [
      "the last block of a node",
      {
        ...more({ blocks: [emptyBlock("10.0.0.8/30", "node-c")], affinities: [affinity("node-c", "10.0.0.8/30")] }),
        nodes: [...sound.nodes!, node("node-c")],
      },
      "IPAMBlock/10-0-0-8-30",
      /is empty, and the last one of node-c/,
    ],
    [
      "claimed just now",
      more({
        blocks: [block("10.0.0.8/30", { affinity: "host:node-a", affinityClaimTime: "2026-01-02T11:59:30Z" })],
        affinities: [affinity("node-a", "10.0.0.8/30")],
      }),
      "IPAMBlock/10-0-0-8-30",
      /claimed it only at/,
    ],
    [
      "of a node that is gone, and in use",
      more({
        blocks: [usedBlock("10.0.0.8/30", "node-z", { 0: ofPod("web-0", "node-a") })],
        affinities: [affinity("node-z", "10.0.0.8/30")],
      }),
      "IPAMBlock/10-0-0-8-30",
      /its node node-z is gone, and 1 of its addresses are not free/,
    ],
    [
      "malformed, and cooling",
      {
        ...sound,
        blocks: sound.blocks.map((each, at) =>
          at === 1 ? { ...each, spec: { ...each.spec, unallocated: [3, 3] } } : each,
        ),
      },
      "IPAMBlock/10-0-0-4-30",
      /it is malformed/,
    ],
  ])("%s", async (_what, snapshot, object, why) => {
    const ran = await (await siteOf(snapshot)).run(json("--dry-run"));
    expect(freed(ran)).toEqual([]);
    expect(whyOf(ran, object)).toMatch(why);
  });

  it("what is leaked is what check calls so, of every damage", () => {
    for (const [code, what, damaged] of DAMAGES) {
      const inventory = inventoryOf({ ...sound, ...damaged });
      const found = judge(inventory.snapshot, { now: NOW });
      const looks = { inventory, found, lasting: found, isUnchanged: () => true };
      const released = collectionOf(looks, NOW).flatMap((decision) =>
        decision.action === "release" ? decision.allocations.map(({ address }) => address) : [],
      );
      const leaked = found.flatMap((finding) => (finding.code === "LeakedAddress" ? [finding.address] : []));
      expect(released.sort(), `${code}: ${what}`).toEqual(leaked.sort());
    }
  });
});

describe("the second look", () => {
  /** Runs with a change between the two looks: the wait has begun when it is said. */
  async function between(site: Site, change: () => unknown) {
    let stderr = "";
    let changing: unknown;
    const ran = await site.run(json("--grace", "1"), {
      stderr: {
        write: (text) => {
          stderr += text;
          if (text.startsWith("looking again in 1 s")) changing = change();
        },
      },
    });
    await changing;
    return { ...ran, stderr };
  }

  it("a pod that came back keeps its address", async () => {
    const site = await siteOf({ ...sound, pods: withoutPods("web-1") });
    const ran = await between(site, () => site.around({ pods: sound.pods! }));
    expect([ran.code, ...rowsOf(ran)]).toEqual([0, COOLING]);
    expect(ran.stderr).toContain("looking again in 1 s");
    expect(ran.asked).toEqual([]);
  });

  it("what looks leaked only then is left for another pass", async () => {
    const site = await siteOf({ ...sound, pods: withoutPods("web-1") });
    const ran = await between(site, () => site.around({ pods: withoutPods("web-1", "web-0") }));
    expect(rowsOf(ran)).toEqual(["done release 10.0.0.4", COOLING, "kept keep 10.0.0.0 fd00::"]);
    expect(whyOf(ran, "10.0.0.0 fd00::")).toContain("10.0.0.0 was seen leaked for the first time");
  });

  it("a handle that was written in between is kept, whatever it counts", async () => {
    const site = await siteOf(more({ handles: [handle("ghost", { "10.0.0.0/30": 1 })] }));
    const ran = await between(site, () =>
      site.change(async (store) => {
        const ghost = await store.get("IPAMHandle", "ghost");
        await store.update({ ...ghost, spec: { ...ghost.spec, block: { "10.0.0.0/30": 2 } } });
      }),
    );
    expect(freed(ran)).toEqual([]);
    expect(whyOf(ran, "IPAMHandle/ghost")).toBe("was changed between the two looks");
  });

  it.each([
    ["of a node that has others", "node-a"],
    ["of a node that is gone", "node-z"],
  ])("an empty block %s is kept, where it was used and given back in between", async (_what, host) => {
    const empty = emptyBlock("10.0.0.8/30", host);
    const site = await siteOf(more({ blocks: [empty], affinities: [affinity(host, "10.0.0.8/30")] }));
    const ran = await between(site, () =>
      site.change(async (store) => {
        const there = await store.get("IPAMBlock", empty.metadata.name);
        await store.update({ ...there, spec: { ...there.spec, sequenceNumber: there.spec.sequenceNumber! + 2n } });
      }),
    );
    expect(freed(ran)).toEqual([]);
    expect(whyOf(ran, "IPAMBlock/10-0-0-8-30")).toBe("is empty, and was changed between the two looks");
  });

  it("and a third at each thing right before it is freed", async () => {
    const site = await siteOf({
      ...more({ handles: [handle("ghost", { "10.0.0.0/30": 1 })] }),
      pods: withoutPods("web-1"),
    });
    const ask = async () => {
      await site.change(async (store) => {
        const ghost = await store.get("IPAMHandle", "ghost");
        await store.update({ ...ghost, spec: { ...ghost.spec, block: { "10.0.0.0/30": 2 } } });
        const held = await store.get("IPAMBlock", "10-0-0-4-30");
        await store.update({ ...held, spec: { ...held.spec, sequenceNumberForAllocation: { 0: 998n, 1: 999n } } });
      });
      return "y";
    };
    const ran = await site.run(json("--grace", "0"), { ask });
    expect(freed(ran)).toEqual(["kept release 10.0.0.4", "kept delete IPAMHandle/ghost"]);
    expect(whyOf(ran, "10.0.0.4")).toBe("10.0.0.4 was allocated again meanwhile");
    expect(whyOf(ran, "IPAMHandle/ghost")).toBe("was changed since it was looked at");
  });

  it("Ctrl-C while it waits ends it, and nothing was freed", async () => {
    const site = await siteOf({ ...sound, pods: withoutPods("web-1") });
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error("interrupted")), 300);
    expect(await site.run(json("--grace", "60"), { signal: stop.signal })).toMatchObject({ code: 130, stdout: "" });
    expect(await site.codes()).toEqual(["LeakedAddress"]);
  });
});

const MANY = 5000;

it("CLI-01: thousands of harmless handles go, the two dangerous addresses stay told", async () => {
  const names = Array.from({ length: MANY }, (_, index) => `k8s-pod-network.dddd-${index}`);
  const site = await siteOf({
    ...more({ handles: names.map((name) => handle(name, { "10.65.0.0/29": 1 })) }),
    pods: [...sound.pods!, pod("thief", "node-a", ["10.0.0.2"]), pod("other", "node-b", ["10.0.0.6"])],
  });
  const counts = async () => JSON.parse((await site.run(["check", "--second-look", "0", "-o", "json"])).stdout).counts;
  expect(await counts()).toEqual({ InUseNotAllocated: 2, OrphanHandle: MANY });
  expect(JSON.parse((await site.run(json("--dry-run"))).stdout).counts).toEqual({ planned: MANY, kept: 1 });
  const ran = await site.run(json("--grace", "0", "--yes"));
  expect([ran.code, JSON.parse(ran.stdout).counts]).toEqual([0, { done: MANY, kept: 1 }]);
  expect(await counts()).toEqual({ InUseNotAllocated: 2 });
});

it.each([["soon"], ["-1"], ["9999"]])("--grace %s is a usage error", async (grace) => {
  const ran = await (await siteOf(sound)).run(["gc", "--grace", grace]);
  expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(`--grace '${grace}'`) });
});
