/** One sound history of a host, and each invariant shown alone by one entry of it changed, added or left out. */
import { describe, expect, it } from "vitest";
import type { AllocationAttribute, IPAMBlockSpec, IpamKind, V3 } from "../../src/api/v3.ts";
import { affinity, block, configuration, pool, reservation, usedBlock } from "../support/ipam-data.ts";
import { type Call, checkHistory, type LogEntry, type Outcome } from "./history.ts";

const RANGE = "10.0.0.0/30";
const START = Date.parse("2026-01-02T03:00:00Z");
const time = (seconds: number) => new Date(START + seconds * 1000);
const stamp = (seconds: number) => `${time(seconds).toISOString().slice(0, 19)}Z`;

const begin = (operation: number, call: Call): LogEntry => ({ type: "begin", operation, call });
const end = (operation: number, outcome: Partial<Outcome> = {}): LogEntry => ({
  type: "end",
  operation,
  outcome: { ok: true, ...outcome },
});
const write = (seconds: number, object: V3<IpamKind>, operation?: number): LogEntry => ({
  type: "version",
  at: time(seconds),
  kind: object.kind,
  name: object.metadata.name,
  object,
  ...(operation === undefined ? {} : { operation }),
});
const remove = (seconds: number, { kind, metadata }: V3<IpamKind>, operation: number): LogEntry => ({
  type: "version",
  at: time(seconds),
  kind,
  name: metadata.name,
  operation,
});

const ATTRS = { node: "node-a" };
const ours: AllocationAttribute = { handle_id: "h1", secondary: ATTRS };
const theirs: AllocationAttribute = { handle_id: "h2" };
const windows: AllocationAttribute = { handle_id: "windows-reserved-ipam-handle" };
const cooling: AllocationAttribute = { releasedAt: stamp(10) };

/** The block at a sequence number: who is at which ordinal, at which number, and the queue. */
function version(
  sequenceNumber: bigint,
  used: Record<number, AllocationAttribute>,
  unallocated: number[],
  spec: Partial<IPAMBlockSpec> = {},
) {
  const numbers = Object.keys(used).map((ordinal) => [ordinal, 100n]);
  return usedBlock(
    RANGE,
    "node-a",
    { 3: windows, ...used },
    {
      sequenceNumber,
      unallocated,
      sequenceNumberForAllocation: Object.fromEntries(numbers),
      ...spec,
    },
  );
}
const row = affinity("node-a", RANGE);
const rowAt = (state: "pending" | "pendingDeletion", deleted = false) => affinity("node-a", RANGE, { state, deleted });

const assign: Call = {
  method: "autoAssign",
  hostname: "node-a",
  intendedUse: "Workload",
  handleID: "h1",
  attrs: ATTRS,
};
const second: Call = { method: "autoAssign", hostname: "node-a", handleID: "h2", maxAllocToHandlePerIPVersion: 1 };
const release: Call = { method: "releaseIPs", releases: [{ address: "10.0.0.0", sequenceNumber: 100n }] };

