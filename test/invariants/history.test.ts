/** Each invariant about history shown alone: a sound history with an entry changed, added or left out. */
import { describe, expect, it } from "vitest";
import { block, configuration, pool, reservation } from "../support/ipam-data.ts";
import { checkHistory } from "./history.ts";
import {
  assign,
  begin,
  type Changes,
  cooling,
  end,
  followedBy,
  historyWith,
  ours,
  RANGE,
  release,
  remove,
  row,
  rowAt,
  second,
  sound,
  stamp,
  theirs,
  version,
  windows,
  write,
} from "./sound-history.ts";

type Damage = readonly [invariant: number, what: string, changes: Changes];
const windowsBlock = version(90n, { 0: windows }, [1, 2]);
const held = version(101n, { 0: ours, 1: ours }, [2]);
const { affinity: _nobody, affinityClaimTime: _since, ...unowned } = held.spec;

/** A second holder of 10.0.0.0 after its cooldown. */
const givenAgain: Changes = {
  reused: [write(40, version(103n, { 0: theirs, 1: ours }, [2]), 4)],
  reusedEnds: [end(4, { ips: ["10.0.0.0/30"] })],
  repeatEnds: [end(5, { ips: ["10.0.0.0/30"] })],
  cold: [write(50, version(104n, { 0: theirs, 1: { releasedAt: stamp(50) } }, [2]), 6)],
  collected: [write(51, version(105n, { 0: theirs }, [2, 1]), 7)],
  cleared: [write(53, version(106n, {}, [2, 1, 0]), 8)],
  marked: [write(60, version(106n, {}, [2, 1, 0], { deleted: true }), 9)],
};

/** The release of the last address deletes the block, as it would if nobody owned it. */
const deletedWithLast: Changes = {
  cleared: [remove(53, block(RANGE), 8)],
  marked: [],
  gone: [],
};

const damages: Damage[] = [
  [
    8,
    "a write that does not raise the number",
    { released: [write(10, version(101n, { 0: cooling, 1: ours }, [2]), 2)] },
  ],
  [8, "a mark that raises it", { marked: [write(60, version(107n, {}, [0, 1, 2], { deleted: true }), 9)] }],
  [8, "a block created again below the old one", { anew: [write(70, version(106n, {}, [0, 1, 2]))] }],
  [
    11,
    "a freed ordinal at the head",
    {
      collected: [write(51, version(105n, { 2: theirs }, [1, 0]), 7)],
      cleared: [write(53, version(106n, {}, [1, 0, 2]), 8)],
      marked: [write(60, version(106n, {}, [1, 0, 2], { deleted: true }), 9)],
    },
  ],
  [
    11,
    "ordinals freed in one pass out of order",
    {
      collected: [],
      cleared: [write(90, version(106n, {}, [0, 2, 1]), 8)],
      marked: [write(60, version(106n, {}, [0, 2, 1], { deleted: true }), 9)],
    },
  ],
  [12, "an address freed without cooling down", { released: [write(10, version(102n, { 1: ours }, [2, 0]), 2)] }],
  [12, "an address back before its time", { reused: [write(39, version(103n, { 1: ours, 2: theirs }, [0]), 4)] }],
  [
    13,
    "an address handed out while held",
    {
      again: [begin(4, { ...second, maxAllocToHandlePerIPVersion: 0 })],
      repeat: [begin(5, { ...second, maxAllocToHandlePerIPVersion: 0 })],
    },
  ],
  [13, "a release that found it free already", { releaseEnds: [end(2, { unallocated: ["10.0.0.0"] })], ...givenAgain }],
  [14, "an address that is not the caller's", { assigned: [end(1, { ips: ["10.0.0.3/30"] })] }],
  [
    14,
    "an address under another handle",
    { again: [begin(4, { ...second, handleID: "h3" })], repeat: [], repeatEnds: [] },
  ],
  [14, "an address without the caller's attributes", { again: [begin(4, { ...second, attrs: { pod: "p" } })] }],
  [
    15,
    "a stale release that freed",
    { release: [begin(2, { ...release, releases: [{ address: "10.0.0.0", sequenceNumber: 99n }] })] },
  ],
  [16, "an address borrowed under strict affinity", { again: [begin(4, { ...second, hostname: "node-b" })] }],
  [16, "an address out of nobody's block", { taken: [write(1, { ...held, spec: unowned }, 1)] }],
  [17, "a reserved address", { reservation: [write(0, reservation("r1", "10.0.0.0/31"))] }],
  [
    17,
    "an address that Windows keeps",
    {
      created: [write(1, version(100n, { 0: windows }, [1, 2]), 1)],
    },
  ],
  [17, "an address outside the pools asked for", { assign: [begin(1, { ...assign, pools: ["10.0.1.0/24"] })] }],
  [
    17,
    "an address of a disabled pool",
    { pool: [write(0, pool("p4", "10.0.0.0/28", { blockSize: 30, disabled: true }))] },
  ],
  [18, "another prefix length than the block's", { assigned: [end(1, { ips: ["10.0.0.0/32", "10.0.0.1/30"] })] }],
  [
    19,
    "more addresses than the handle may have",
    {
      assign: [begin(1, { ...assign, maxAllocToHandlePerIPVersion: 1 })],
      died: [],
    },
  ],
  [
    20,
    "a reader that writes",
    followedBy("read", write(20, configuration({ strictAffinity: true, ipCooldownSeconds: 30 }), 3)),
  ],
  [
    26,
    "a block deleted by the release of another handle",
    { clear: [begin(8, { method: "releaseByHandle", handleID: "h3" })], ...deletedWithLast },
  ],
  [26, "a block deleted while its last address would cool down", { relax: [], ...deletedWithLast }],
  [
    15,
    "a stale release that deleted the block",
    {
      clear: [begin(8, { method: "releaseIPs", releases: [{ address: "10.0.0.2", sequenceNumber: 99n }] })],
      ...deletedWithLast,
    },
  ],
  [
    26,
    "a row gone before its block",
    { rowMarked: [], rowGone: [], ...followedBy("leaving", write(60, rowAt("pendingDeletion", true), 9)) },
  ],
  [
    26,
    "a block deleted with an address in it",
    {
      clear: [],
      cleared: [],
      clearEnds: [],
      marked: [write(60, version(105n, { 2: theirs }, [0, 1], { deleted: true }), 9)],
    },
  ],
];

