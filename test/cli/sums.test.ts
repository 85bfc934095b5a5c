/** The numbers of one screen add up, or the screen says in one line what makes the difference. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { IPAMBlock } from "../../src/api/v3.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, configuration, pool, reservation, usedBlock } from "../support/ipam-data.ts";
import { ipamctl, type Ran, rows } from "./ipamctl.ts";
import { node, ofPod, sound } from "./sound.ts";

const BASE = { v: "10.0.0.0/26" };
const textAt = (value: number) => `10.0.0.${value}`;

interface Held {
  readonly first: number;
  readonly prefix: 29 | 30;
  /** By ordinal. */
  readonly entries: readonly ("free" | "live" | "cooling")[];
  readonly owner: string;
  readonly malformed: boolean;
}
interface World {
  readonly blocks: readonly Held[];
  /** Reserved ranges: the first address, and how many bits are the host's. */
  readonly reserved: readonly (readonly [first: number, hostBits: number])[];
}

const entry = fc.constantFrom("free", "live", "cooling", "free") as fc.Arbitrary<"free" | "live" | "cooling">;
const sized = (prefix: 29 | 30, bits: number): fc.Arbitrary<Held> =>
  fc.record({
    first: fc.integer({ min: 0, max: 64 / 2 ** bits - 1 }).map((index) => index * 2 ** bits),
    prefix: fc.constant(prefix),
    entries: fc.array(entry, { minLength: 2 ** bits, maxLength: 2 ** bits }),
    owner: fc.constantFrom("node-a", "node-b"),
    malformed: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
  });
const worlds: fc.Arbitrary<World> = fc.record({
  blocks: fc.uniqueArray(fc.oneof({ weight: 4, arbitrary: sized(30, 2) }, { weight: 1, arbitrary: sized(29, 3) }), {
    maxLength: 8,
    selector: ({ first, prefix }) => `${first}/${prefix}`,
  }),
  reserved: fc.array(
    fc.tuple(fc.integer({ min: 0, max: 63 }), fc.integer({ min: 0, max: 3 })).map(([at, bits]) => {
      return [at - (at % 2 ** bits), bits] as const;
    }),
    { maxLength: 3 },
  ),
});

function blockOf({ first, prefix, entries, owner, malformed }: Held): IPAMBlock {
  const used = Object.fromEntries(
    entries.flatMap((what, ordinal) => {
      if (what === "free") return [];
      const cooling = { releasedAt: "2026-01-02T11:59:00Z" };
      return [[ordinal, what === "cooling" ? cooling : ofPod(`pod-${first + ordinal}`, "node-a")]];
    }),
  );
  const made = usedBlock(`${textAt(first)}/${prefix}`, owner, used);
  return malformed ? { ...made, spec: { ...made.spec, unallocated: [0, 0] } } : made;
}

function snapshotOf({ blocks, reserved }: World): Snapshot {
  return {
    ...emptySnapshot("2026-01-02T12:00:00.000Z", "projectcalico.org/v3"),
    pools: [pool("p", BASE.v, { blockSize: 30 })],
    reservations: [reservation("r", ...reserved.map(([first, bits]) => `${textAt(first)}/${32 - bits}`))],
    configurations: [configuration({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 300 })],
    blocks: blocks.map(blockOf),
    affinities: blocks.map(({ first, prefix, owner }) => affinity(owner, `${textAt(first)}/${prefix}`)),
    nodes: [node("node-a"), node("node-b")],
    namespaces: [],
    pods: [],
    services: [],
    events: [],
  };
}

