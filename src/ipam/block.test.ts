import { describe, expect, test } from "vitest";
import { deepFrozen } from "../../test/support/ipam.ts";
import { rangeOfBlockName } from "../api/names.ts";
import type { AllocationAttribute, IPAMBlock, IPAMBlockSpec } from "../api/v3.ts";
import { addressSet, EMPTY_SET } from "../net/address-set.ts";
import { type Cidr, formatCidr, parseCidr } from "../net/cidr.ts";
import { collect, isEmpty, maskedAddress, newBlock, nextVersion, withSpec } from "./block.ts";
import { allocate, assign, release, releaseHandle, withAttributes } from "./block-changes.ts";
import { checkBlock } from "./block-problem.ts";

const NOW = new Date("2026-01-02T03:04:05.678Z");
const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000).toISOString();
const cidr = (text: string): Cidr => {
  const parsed = parseCidr(text);
  if (!parsed) throw new Error(text);
  return parsed;
};
const fresh = (text: string, sequenceNumber = 100n, reserved?: [number, number, string?]): IPAMBlock =>
  deepFrozen(
    newBlock({
      cidr: cidr(text),
      affinity: "host:a",
      claimTime: NOW,
      sequenceNumber,
      reserved: reserved && {
        startOfBlock: reserved[0],
        endOfBlock: reserved[1],
        handle: reserved[2] ?? "windows-reserved-ipam-handle",
        note: "windows host rsvd",
      },
    }),
  );
const take = (block: IPAMBlock, count: number, handleID?: string, attrs = {}) =>
  deepFrozen(allocate(block, count, { handleID, attrs }, EMPTY_SET));
const written = (block: IPAMBlock) => deepFrozen(nextVersion(block));
const shaped = (spec: Partial<IPAMBlockSpec>) => deepFrozen(withSpec(fresh("10.0.0.0/30"), spec));

describe("a new block", () => {
  test("reserves both ends for its host, without numbers of their own", () => {
    const { spec } = fresh("10.0.0.0/29", 7n, [3, 1]);
    expect(spec).toMatchObject({
      allocations: [0, 0, 0, null, null, null, null, 0],
      unallocated: [3, 4, 5, 6],
      attributes: [{ handle_id: "windows-reserved-ipam-handle", secondary: { note: "windows host rsvd" } }],
      affinityClaimTime: "2026-01-02T03:04:05Z",
      sequenceNumber: 7n,
    });
    expect(isEmpty(fresh("10.0.0.0/29", 7n, [3, 1]))).toBe(true);
    expect(nextVersion(fresh("10.0.0.0/29", 7n, [3, 1])).spec.sequenceNumberForAllocation).toEqual({});
  });

  test("what cools down gets no number by a later write; what is live and has none does", () => {
    const block = shaped({
      allocations: [0, 1, null, null],
      attributes: [{ handle_id: "h" }, { releasedAt: NOW.toISOString() }],
      unallocated: [2, 3],
      sequenceNumberForAllocation: {},
    });
    expect(nextVersion(block).spec.sequenceNumberForAllocation).toEqual({ 0: 100n });
  });

  test("T26: of a block with reserve (2,1) only the third address is left", () => {
    const block = fresh("10.0.0.0/30", 1n, [2, 1, "test-handle"]);
    const { ordinals } = take(block, 4);
    expect(ordinals.map((ordinal) => maskedAddress(block, ordinal))).toEqual(["10.0.0.2/30"]);
  });
});

describe("allocation", () => {
  test("takes from the head of the queue, shares entries, and records the number before the write", () => {
    const one = take(fresh("10.0.0.0/30"), 2, "h", { pod: "p" });
    const two = take(written(one.block), 1, "h", { pod: "p" });
    expect(two.ordinals).toEqual([2]);
    expect(two.block.spec).toMatchObject({
      allocations: [0, 0, 0, null],
      unallocated: [3],
      attributes: [{ handle_id: "h", secondary: { pod: "p" } }],
      sequenceNumberForAllocation: { 0: 100n, 1: 100n, 2: 101n },
    });
  });

  test("steps over reserved addresses without moving them in the queue", () => {
    const block = shaped({ unallocated: [3, 1, 0, 2] });
    const reserved = addressSet([cidr("10.0.0.1/32")]);
    const { block: next, ordinals } = allocate(block, 2, {}, reserved);
    expect(ordinals).toEqual([3, 0]);
    expect(next.spec.unallocated).toEqual([1, 2]);
  });

  test("of a taken address is refused with its holder", () => {
    const block = assign(fresh("10.0.0.0/30"), 1, { handleID: "h", attrs: { node: "n", pod: "p" } });
    expect(() => assign(block, 1, { handleID: "other" })).toThrow(
      expect.objectContaining({
        code: "AlreadyExists",
        message: "resource already exists: 10.0.0.1 with error: Address already assigned in block",
        holder: { handleID: "h", node: "n", activeOwnerAttrs: { node: "n", pod: "p" }, alternateOwnerAttrs: {} },
      }),
    );
    expect(() => assign(release(block, [{ ordinal: 1 }], NOW).block, 1, {})).toThrow(
      expect.objectContaining({ code: "AlreadyExists", details: [expect.stringContaining("cools down")] }),
    );
  });

  test("T19: four addresses are gone through before the first comes again", () => {
    let block = fresh("10.0.0.0/30");
    const order: number[] = [];
    for (let round = 0; round < 5; round++) {
      const taken = take(block, 1, "h");
      order.push(...taken.ordinals);
      block = written(collect(release(written(taken.block), [{ ordinal: taken.ordinals[0]! }], NOW).block, 0, NOW));
    }
    expect(order).toEqual([0, 1, 2, 3, 0]);
  });
});

