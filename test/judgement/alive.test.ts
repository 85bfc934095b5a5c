/** Nothing that is alive is freed, given up with its block, or called free; and what is surely free is found. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { whyNode } from "../../src/cli/why/report.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { collectionOf, type Decision } from "../../src/judgement/collection.ts";
import { usageOf } from "../../src/judgement/in-use.ts";
import { inventoryOf } from "../../src/judgement/inventory.ts";
import { judge } from "../../src/judgement/judge.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { NOW } from "../cli/sound.ts";
import { type World, worldOf, worlds } from "./world.ts";

const RUNS = { numRuns: 400 };

/** An empty block of another size stands before the one that the library takes over. */
const LARGER_AND_EMPTY: typeof worlds extends fc.Arbitrary<infer Description> ? Description : never = {
  actors: [
    { fate: "releasedByMistake", slot: 16, record: "right", place: "narrow", wrongNode: false },
    { fate: "running", slot: 12, record: "right", place: "narrow", wrongNode: false },
    { fate: "running", slot: 4, record: "right", place: "both", wrongNode: false },
    { fate: "running", slot: 20, record: "right", place: "narrow", wrongNode: false },
  ],
  emptyNarrow: [0],
  emptyWide: [1, 3],
  owners: ["n0", "n0", "n0", undefined, undefined, undefined, "n0", "n1", "n0", "n0", "n0", "n0"],
  unread: undefined,
  strictAffinity: false,
};

/** A block without an affinity, of which every address has cooled down, covers a part of the node's own block. */
const COOLED_AND_OVERLAPPING: typeof LARGER_AND_EMPTY = {
  actors: [
    { fate: "running", slot: 12, record: "right", place: "narrow", wrongNode: false },
    { fate: "running", slot: 8, record: "lost", place: "narrow", wrongNode: false },
    { fate: "cooled", slot: 11, record: "right", place: "narrow", wrongNode: false },
    { fate: "running", slot: 16, record: "right", place: "narrow", wrongNode: false },
    { fate: "running", slot: 11, record: "right", place: "both", wrongNode: false },
    { fate: "running", slot: 4, record: "right", place: "narrow", wrongNode: false },
  ],
  emptyNarrow: [5, 0],
  emptyWide: [0],
  owners: ["n0", "n0", "n0", "gone", undefined, "n0", "n0", undefined, "n0", "n0", "n0", "n0"],
  unread: undefined,
  strictAffinity: false,
};

function decided(snapshot: Snapshot): Decision[] {
  const found = judge(snapshot, { now: NOW });
  const looks = { inventory: inventoryOf(snapshot), found, lasting: found, isUnchanged: () => true };
  return collectionOf(looks, NOW);
}

/** `block address` of what is released. */
const released = (decisions: readonly Decision[]) =>
  decisions.flatMap((decision) =>
    decision.action === "release"
      ? decision.allocations.map(({ block, address }) => `${block.metadata.name} ${address}`)
      : [],
  );

/** Blocks that are deleted, or whose cooled addresses are freed. */
const blocksOf = (decisions: readonly Decision[], ...actions: Decision["action"][]) =>
  decisions.flatMap((decision) => (actions.includes(decision.action) && "block" in decision ? [decision.block] : []));

