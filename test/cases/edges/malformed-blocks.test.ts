/** Malformed blocks beside a sound one: each is named, none is written over, and every method works on the sound one. */
import { describe, expect, test } from "vitest";
import type { Ipam } from "../../../src/ipam/client.ts";
import { count, errorOf, type World, world } from "../../support/ipam.ts";
import { affinity } from "../../support/ipam-data.ts";
import { malformedBlocks } from "../../support/malformed-blocks.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const owner = { affinityType: "host", host: "node-a" } as const;
const sound = "10.0.0.0/29";

/** The sound block is node-a's, with one address of handle "h" and one of handle "vm". */
async function start(): Promise<World> {
  const w = await world({ pools: [["10.0.0.0/26", 29]], blockOrder: () => 0n });
  for (const handleID of ["h", "vm"]) {
    await w.ipam.autoAssign({ ...ask, handleID, attrs: { node: "node-a", namespace: "n", pod: handleID } });
  }
  for (const block of malformedBlocks()) await w.store.create(block);
  w.writes();
  return w;
}

const malformedNames = malformedBlocks().map(({ metadata }) => metadata.name);
async function stored(w: World) {
  return (await w.all("IPAMBlock")).filter(({ metadata }) => malformedNames.includes(metadata.name));
}

const calls: [string, (ipam: Ipam, w: World) => Promise<void>][] = [
  ["autoAssign from the own block", async (ipam) => expect(count((await ipam.autoAssign(ask)).v4)).toBe(1)],
  [
    "autoAssign beyond it: every block but the malformed ones",
    async (ipam) => expect(count((await ipam.autoAssign({ ...ask, num4: 64 })).v4)).toBe(38),
  ],
  [
    "autoAssign of a host at its cap, which borrows",
    async (ipam) => {
      const args = { ...ask, hostname: "node-b", num4: 14, maxBlocksPerHost: 1 };
      expect(count((await ipam.autoAssign(args)).v4)).toBe(14);
    },
  ],
  ["assignIP in the sound block", (ipam) => ipam.assignIP({ ip: "10.0.0.7", hostname: "node-b", handleID: "fixed" })],
  ["assignIP in a new block", (ipam) => ipam.assignIP({ ip: "10.0.0.33", hostname: "node-b", handleID: "fixed" })],
  [
    "releaseIPs",
    async (ipam) => expect(await ipam.releaseIPs([{ address: "10.0.0.0" }])).toMatchObject({ unallocated: [] }),
  ],
  ["releaseByHandle", (ipam) => ipam.releaseByHandle("h")],
  ["ipsByHandle", async (ipam) => expect(await ipam.ipsByHandle("h")).toEqual(["10.0.0.0"])],
  [
    "getAssignmentAttributes",
    async (ipam) => expect(await ipam.getAssignmentAttributes("10.0.0.0")).toMatchObject({ handleID: "h" }),
  ],
  ["setOwnerAttributes", (ipam) => ipam.setOwnerAttributes("10.0.0.1", "vm", { alternateOwnerAttrs: { pod: "p" } })],
  [
    "swapOwners",
    async (ipam) => {
      await ipam.setOwnerAttributes("10.0.0.1", "vm", { alternateOwnerAttrs: { namespace: "n", pod: "target" } });
      await ipam.swapOwners("vm", { namespace: "n", name: "target" });
    },
  ],
  [
    "claimAffinity of a sound range",
    async (ipam) => expect(await ipam.claimAffinity("10.0.0.32/29", owner)).toMatchObject({ failed: [] }),
  ],
  ["releaseAffinity", (ipam) => ipam.releaseAffinity(sound, "node-a", false)],
  ["releaseHostAffinities", (ipam) => ipam.releaseHostAffinities(owner, false)],
  ["releasePoolAffinities", (ipam) => ipam.releasePoolAffinities("10.0.0.0/26")],
  ["releaseBlockAffinity", async (ipam, w) => ipam.releaseBlockAffinity(await w.block(sound), false)],
  ["removeIPAMHost", (ipam) => ipam.removeIPAMHost(owner)],
  [
    "ensureBlock",
    async (ipam) => {
      const hostReservedAttrIPv4s = {
        startOfBlock: 1,
        endOfBlock: 1,
        handle: "windows-reserved-ipam-handle",
        note: "n",
      };
      expect(await ipam.ensureBlock({ hostname: "node-b", hostReservedAttrIPv4s })).toEqual({
        v4: "10.0.0.32/29",
        v6: null,
      });
    },
  ],
  ["upgradeHost", (ipam) => ipam.upgradeHost("node-a")],
  [
    "garbageCollectColdIPs",
    async (ipam, w) => ipam.garbageCollectColdIPs({ ipCooldownSeconds: 0 }, await w.block(sound)),
  ],
  [
    "getUtilization",
    async (ipam) => {
      const [row] = await ipam.getUtilization();
      expect(row).toMatchObject({ capacity: 64n, inUse: 2n, available: 38n });
      expect(row!.blocks.map(({ cidr }) => cidr)).toEqual([sound]);
    },
  ],
];