describe("release", () => {
  test("T39: compares number and handle of live addresses, and changes nothing where one differs", () => {
    const block = written(assign(fresh("10.0.0.0/30", 0n), 1, { handleID: "h\rjunk" }));
    expect(() => release(block, [{ ordinal: 1, sequenceNumber: 1n }], NOW)).toThrow(
      expect.objectContaining({
        code: "BadSequenceNumber",
        class: "stop-and-re-evaluate",
        requested: 1n,
        expected: 0n,
      }),
    );
    expect(() => release(block, [{ ordinal: 1, handleID: "x" }], NOW)).toThrow(
      expect.objectContaining({ code: "BadHandle", requested: "x", expected: "h" }),
    );
    const { ordinals, handles } = release(block, [{ ordinal: 1, sequenceNumber: 0n, handleID: "h" }], NOW);
    expect([ordinals, [...handles]]).toEqual([[1], [["h", 1]]]);
  });

  test("T44: leaves a bare stamp, and once more is no error, with a number or without", () => {
    const block = written(take(fresh("10.0.0.0/30"), 2, "h", { pod: "p" }).block);
    const released = written(release(block, [{ ordinal: 0 }], NOW).block);
    expect(released.spec).toMatchObject({
      allocations: [1, 0, null, null],
      attributes: [{ handle_id: "h" }, { releasedAt: "2026-01-02T03:04:05Z" }],
      sequenceNumberForAllocation: { 0: 101n, 1: 100n },
    });
    expect(Object.keys(released.spec.attributes[1]!)).toEqual(["releasedAt"]);
    expect(isEmpty(withSpec(released, { allocations: [1, null, null, null] }))).toBe(false);
    for (const sequenceNumber of [undefined, 0n, 100n]) {
      const again = release(
        released,
        [
          { ordinal: 0, sequenceNumber },
          { ordinal: 3, sequenceNumber },
        ],
        NOW,
      );
      expect(again).toMatchObject({ block: released, ordinals: [], idle: [0, 3] });
    }
  });

  test("T45: both addresses of a handle are freed in ascending order behind the queue, entries are renumbered", () => {
    const attributes = ["h1", "h2", "h3"].map((handle_id) => ({ handle_id }));
    const block = shaped({ attributes, allocations: [1, 0, 2, 0], unallocated: [] });
    const { block: next } = release(block, [{ ordinal: 3 }, { ordinal: 1 }], NOW);
    expect(collect(next, 0, NOW).spec).toMatchObject({
      attributes: [{ handle_id: "h2" }, { handle_id: "h3" }],
      allocations: [0, null, 1, null],
      unallocated: [1, 3],
    });
  });

  test("T52: by handle, an address that is not the one that was meant stays", () => {
    const numbers = { 0: 10n, 1: 10n, 2: 999n, 3: 10n };
    const block = shaped({
      attributes: [{ handle_id: "h" }],
      allocations: [0, 0, 0, 0],
      unallocated: [],
      sequenceNumberForAllocation: numbers,
    });
    const isSame = (ordinal: number) => numbers[ordinal as 0] === 10n;
    const { block: next, ordinals } = releaseHandle(block, "h", NOW, isSame);
    expect(ordinals).toEqual([0, 1, 3]);
    expect(next.spec).toMatchObject({ allocations: [1, 1, 0, 1], sequenceNumberForAllocation: numbers });
  });
});

