/** The status of a pool is written by others: whatever it holds, the pool can be read. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isEnabled, poolsOf } from "../ipam/pools.ts";
import { fromV1, fromV3 } from "./conversion.ts";
import { readPoolStatus } from "./pool-status.ts";
import { V1_API_VERSION } from "./v1.ts";
import { V3_API_VERSION } from "./v3.ts";

const pool = (status: unknown) => ({ metadata: { name: "pods" }, spec: { cidr: "10.0.0.0/16" }, status });
const read = {
  v1: (status: unknown) => fromV1("IPPool", { apiVersion: V1_API_VERSION, kind: "IPPool", ...pool(status) }),
  v3: (status: unknown) => fromV3("IPPool", { apiVersion: V3_API_VERSION, kind: "IPPool", ...pool(status) }),
};

const whole = {
  type: "Allocatable",
  status: "False",
  reason: "CIDROverlap",
  message: "overlaps pods-2",
  lastTransitionTime: "2026-01-02T03:04:05Z",
  observedGeneration: 2,
};

describe.each(["v1", "v3"] as const)("a %s pool", (flavour) => {
  const conditionsOf = (...conditions: readonly unknown[]) => read[flavour]({ conditions }).status?.conditions;

  test("keeps its conditions as they are, types and fields of a newer Calico among them", () => {
    const newer = { ...whole, type: "Ready", status: "Unknown", severity: { level: 3 } };
    expect(conditionsOf(whole, newer)).toEqual([whole, newer]);
    expect(read[flavour]({ conditions: [whole], blocks: 7 }).status).toEqual({ conditions: [whole], blocks: 7 });
  });

  test("keeps of a condition what can be read", () => {
    const { type, status } = whole;
    expect(conditionsOf({ type, status })).toEqual([{ type, status }]);
    const odd = { ...whole, reason: 7, message: null, lastTransitionTime: "yesterday", observedGeneration: "x" };
    expect(conditionsOf(odd)).toEqual([{ type, status, lastTransitionTime: "yesterday" }]);
  });

  test.each([
    [null],
    ["text"],
    [[whole]],
    [{ status: "False" }],
    [{ type: "Allocatable" }],
    [{ ...whole, status: false }],
  ])("passes over the condition %j", (malformed) => expect(conditionsOf(malformed, whole)).toEqual([whole]));

  test.each([["text"], [7], [[]], [null]])("has no status where that is %j", (status) => {
    expect(read[flavour](status)).not.toHaveProperty("status");
  });

  test("is not drawn from when it is said not to be allocatable, however little else is said", () => {
    const { type, status } = whole;
    expect(poolsOf([read[flavour]({ conditions: [null, { type, status, reason: {} }] })]).map(isEnabled)).toEqual([
      false,
    ]);
  });

  test("can be read and asked whatever its status is", () => {
    const condition = fc.oneof(fc.jsonValue(), fc.record({ type: fc.jsonValue(), status: fc.jsonValue() }));
    const status = fc.oneof(fc.jsonValue(), fc.record({ conditions: fc.oneof(fc.jsonValue(), fc.array(condition)) }));
    const readable = fc.property(status, (status) => {
      expect(poolsOf([read[flavour](status)]).map(isEnabled)).toHaveLength(1);
    });
    fc.assert(readable, { numRuns: 1000 });
  });
});

test("what has been read is read as the same again", () => {
  const again = fc.property(fc.jsonValue(), (status) => {
    const once = readPoolStatus(status);
    expect(readPoolStatus(once)).toEqual(once);
  });
  fc.assert(again);
});
