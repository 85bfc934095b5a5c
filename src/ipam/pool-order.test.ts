import { describe, expect, test } from "vitest";
import { block } from "../../test/support/ipam-data.ts";
import type { IPPool } from "../api/v3.ts";
import { V3_API_VERSION } from "../api/v3.ts";
import { addressFrom } from "./block.ts";
import { choosePools } from "./pool-choice.ts";
import { disabledBecause, poolFor, poolsOf } from "./pools.ts";
import { utilizationOf } from "./utilization.ts";

type More = {
  readonly created?: string;
  readonly deleted?: true;
  readonly allocatable?: string;
  readonly disabled?: true;
};

function pool(
  name: string,
  cidr: string,
  { created = "2026-01-01T00:00:00Z", deleted, allocatable, disabled }: More = {},
): IPPool {
  const deletion = deleted && { deletionTimestamp: "2026-02-01T00:00:00Z" };
  const conditions = allocatable ? [{ type: "Allocatable", status: allocatable, reason: "Test" }] : [];
  return {
    apiVersion: V3_API_VERSION,
    kind: "IPPool",
    metadata: { name, creationTimestamp: created, ...deletion },
    spec: { cidr, blockSize: 28, ...(disabled && { disabled }) },
    status: { conditions },
  } as IPPool;
}

const winnersOf = (...sources: IPPool[]) =>
  Object.fromEntries(poolsOf(sources).map(({ name, overlappedBy }) => [name, overlappedBy?.name]));

describe("of two pools that overlap, one allocates", () => {
  const wide = "10.0.0.0/24";
  const narrow = "10.0.0.0/26";
  test.each<[string, IPPool, IPPool]>([
    ["the allocatable one", pool("b", wide, { allocatable: "True" }), pool("a", narrow)],
    [
      "the one being deleted, before one that is not allocatable",
      pool("b", wide, { deleted: true }),
      pool("a", narrow, { allocatable: "False" }),
    ],
    [
      "an allocatable one, before one that is being deleted and was allocatable",
      pool("b", wide, { allocatable: "True" }),
      pool("a", narrow, { allocatable: "True", deleted: true, created: "2025-01-01T00:00:00Z" }),
    ],
    ["the one that is not allocatable, before a new one", pool("b", wide, { allocatable: "False" }), pool("a", narrow)],
    ["the older one", pool("b", narrow, { created: "2025-01-01T00:00:00Z" }), pool("a", wide)],
    ["the one whose name comes first", pool("a", narrow), pool("b", wide)],
  ])("%s", (_, winner, loser) => {
    const names = { [winner.metadata.name]: undefined, [loser.metadata.name]: winner.metadata.name };
    expect(winnersOf(winner, loser)).toEqual(names);
    expect(winnersOf(loser, winner)).toEqual(names);
  });

  test("a disabled pool takes no part", () => {
    expect(winnersOf(pool("a", wide, { disabled: true }), pool("b", narrow))).toEqual({ a: undefined, b: undefined });
  });

  test("one that loses hides no other pool", () => {
    const third = pool("c", "10.0.0.192/26");
    expect(winnersOf(pool("a", narrow), pool("b", wide), third)).toEqual({ a: undefined, b: "a", c: undefined });
  });

  test("the loser says which pool it overlaps, and an address is looked up in the winner", () => {
    const pools = poolsOf([pool("a", wide), pool("b", narrow, { created: "2025-01-01T00:00:00Z" })]);
    expect(disabledBecause(pools[0]!)).toBe('overlaps pool "b" (10.0.0.0/26) which was accepted before it');
    expect(poolFor(pools, addressFrom("10.0.0.1"))?.name).toBe("b");
    expect(poolFor(pools, addressFrom("10.0.0.200"))?.name).toBe("a");
  });
});

test("pools are drawn from in the order in which they are accepted", () => {
  const sources = [
    pool("a", "10.0.0.0/24"),
    pool("b", "10.0.1.0/24", { created: "2025-01-01T00:00:00Z" }),
    pool("c", "10.0.2.0/24", { allocatable: "True" }),
  ];
  const query = { version: 4, requested: [], host: "n", node: {}, use: "Workload" } as const;
  const { usable } = choosePools(poolsOf(sources), query);
  expect(usable.map(({ name }) => name)).toEqual(["c", "b", "a"]);
});

test("a block is counted in the accepted one of the pools that overlap it", () => {
  const sources = [pool("a", "10.0.0.0/24"), pool("b", "10.0.0.0/26", { created: "2025-01-01T00:00:00Z" })];
  const rows = utilizationOf(sources, [block("10.0.0.0/28")], []);
  expect(rows.map(({ name, blocks }) => [name, blocks.length])).toEqual([
    ["a", 0],
    ["b", 1],
    ["orphaned allocation blocks", 0],
  ]);
});