/** Addresses of 10.0.0.0/24 that a block covers. */
function covered({ spec }: { readonly spec: { readonly cidr: string; readonly allocations: readonly unknown[] } }) {
  const base = Number(/(\d+)\//.exec(spec.cidr)![1]);
  return spec.allocations.map((_, at) => spec.cidr.replace(/\d+\/.*/, String(base + at)));
}

describe("over random clusters and histories", () => {
  it("nothing in use or unknown is freed, nor given up with its block", () => {
    const property = fc.property(worlds, (description) => {
      const world = worldOf(description);
      const decisions = decided(world.snapshot);
      expect(released(decisions).filter((place) => world.kept.has(place))).toEqual([]);
      if (world.isBlind)
        expect([...released(decisions), ...blocksOf(decisions, "give up", "delete block", "free")]).toEqual([]);
      expect(endangered(world, decisions)).toEqual([]);
    });
    fc.assert(property, RUNS);
  });

  it("everything that is surely free is found", () => {
    const property = fc.property(worlds, (description) => {
      const world = worldOf(description);
      const cooling = (place: string) => isCooling(world.snapshot, place);
      const wanted = [...world.free].filter((place) => !cooling(place));
      expect(released(decided(world.snapshot))).toEqual(expect.arrayContaining(wanted));
    });
    fc.assert(property, RUNS);
  });

  it("the predicate never says no of an address in use", () => {
    const property = fc.property(worlds, (description) => {
      const { snapshot, held } = worldOf(description);
      const usages = usageOf(snapshot);
      expect([...held].filter((address) => usages.at(address).inUse === "no")).toEqual([]);
    });
    fc.assert(property, RUNS);
  });

  it("where why says that an address is given, the library gives none in use", async () => {
    const property = fc.asyncProperty(worlds, async (description) => {
      const world = worldOf(description);
      const given = await next(world.snapshot);
      const { state, summary } = whyNode(world.snapshot, "n0", "shop", NOW);
      if (given !== undefined && world.held.has(given) && state === "passes") {
        expect(world.isBlind, `${given} is in use, and: ${summary}`).toBe(true);
        expect(summary).toContain("is not known");
      }
    });
    await fc.assert(property, { numRuns: 250, examples: [[LARGER_AND_EMPTY], [COOLED_AND_OVERLAPPING]] });
  }, 120_000);
});

/** Addresses in use whose last record goes, or never was, in a block that is deleted or freed. */
function endangered({ snapshot, held }: World, decisions: readonly Decision[]): string[] {
  const gone = blocksOf(decisions, "give up", "delete block");
  const rest = snapshot.blocks.filter((block) => !gone.some((each) => each.metadata.name === block.metadata.name));
  const stillRecorded = new Set(rest.flatMap(recordedIn));
  const lost = gone.flatMap(covered).filter((address) => held.has(address) && !stillRecorded.has(address));
  const freed = blocksOf(decisions, "free").flatMap((block) => covered(block).filter((_, at) => isColdAt(block, at)));
  return [...lost, ...freed.filter((address) => held.has(address))];
}

type Block = Snapshot["blocks"][number];
const entryAt = ({ spec }: Block, at: number) => {
  const index = spec.allocations[at];
  return index === null || index === undefined ? undefined : spec.attributes[index];
};
const isColdAt = (block: Block, at: number) => entryAt(block, at)?.releasedAt !== undefined;
const recordedIn = (block: Block) => covered(block).filter((_, at) => entryAt(block, at) && !isColdAt(block, at));

function isCooling({ blocks }: Snapshot, place: string): boolean {
  const [name, address] = place.split(" ");
  const found = blocks.find(({ metadata }) => metadata.name === name)!;
  return isColdAt(found, covered(found).indexOf(address!));
}

/** The address that the real library gives on node n0. */
async function next({ pools, configurations, blocks, affinities, handles }: Snapshot): Promise<string | undefined> {
  const store = openEmbedded(":memory:");
  try {
    for (const object of [...pools, ...configurations, ...blocks, ...affinities, ...handles]) {
      await store.create(object as Parameters<typeof store.create>[0]);
    }
    const nodes = async () => ({ metadata: { labels: {} } });
    const ipam = createIpam({ datastore: store, clock: () => NOW, windowsHost: false, nodes, warn: () => {} });
    const asked = { num4: 1, handleID: "next", hostname: "n0", intendedUse: "Workload", attrs: {} } as const;
    const { v4 } = await ipam.autoAssign(asked).catch(() => ({ v4: undefined }));
    return v4?.ips[0]?.split("/")[0];
  } finally {
    await store.close();
  }
}