test.each(calls)("%s", async (_, call) => {
  await using w = await start();
  const before = await stored(w);
  await call(w.ipam, w);
  expect(await stored(w)).toEqual(before);
  const writtenTo = w.calls.filter(({ operation, name }) => operation !== "get" && malformedNames.includes(name));
  expect(writtenTo).toEqual([]);
});

describe("what is said", () => {
  test.each(["autoAssign beyond it: every block but the malformed ones", "getUtilization", "releasePoolAffinities"])(
    "%s warns of each by name, once",
    async (name) => {
      await using w = await start();
      const call = calls.find(([title]) => title === name)![1];
      await call(w.ipam, w);
      for (const malformed of malformedNames) {
        expect(w.warnings.filter((warning) => warning.includes(`IPAMBlock "${malformed}"`))).toHaveLength(1);
      }
    },
  );

  test("a call for an address in one of them names block and field", async () => {
    await using w = await start();
    const before = await stored(w);
    for (const [ip, words] of [
      ["10.0.0.9", "whose block would be named"],
      ["10.0.0.17", "spec.allocations has 7 entries, not 8"],
      ["10.0.0.25", "points at attribute 3"],
    ] as const) {
      const malformed = { code: "MalformedBlock", message: expect.stringContaining(words) };
      await expect(w.ipam.assignIP({ ip, hostname: "node-a" })).rejects.toMatchObject(malformed);
      await expect(w.ipam.releaseIPs([{ address: ip }])).rejects.toMatchObject(malformed);
      await expect(w.ipam.getAssignmentAttributes(ip)).rejects.toMatchObject(malformed);
    }
    expect(await stored(w)).toEqual(before);
  });
});

describe("a host whose rows name the malformed blocks", () => {
  async function ofNodeZ(): Promise<World> {
    const w = await start();
    await w.ipam.autoAssign({ ...ask, hostname: "node-z", handleID: "z" });
    for (const cidr of ["10.0.0.8/29", "10.0.0.16/29", "10.0.0.24/29"]) await w.store.create(affinity("node-z", cidr));
    return w;
  }

  test("autoAssign passes over them: out of the sound block, and then out of new ones", async () => {
    await using w = await ofNodeZ();
    const before = await stored(w);
    expect(count((await w.ipam.autoAssign({ ...ask, hostname: "node-z", num4: 9 })).v4)).toBe(9);
    expect(await stored(w)).toEqual(before);
  });

  test("removeIPAMHost gives up the sound one, keeps rows and blocks of the others, and says so", async () => {
    await using w = await ofNodeZ();
    const before = await stored(w);
    await w.ipam.releaseByHandle("z");
    const error = await errorOf(w.ipam.removeIPAMHost({ affinityType: "host", host: "node-z" }));
    expect(error).toMatchObject({ code: "MalformedBlock" });
    expect(await stored(w)).toEqual(before);
    const rows = (await w.all("BlockAffinity")).filter(({ spec }) => spec.node === "node-z");
    expect(rows.map(({ spec }) => spec.cidr)).toEqual(["10.0.0.16/29", "10.0.0.24/29", "10.0.0.8/29"]);
    expect((await w.all("IPAMBlock")).map(({ metadata }) => metadata.name).sort()).toEqual(
      [...malformedNames, "10-0-0-0-29"].sort(),
    );
  });
});
