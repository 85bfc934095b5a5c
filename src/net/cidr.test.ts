import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Address, canonicalAddress, formatAddress, parseAddress, width } from "./address.ts";
import { canonicalCidr, cidrOf, contains, formatCidr, overlaps, parseCidr, size } from "./cidr.ts";

const version = fc.constantFrom(4 as const, 6 as const);
const address: fc.Arbitrary<Address> = version
  .chain((v) => fc.bigInt({ min: 0n, max: (1n << BigInt(width(v))) - 1n }).map((value) => ({ version: v, value })))
  .filter(({ version: v, value }) => v === 4 || value >> 32n !== 0xffffn);
const sparse: fc.Arbitrary<Address> = fc
  .array(fc.constantFrom(0, 0, 0, 1, 0xa0, 0xffff), { minLength: 8, maxLength: 8 })
  .map((groups) => ({ version: 6 as const, value: groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n) }))
  .filter(({ value }) => value >> 32n !== 0xffffn);
const cidr = address.chain((a) => fc.nat(width(a.version)).map((prefix) => cidrOf(a, prefix)));

const cidrOfText = (text: string) => {
  const parsed = parseCidr(text);
  if (!parsed) throw new Error(`not a CIDR: ${text}`);
  return parsed;
};

describe("addresses", () => {
  test("print and parse are inverse", () => {
    fc.assert(
      fc.property(fc.oneof(address, sparse), (a) => {
        expect(parseAddress(formatAddress(a))).toEqual(a);
        expect(canonicalAddress(formatAddress(a))).toBe(formatAddress(a));
      }),
    );
  });

  test.each([
    ["FD00:0::1", "fd00::1"],
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::FFFF:a00:1", "10.0.0.1"],
    ["10.0.0.01", undefined],
    ["10.0.0.1/32", undefined],
    ["", undefined],
  ])("canonical form of %j is %s", (text, canonical) => expect(canonicalAddress(text)).toBe(canonical));

  test("nothing is an address that the C library refuses", () => {
    const odd = fc.string({ unit: fc.constantFrom(..."0123456789abfF:.%/x "), maxLength: 24 });
    fc.assert(
      fc.property(odd, (text) => {
        if (parseAddress(text)) expect(isIP(text)).not.toBe(0);
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    ["2001:DB8:0:0:1:0:0:0", "2001:db8:0:0:1::"],
    ["1:0:0:2:0:0:3:4", "1::2:0:0:3:4"],
    ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
    ["::", "::"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
  ])("RFC 5952: %s prints as %s", (text, canonical) => {
    const parsed = parseAddress(text);
    expect(parsed && formatAddress(parsed)).toBe(canonical);
  });

  test.each([
    "",
    "10.0.0",
    "010.0.0.1",
    "10.0.0.256",
    "0x0a000001",
    "167772161",
    "fe80::1%eth0",
    "00001::",
    "64:ff9b::010.0.0.1",
    "10.0.0.1 ",
    "1:2:3:4:5:6:7:8:9",
  ])("refuses %j", (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe("ranges", () => {
  test("print and parse are inverse", () => {
    fc.assert(
      fc.property(cidr, (c) => {
        expect(parseCidr(formatCidr(c))).toEqual(c);
      }),
    );
  });

  test.each([
    ["10.0.3.77/26", "10.0.3.64/26"],
    ["2001:DB8:64::/123", "2001:db8:64::/123"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["::1/0", "::/0"],
  ])("canonical form of %s is %s", (text, canonical) => expect(canonicalCidr(text)).toBe(canonical));

  test.each([
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "10.0.0.0/",
    "::/129",
    "::ffff:10.0.0.0/122",
    "10.0.0.0/26/26",
  ])("refuses %j", (text) => {
    expect(canonicalCidr(text)).toBeUndefined();
  });

  test("contains and overlaps agree with the ends of the ranges", () => {
    const last = (c: { base: bigint; version: 4 | 6; prefix: number }) => c.base + size(c) - 1n;
    const near = fc
      .tuple(version, fc.array(fc.tuple(fc.nat(255), fc.integer({ min: 0, max: 8 })), { minLength: 2, maxLength: 2 }))
      .map(([v, pair]) => pair.map(([n, bits]) => cidrOf({ version: v, value: BigInt(n) }, width(v) - bits)));
    fc.assert(
      fc.property(near, ([a, b]) => {
        expect(contains(a!, b!)).toBe(a!.base <= b!.base && last(b!) <= last(a!));
        expect(overlaps(a!, b!)).toBe(a!.base <= last(b!) && b!.base <= last(a!));
      }),
    );
  });

  test("families never overlap, whatever their numbers", () => {
    expect(overlaps(cidrOfText("0.0.0.0/0"), cidrOfText("::/0"))).toBe(false);
    expect(contains(cidrOfText("::/0"), cidrOfText("0.0.0.0/8"))).toBe(false);
    expect(contains(cidrOfText("0.0.0.0/0"), cidrOfText("::/0"))).toBe(false);
  });

  test("size", () => {
    expect(size(cidrOfText("10.0.0.0/26"))).toBe(64n);
    expect(size(cidrOfText("::/0"))).toBe(1n << 128n);
  });
});
