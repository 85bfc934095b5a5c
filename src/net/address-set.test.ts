import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AddressSet,
  addressSet,
  EMPTY_SET,
  has,
  intersection,
  rangeCovering,
  sizeOf,
  sizeOfDifference,
  touches,
  union,
} from "./address-set.ts";
import { type Cidr, cidrOf, parseCidr, size } from "./cidr.ts";

const parse = (text: string): Cidr => {
  const cidr = parseCidr(text);
  if (!cidr) throw new Error(text);
  return cidr;
};
const set = (...texts: string[]): AddressSet => addressSet(texts.map(parse));

/** Small ranges of both families near zero, where each address can be counted. */
const smallCidr = fc
  .tuple(fc.constantFrom(4 as const, 6 as const), fc.nat(63), fc.integer({ min: 0, max: 4 }))
  .map(([version, value, bits]) => cidrOf({ version, value: BigInt(value) }, (version === 4 ? 32 : 128) - bits));
const cidrs = fc.array(smallCidr, { maxLength: 8 });
const members = (ranges: readonly Cidr[]) =>
  new Set(
    ranges.flatMap((c) => Array.from({ length: Number(size(c)) }, (_, i) => `${c.version}:${c.base + BigInt(i)}`)),
  );

describe("address sets", () => {
  test("agree with sets of single addresses", () => {
    fc.assert(
      fc.property(cidrs, cidrs, smallCidr, (a, b, probe) => {
        const [x, y, m, n, p] = [addressSet(a), addressSet(b), members(a), members(b), [...members([probe])]] as const;
        expect(sizeOf(x)).toBe(BigInt(m.size));
        expect(sizeOf(union(x, y))).toBe(BigInt(new Set([...m, ...n]).size));
        expect(sizeOf(intersection(x, y))).toBe(BigInt([...m].filter((it) => n.has(it)).length));
        expect(sizeOfDifference(x, y)).toBe(BigInt([...m].filter((it) => !n.has(it)).length));
        expect(rangeCovering(x, probe) !== undefined).toBe(p.every((it) => m.has(it)));
        expect(touches(x, probe)).toBe(p.some((it) => m.has(it)));
        expect(has(x, { version: probe.version, value: probe.base })).toBe(m.has(`${probe.version}:${probe.base}`));
      }),
      { numRuns: 500 },
    );
  });

  test("T68: two halves cover the whole jointly, and no more", () => {
    const halves = set("192.168.1.64/26", "192.168.1.0/26");
    expect(rangeCovering(halves, parse("192.168.1.0/25"))).toBeDefined();
    expect(rangeCovering(halves, parse("192.168.1.0/24"))).toBeUndefined();
    expect(rangeCovering(set("::/0"), parse("cafe:f00d::/96"))).toBeDefined();
    expect(rangeCovering(EMPTY_SET, parse("10.0.0.0/32"))).toBeUndefined();
  });

  test("count exactly at IPv6 sizes", () => {
    expect(sizeOf(set("::/0"))).toBe(1n << 128n);
    expect(sizeOfDifference(set("fd00::/120"), set("fd00::/126"))).toBe(252n);
    expect(sizeOf(intersection(set("fd00::/8"), set("fd00::/64", "fd00:0:0:1::/64")))).toBe(1n << 65n);
  });
});