/** What each of the pool's 64 addresses is, reckoned one by one and apart from the code under test. */
function reckoned({ blocks, reserved }: World) {
  const kinds = Array.from({ length: 64 }, (_, value) => {
    const covering = blocks.filter(({ first, entries }) => value >= first && value < first + entries.length);
    const sane = covering.filter(({ malformed }) => !malformed);
    const held = sane.map(({ first, entries }) => entries[value - first]!);
    const isReserved = reserved.some(([first, bits]) => value >= first && value < first + 2 ** bits);
    const isLive = held.includes("live");
    const isCooling = !isLive && held.includes("cooling");
    const isFree = !isLive && !isCooling && !isReserved && covering.length - sane.length === 0 && held.length < 2;
    return { isLive, isCooling, isReserved, isFree, isCovered: covering.length > 0 };
  });
  const count = (is: (kind: (typeof kinds)[number]) => boolean) => kinds.filter(is).length;
  return {
    inUse: count(({ isLive, isCooling }) => isLive || isCooling),
    inCooldown: count(({ isCooling }) => isCooling),
    reserved: count(({ isReserved }) => isReserved),
    available: count(({ isFree }) => isFree),
    reservedInUse: count(({ isLive, isCooling, isReserved }) => isReserved && (isLive || isCooling)),
    withheld: count(({ isLive, isCooling, isReserved, isFree }) => !isLive && !isCooling && !isReserved && !isFree),
    uncovered: count(({ isFree, isCovered }) => isFree && !isCovered),
  };
}

const json = async (snapshot: Snapshot, ...args: string[]) =>
  JSON.parse((await ipamctl([...args, "-o", "json"], { snapshot })).stdout);
const numbers = (row: object) =>
  Object.fromEntries(Object.entries(row).map(([key, value]) => [key, /^\d+$/.test(value) ? Number(value) : value]));

describe("in any world", () => {
  it("a pool's addresses are in use, reserved, free or withheld, and those in use and reserved are counted", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const { uncovered: _, ...counts } = reckoned(world);
        const [row] = (await json(snapshotOf(world), "show")).items.map(numbers);
        expect(row).toMatchObject(counts);
        expect(row.inUse + row.reserved - row.reservedInUse + row.available + row.withheld).toBe(row.capacity);
      }),
      { numRuns: 100 },
    );
  });

  it("a block's do so too, and what the pool has besides its blocks is told", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const snapshot = snapshotOf(world);
        const { uncovered } = reckoned(world);
        for (const row of (await json(snapshot, "show", "--blocks")).items.map(numbers)) {
          expect(row.inUse + row.reserved - row.reservedInUse + row.available + row.withheld).toBe(row.capacity);
        }
        const { stderr } = await ipamctl(["show", "--blocks"], { snapshot });
        const said = /in no block yet: p (\d+)/.exec(stderr)?.[1] ?? "0";
        expect(Number(said)).toBe(uncovered);
      }),
      { numRuns: 60 },
    );
  });

  it("FULL and FREE of top come to 100 %, and what is not free is told where it is more than in use", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const snapshot = snapshotOf(world);
        const { available, inUse, inCooldown } = reckoned(world);
        const [pools] = (await ipamctl(["top"], { snapshot })).stdout.split("\n\n");
        const [, , full = "", free = ""] = rows({ stdout: pools! } as Ran)[1]!;
        const percent = (text: string) => Number(/(\d+)%/.exec(text)![1]);
        const isExact = !/[<>]/.test(full + free);
        if (isExact) expect(percent(full) + percent(free)).toBe(100);
        const { stderr } = await ipamctl(["top"], { snapshot });
        const parts = /^not free: .*p (.*)$/m.exec(stderr)?.[1];
        const told = parts?.match(/\d+(?= (in use|cooling|reserved|withheld))/g)?.map(Number) ?? [];
        if (64 - available === inUse && inCooldown === 0) expect(parts).toBeUndefined();
        else expect(told.reduce((sum, part) => sum + part, 0)).toBe(64 - available);
      }),
      { numRuns: 60 },
    );
  });

  it("no part of a map is fuller than full, and the blocks of the title are those of the pool", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async (world) => {
        const snapshot = snapshotOf(world);
        const [map] = (await json(snapshot, "show", "--map")).items;
        for (const { used } of map.cells) expect(used).toBeLessThanOrEqual(1);
        const used = map.cells.reduce((sum: number, cell: { used: number }) => sum + cell.used * 4, 0);
        expect(used).toBe(reckoned(world).inUse);
        const { stdout } = await ipamctl(["show", "--map"], { snapshot });
        const count = world.blocks.filter(({ malformed }) => !malformed).length;
        expect(stdout.split("\n")[0]).toMatch(new RegExp(`: ${count} blocks?,`));
      }),
      { numRuns: 60 },
    );
  });
});

