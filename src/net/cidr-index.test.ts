import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cidrOf, formatCidr, overlaps } from "./cidr.ts";
import { CidrIndex } from "./cidr-index.ts";

const cidr = fc
  .record({ value: fc.bigInt(0n, 255n), prefix: fc.integer({ min: 24, max: 32 }) })
  .map(({ value, prefix }) => cidrOf({ version: 4, value: 0x0a000000n + value }, prefix));

test("finds exactly the ranges that share addresses, whatever was added and deleted before", () =>
  fc.assert(
    fc.property(
      fc.array(cidr, { maxLength: 40 }),
      fc.array(fc.nat(39), { maxLength: 10 }),
      cidr,
      (all, gone, wanted) => {
        const index = new CidrIndex<number>();
        for (const [value, range] of all.entries()) index.add(range, value);
        const deleted = new Set(gone.filter((value) => value < all.length));
        for (const value of deleted) index.delete(all[value]!, value);
        const expected = all.flatMap((range, value) => (!deleted.has(value) && overlaps(range, wanted) ? [value] : []));
        expect(index.overlapping(wanted).sort((a, b) => a - b)).toEqual(expected);
      },
    ),
  ));

test("a range of another family shares nothing", () => {
  const index = new CidrIndex<string>();
  const all = cidrOf({ version: 6, value: 0n }, 0);
  index.add(all, formatCidr(all));
  expect(index.overlapping(cidrOf({ version: 4, value: 0n }, 0))).toEqual([]);
});

test("a look-up in a range of 2^124 blocks costs what is stored, not what could be", () => {
  const index = new CidrIndex<string>();
  index.add(cidrOf({ version: 6, value: 5n << 64n }, 128), "host");
  expect(index.overlapping(cidrOf({ version: 6, value: 0n }, 0))).toEqual(["host"]);
});
