/** The judgement and the test suite's own checker of the invariants, written apart from each other, agree. */
import { describe, expect, it } from "vitest";
import { inventoryOf } from "../../src/judgement/inventory.ts";
import { judge } from "../../src/judgement/judge.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { NOW, sound } from "../cli/sound.ts";
import { moments, scenarios } from "../conformance/recording.ts";
import { check } from "../invariants/check.ts";
import { DAMAGES } from "./damage.ts";

/** Codes about stored objects alone, and the invariants that they say are broken. */
const INVARIANTS: Readonly<Record<string, readonly number[]>> = {
  MalformedBlock: [1],
  AllocationPointsNowhere: [2],
  UnusedAttribute: [3],
  FreeAndAllocated: [4],
  FreeTwice: [4],
  FreeOutOfRange: [4],
  LostAddress: [4],
  BadSequenceNumber: [5, 6],
  ReleaseInFuture: [7],
  MalformedCooldown: [7],
  MalformedOwner: [9],
  OverlappingBlocks: [10],
  ForeignBlockSize: [10],
  ForeignAffinitySize: [22, 24],
  DanglingAffinity: [22],
  ContradictingAffinity: [22],
  BlockWithoutAffinity: [23],
  UnfinishedAffinity: [24],
  EmptyUnownedBlock: [27],
  MissingLabels: [28],
  WrongAffinityName: [29],
  OvercountedHandle: [30],
  UndercountedHandle: [30],
  MissingHandle: [30],
  MalformedHandle: [31],
  OrphanHandle: [32],
  WrongHandleName: [33],
};

const checked = (snapshot: Snapshot, now: Date) => {
  const { blocks, affinities, handles } = inventoryOf(snapshot);
  const { configurations, pools, reservations } = snapshot;
  const nodes = snapshot.nodes?.map(({ name, labels }) => ({ name, labels })) ?? [];
  const objects = { blocks, affinities, handles, configurations, pools, reservations, nodes };
  return check(objects, { mode: "atRest", now }).map(({ invariant }) => invariant);
};

describe("what is damaged", () => {
  it.each(DAMAGES.filter(([code]) => code in INVARIANTS))("%s: %s breaks its invariant", (code, _what, damaged) => {
    const broken = checked({ ...sound, ...damaged }, NOW);
    expect(INVARIANTS[code]!.some((invariant) => broken.includes(invariant))).toBe(true);
  });
});

describe("what the reference was recorded to store", () => {
  const recorded = scenarios.flatMap((scenario) =>
    (["v1", "v3"] as const).map((flavour) => [scenario, flavour] as const),
  );

  it.each(recorded)("%s.%s breaks an invariant exactly where there is a finding", (scenario, flavour) => {
    const now = new Date("2030-01-01T00:00:00Z");
    for (const { step, index, utilization: _told, nodes: _nodes, ...objects } of moments(scenario, flavour)) {
      const snapshot = { ...emptySnapshot(now.toISOString()), ...objects };
      const codes = judge(snapshot, { now }).flatMap(({ code }) => INVARIANTS[code] ?? []);
      const broken = checked(snapshot, now).filter((invariant) => invariant !== 25 && invariant !== 34);
      expect(new Set(codes), `${step.op} (step ${index})`).toEqual(new Set(broken));
    }
  });
});
