/** A sound history of one host, entry by entry under names, for tests that change, add or leave out some. */
import type { AllocationAttribute, IPAMBlockSpec, IpamKind, V3 } from "../../src/api/v3.ts";
import { affinity, block, configuration, pool, reservation, usedBlock } from "../support/ipam-data.ts";
import type { Call, LogEntry, Outcome } from "./history.ts";

export const RANGE = "10.0.0.0/30";
const START = Date.parse("2026-01-02T03:00:00Z");
const time = (seconds: number) => new Date(START + seconds * 1000);
export const stamp = (seconds: number) => `${time(seconds).toISOString().slice(0, 19)}Z`;

export const begin = (operation: number, call: Call): LogEntry => ({ type: "begin", operation, call });
export const end = (operation: number, outcome: Partial<Outcome> = {}): LogEntry => ({
  type: "end",
  operation,
  outcome: { ok: true, ...outcome },
});
export const write = (seconds: number, object: V3<IpamKind>, operation?: number): LogEntry => ({
  type: "version",
  at: time(seconds),
  kind: object.kind,
  name: object.metadata.name,
  object,
  ...(operation === undefined ? {} : { operation }),
});
export const remove = (seconds: number, { kind, metadata }: V3<IpamKind>, operation: number): LogEntry => ({
  type: "version",
  at: time(seconds),
  kind,
  name: metadata.name,
  operation,
});

const ATTRS = { node: "node-a" };
export const ours: AllocationAttribute = { handle_id: "h1", secondary: ATTRS };
export const theirs: AllocationAttribute = { handle_id: "h2" };
export const windows: AllocationAttribute = { handle_id: "windows-reserved-ipam-handle" };
export const cooling: AllocationAttribute = { releasedAt: stamp(10) };

/** The block at a sequence number: who is at which ordinal, at which number, and the queue. */
export function version(
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
export const row = affinity("node-a", RANGE);
export const rowAt = (state: "pending" | "pendingDeletion", deleted = false) =>
  affinity("node-a", RANGE, { state, deleted });

export const assign: Call = {
  method: "autoAssign",
  hostname: "node-a",
  intendedUse: "Workload",
  handleID: "h1",
  attrs: ATTRS,
};
export const second: Call = {
  method: "autoAssign",
  hostname: "node-a",
  handleID: "h2",
  maxAllocToHandlePerIPVersion: 1,
};
export const release: Call = { method: "releaseIPs", releases: [{ address: "10.0.0.0", sequenceNumber: 100n }] };

/** Claims, allocates, releases, reuses, collects, gives the block up; then another claim, and a call that died. */
export const sound = {
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
/** Changes of the sound history: what stands in place of an entry. */
export type Changes = Partial<Record<Name, LogEntry[]>>;
type Name = keyof typeof sound;

/** The sound history with entries replaced by none, one or several. */
export const historyWith = (changes: Changes): LogEntry[] =>
  (Object.keys(sound) as Name[]).flatMap((name) => changes[name] ?? [sound[name]]);
/** Entries after an existing one. */
export const followedBy = (name: Name, ...entries: LogEntry[]) => ({ [name]: [sound[name], ...entries] });