describe("collection", () => {
  test("T50: frees what has cooled down, keeps the rest, drops unused entries", () => {
    const future = minutesAgo(-1);
    const attributes: AllocationAttribute[] = [
      { releasedAt: minutesAgo(1) },
      { releasedAt: future },
      { handle_id: "live" },
      { handle_id: "unused" },
    ];
    const at: Record<number, number> = { 31: 0, 33: 0, 42: 1, 44: 1, 52: 2, 54: 2 };
    const allocations = Array.from({ length: 256 }, (_, ordinal) => at[ordinal] ?? null);
    const unallocated = allocations.flatMap((index, ordinal) => (index === null ? [ordinal] : []));
    const block = deepFrozen(withSpec(fresh("10.0.0.0/24"), { attributes, allocations, unallocated }));
    const { spec } = collect(block, 30, NOW);
    expect(spec.unallocated.slice(-2)).toEqual([31, 33]);
    expect(spec.allocations.flatMap((index, ordinal) => (index === null ? [] : [[ordinal, index]]))).toEqual([
      [42, 0],
      [44, 0],
      [52, 1],
      [54, 1],
    ]);
    expect(spec.attributes).toEqual([{ releasedAt: future }, { handle_id: "live" }]);
  });

  test("gives the same block back where there is nothing to do", () => {
    const block = fresh("10.0.0.0/30");
    expect(collect(block, 30, NOW)).toBe(block);
    const cooling = release(written(take(block, 1, "h").block), [{ ordinal: 0 }], NOW).block;
    expect(collect(cooling, 30, NOW)).toBe(cooling);
  });

  test("frees at exactly the cooldown, and at once when it is 0, whatever the clock says", () => {
    const block = shaped({
      attributes: [{ releasedAt: "2026-01-02T03:04:00Z" }],
      allocations: [0, null, null, null],
      unallocated: [1, 2, 3],
    });
    expect(collect(block, 10, new Date("2026-01-02T03:04:09.999Z"))).toBe(block);
    expect(collect(block, 10, new Date("2026-01-02T03:04:10Z")).spec.unallocated).toEqual([1, 2, 3, 0]);
    expect(collect(block, 0, new Date("2026-01-02T03:00:00Z")).spec.attributes).toEqual([]);
  });
});

test("a write heals live addresses that have no number", () => {
  const block = shaped({
    attributes: [{ handle_id: "old" }, { releasedAt: minutesAgo(1) }],
    allocations: [0, 1, null, null],
    unallocated: [2, 3],
  });
  const { spec } = nextVersion(block);
  expect(spec).toMatchObject({ sequenceNumber: 101n, sequenceNumberForAllocation: { 0: 100n } });
});

test("another owner of one address leaves those alone that shared its entry", () => {
  const block = written(take(fresh("10.0.0.0/30"), 2, "h", { pod: "a" }).block);
  const own = withAttributes(block, 0, { handle_id: "h", secondary: { pod: "b" } });
  expect(own.spec.allocations).toEqual([1, 0, null, null]);
  expect(own.spec.attributes.map((attribute) => attribute.secondary)).toEqual([{ pod: "a" }, { pod: "b" }]);
  const alone = withAttributes(own, 0, { handle_id: "h", secondary: { pod: "c" } });
  expect(alone.spec.attributes.map((attribute) => attribute.secondary)).toEqual([{ pod: "a" }, { pod: "c" }]);
});

test.each([
  ["cidr", { cidr: "10.0.0.0" }, /not a CIDR/],
  ["short", { allocations: [null] }, /1 entries, not 4/],
  ["dangling", { allocations: [0, null, null, null], unallocated: [1, 2, 3] }, /\[0\] points at attribute 0/],
  ["twice", { unallocated: [0, 1, 2, 3, 3] }, /twice/],
  ["missing", { unallocated: [0, 1, 2] }, /ordinal 3 is neither allocated nor/],
  ["in both", { allocations: [0, null, null, null], attributes: [{}] }, /ordinal 0 is in .* and allocated too/],
  [
    "no time",
    { allocations: [0, null, null, null], attributes: [{ releasedAt: "now" }], unallocated: [1, 2, 3] },
    /\[0\].releasedAt "now"/,
  ],
  ["another range", { cidr: "10.0.0.4/30" }, /whose block would be named "10-0-0-4-30"/],
  ["beyond", { unallocated: [0, 1, 2, 3, 4] }, /beyond/],
])("a malformed block is named: %s", (_, spec, words) => {
  expect(() => checkBlock(shaped(spec))).toThrow(
    expect.objectContaining({ code: "MalformedBlock", message: expect.stringMatching(words) }),
  );
  expect(() => checkBlock(fresh("10.0.0.0/30"))).not.toThrow();
});

test.each([
  ["10-0-0-0-26", "10.0.0.0/26"],
  ["192-168-1-64-32", "192.168.1.64/32"],
  ["fd80-24e2-f998-72d6---122", "fd80:24e2:f998:72d6::/122"],
  ["fd00---122", "fd00::/122"],
  ["2001-db8-0-0-1---122", "2001:db8:0:0:1::/122"],
  ["1-2-3-4-5-6-7-8-128", "1:2:3:4:5:6:7:8/128"],
  ["10-0-0-1-26", undefined],
  ["node-a", undefined],
  ["x", undefined],
])("a block named %s is at %s", (name, cidr) => {
  const range = rangeOfBlockName(name);
  expect(range && formatCidr(range)).toBe(cidr);
});