describe("checkHistory", () => {
  it("knows every invariant about history", () => {
    const shown = new Set(damages.map(([invariant]) => invariant));
    expect([...shown].sort((a, b) => a - b)).toEqual([8, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 26]);
  });

  it.for(damages)("%i: %s", ([invariant, , changes]) => {
    expect([...new Set(checkHistory(historyWith(changes)).map((finding) => finding.invariant))]).toEqual([invariant]);
  });

  it("17: an address that Windows kept may be given once somebody has released it, and not before", () => {
    const kept = write(1, version(98n, { 0: windows }, [1, 2]), 1);
    const freed = write(1, version(99n, {}, [1, 2, 0]), 1);
    const seventeen = (changes: Changes) =>
      checkHistory(historyWith(changes)).some(({ invariant }) => invariant === 17);
    expect(seventeen({ created: [kept, freed, sound.created] })).toBe(false);
    expect(seventeen({ created: [freed, kept] })).toBe(true);
  });

  it.for<[string, Changes]>([
    ["a host's life", {}],
    [
      "an address that Windows kept of a block deleted since",
      {
        assign: [write(0, { ...windowsBlock, metadata: { ...windowsBlock.metadata, uid: "old" } }), sound.assign],
        created: [remove(1, block(RANGE), 1), sound.created],
      },
    ],
    ["nothing", Object.fromEntries(Object.keys(sound).map((name) => [name, []]))],
    ["an address released and given to another", givenAgain],
    ["a release that died may have freed", { releaseEnds: [], ...givenAgain }],
    [
      "a reader that finishes a deletion",
      { gone: [begin(11, { method: "ipsByHandle" }), remove(60, block(RANGE), 11), end(11)] },
    ],
    [
      "writes of nobody known",
      { taken: [write(1, held)], reused: [write(40, version(103n, { 1: ours, 2: theirs }, [0]))] },
    ],
    [
      "an address back at once by a call that began before the cooldown was set",
      {
        config: [],
        again: [begin(4, second), sound.config],
        reused: [write(11, version(103n, { 1: ours, 2: theirs }, [0]), 4)],
      },
    ],
    [
      "an address borrowed by a call that may have seen affinity not strict",
      { again: [begin(4, { ...second, hostname: "node-b" }), write(20, configuration({})), sound.config] },
    ],
    ["a block deleted with its last address", deletedWithLast],
    [
      "a pending row removed by one who found no block, and written anew",
      followedBy("created", remove(1, row, 11), write(1, rowAt("pending"), 1)),
    ],
    [
      "an address given to a handle with a maximum by an overlapping call",
      { again: [begin(4, second), begin(5, { ...second, attrs: { pod: "p" } })], repeat: [] },
    ],
    [
      "an address reserved after it was given",
      followedBy("assigned", write(2, reservation("r1", "10.0.0.0/29")), write(3, reservation("r1"))),
    ],
  ])("sound: %s", ([, changes]) => {
    expect(checkHistory(historyWith(changes))).toEqual([]);
  });
});
