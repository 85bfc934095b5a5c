import { expect, test } from "vitest";
import { type IPReservation, V3_API_VERSION } from "../api/v3.ts";
import { sizeOf } from "../net/address-set.ts";
import { numReservedIPsInCIDR, reservedAddresses } from "./reserved.ts";

const reservation = (...reservedCIDRs: string[]): IPReservation => ({
  apiVersion: V3_API_VERSION,
  kind: "IPReservation",
  metadata: { name: "r" },
  spec: { reservedCIDRs },
});

test("T67: entries are ranges or addresses, blanks are trimmed, nonsense is passed over", () => {
  const texts = [" 10.0.0.0/24 ", "", "not-a-cidr", "10.0.0.0/33", "10.1.0.1", "fd00::1"];
  expect(sizeOf(reservedAddresses([reservation(...texts)]))).toBe(258n);
});

test.each([
  ["10.0.0.0/24", ["10.0.0.32/30"], 4n],
  ["10.0.0.0/24", ["10.0.0.0/25", "10.0.0.5/32", "10.0.0.64/26"], 128n],
  ["10.0.0.0/24", ["10.0.0.0/16"], 256n],
  ["fd00::/120", ["fd00::/126"], 4n],
  ["fd00::/8", ["fd00::/8"], (1n << 63n) - 1n],
  ["10.0.0.0/24", [], 0n],
])("T67: of %s, %j takes out %s", (cidr, texts, count) => {
  expect(numReservedIPsInCIDR(cidr, [reservation(...texts), reservation(...texts)])).toBe(count);
});

test("a range that is none is refused", () => {
  expect(() => numReservedIPsInCIDR("10.0.0.0", [])).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
});