const sound = {
  config: write(0, configuration({ strictAffinity: true, ipCooldownSeconds: 30 })),
  pool: write(0, pool("p4", "10.0.0.0/28", { blockSize: 30 })),
  off: write(0, pool("off", "10.0.0.0/24", { disabled: true })),
  reservation: write(0, reservation("r1", "10.0.0.4/30")),
  assign: begin(1, assign),
  pending: write(1, rowAt("pending"), 1),
  created: write(1, version(100n, {}, [0, 1, 2]), 1),
  confirmed: write(1, row, 1),
  taken: write(1, version(101n, { 0: ours, 1: ours }, [2]), 1),
  assigned: end(1, { ips: ["10.0.0.0/30", "10.0.0.1/30"] }),
  release: begin(2, release),
  released: write(10, version(102n, { 0: cooling, 1: ours }, [2]), 2),
  releaseEnds: end(2),
  read: begin(3, { method: "getUtilization" }),
  readEnds: end(3),
  again: begin(4, second),
  reused: write(40, version(103n, { 1: ours, 2: theirs }, [0]), 4),
  reusedEnds: end(4, { ips: ["10.0.0.2/30"] }),
  repeat: begin(5, second),
  repeatEnds: end(5, { ips: ["10.0.0.2/30"] }),
  coldAll: begin(6, { method: "releaseByHandle", handleID: "h1" }),
  cold: write(50, version(104n, { 1: { releasedAt: stamp(50) }, 2: theirs }, [0]), 6),
  coldEnds: end(6),
  collect: begin(7, { method: "garbageCollectColdIPs", ipCooldownSeconds: -1 }),
  collected: write(51, version(105n, { 2: theirs }, [0, 1]), 7),
  collectEnds: end(7),
  relax: write(52, configuration({ strictAffinity: true })),
  clear: begin(8, { method: "releaseByHandle", handleID: "h2" }),
  cleared: write(53, version(106n, {}, [0, 1, 2]), 8),
  clearEnds: end(8),
  leave: begin(9, { method: "releaseHostAffinities", hostname: "node-a" }),
  leaving: write(60, rowAt("pendingDeletion"), 9),
  marked: write(60, version(106n, {}, [0, 1, 2], { deleted: true }), 9),
  gone: remove(60, block(RANGE), 9),
  rowMarked: write(60, rowAt("pendingDeletion", true), 9),
  rowGone: remove(60, row, 9),
  left: end(9),
  anew: write(70, version(200n, {}, [0, 1, 2])),
  died: begin(10, assign),
};
type Name = keyof typeof sound;

/** The sound history with entries replaced by none, one or several. */
const historyWith = (changes: Partial<Record<Name, LogEntry[]>>): LogEntry[] =>
  (Object.keys(sound) as Name[]).flatMap((name) => changes[name] ?? [sound[name]]);
/** Entries after an existing one. */
const after = (name: Name, ...entries: LogEntry[]) => ({ [name]: [sound[name], ...entries] });

type Damage = readonly [invariant: number, what: string, changes: Partial<Record<Name, LogEntry[]>>];
const held = version(101n, { 0: ours, 1: ours }, [2]);
const { affinity: _nobody, affinityClaimTime: _since, ...unowned } = held.spec;

/** A second holder of 10.0.0.0 after its cooldown. */
const givenAgain: Partial<Record<Name, LogEntry[]>> = {
  reused: [write(40, version(103n, { 0: theirs, 1: ours }, [2]), 4)],
  reusedEnds: [end(4, { ips: ["10.0.0.0/30"] })],
  repeatEnds: [end(5, { ips: ["10.0.0.0/30"] })],
  cold: [write(50, version(104n, { 0: theirs, 1: { releasedAt: stamp(50) } }, [2]), 6)],
  collected: [write(51, version(105n, { 0: theirs }, [2, 1]), 7)],
  cleared: [write(53, version(106n, {}, [2, 1, 0]), 8)],
  marked: [write(60, version(106n, {}, [2, 1, 0], { deleted: true }), 9)],
};

/** The release of the last address deletes the block, as it would if nobody owned it. */
const deletedWithLast: Partial<Record<Name, LogEntry[]>> = {
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
    after("read", write(20, configuration({ strictAffinity: true, ipCooldownSeconds: 30 }), 3)),
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
    { rowMarked: [], rowGone: [], ...after("leaving", write(60, rowAt("pendingDeletion", true), 9)) },
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

  it.for<[string, Partial<Record<Name, LogEntry[]>>]>([
    ["a host's life", {}],
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
      "an address reserved after it was given",
      after("assigned", write(2, reservation("r1", "10.0.0.0/29")), write(3, reservation("r1"))),
    ],
  ])("sound: %s", ([, changes]) => {
    expect(checkHistory(historyWith(changes))).toEqual([]);
  });
});