describe("what makes the difference is said in one line", () => {
  it("show: cooling counts as in use; in use and reserved", async () => {
    const reserved = { ...sound, reservations: [reservation("r", "10.0.0.0/30")] };
    const { stderr } = await ipamctl(["show"], { snapshot: reserved });
    expect(stderr).toContain("IPS IN USE counts those that cool down: p4 1\n");
    expect(stderr).toContain("in use and reserved, and counted as both: p4 2\n");
  });

  it("show: what two blocks cover is given by neither", async () => {
    const twice = { ...sound, blocks: [...sound.blocks, usedBlock("10.0.0.0/29", "node-a", {})] };
    const { stderr } = await ipamctl(["show"], { snapshot: twice });
    expect(stderr).toMatch(
      /^neither in use nor free, because blocks overlap or are malformed: p4 3. See ipamctl check/m,
    );
  });

  it("show: nothing, where everything adds up", async () => {
    const plain = { ...sound, reservations: [], blocks: [usedBlock("10.0.0.0/30", "node-a", { 0: ofPod("a", "a") })] };
    expect(await ipamctl(["show"], { snapshot: plain })).toMatchObject({ code: 0, stderr: "" });
  });

  it("top and show round in the same way", async () => {
    const used = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [at, ofPod(`a${at}`, "node-a")]));
    const snapshot = {
      ...sound,
      pools: [pool("p", "10.0.0.0/28", { blockSize: 28 })],
      reservations: [],
      blocks: [usedBlock("10.0.0.0/28", "node-a", used)],
    };
    const [, shown] = rows(await ipamctl(["show", "--no-headers=false"].slice(0, 1), { snapshot }));
    const [, topped] = rows(await ipamctl(["top"], { snapshot }));
    expect([shown![3], topped![2]]).toEqual(["5 (31%)", "31%"]);
    const [, ofSix] = rows(
      await ipamctl(["top"], {
        snapshot: { ...snapshot, blocks: [usedBlock("10.0.0.0/28", "node-a", { ...used, 5: ofPod("b", "node-a") })] },
      }),
    );
    expect(ofSix![2]).toBe("38%");
  });
});

describe("a screen without rows says so", () => {
  const empty = emptySnapshot(sound.takenAt);
  const lists = [
    ["show"],
    ["show", "--blocks"],
    ["show", "--map"],
    ["show", "--borrowed"],
    ["show", "--cooldown"],
    ["top"],
  ];
  it.each(lists.map((args) => args.join(" ")))("%s", async (command) => {
    const ran = await ipamctl(command.split(" "), { snapshot: empty });
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: expect.stringMatching(/^No resources found$/m) });
    const json = await ipamctl([...command.split(" "), "-o", "json"], { snapshot: empty });
    expect(json.stderr).not.toContain("No resources found");
    expect(Object.values(JSON.parse(json.stdout))).toContainEqual([]);
  });
});

it("an address that cools down, or is a Service's, is used by no node: that is known", async () => {
  const ran = await ipamctl(["show", "--borrowed"], { snapshot: sound });
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const byHand = usedBlock("10.0.0.8/30", "node-a", { 0: { handle_id: "by-hand" } });
  const unsure = await ipamctl(["show", "--borrowed"], { snapshot: { ...sound, blocks: [...sound.blocks, byHand] } });
  expect(unsure.stderr).toContain("1 address does not say which node uses it: whether it is borrowed is unknown\n");
});
