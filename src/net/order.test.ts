/** The order in which people read. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { parseCidr } from "./cidr.ts";
import { byAddress, byNumbers, byRange } from "./order.ts";

it.each([
  [["node-1", "node-2", "node-10", "node-10a", "node-a"]],
  [["10-0-0-2-26", "10-0-0-10-26", "10-0-0-128-26"]],
  [["", "01", "1", "a", "a1", "a1b2", "a1b10", "a2"]],
  [["rack1-node9", "rack1-node10", "rack2-node1", "rack10-node1"]],
  [["p9999999999999999999998", "p9999999999999999999999", "p10000000000000000000000"]],
])("%j", (sorted) => {
  expect(sorted.toReversed().sort(byNumbers)).toEqual(sorted);
});

it("orders any texts in one way", () => {
  const text = fc.string({ unit: fc.constantFrom("0", "1", "2", "9", "a", "-"), maxLength: 6 });
  fc.assert(
    fc.property(text, text, text, (a, b, c) => {
      expect(Math.sign(byNumbers(a, b)) + Math.sign(byNumbers(b, a))).toBe(0);
      expect(byNumbers(a, b) === 0).toBe(a === b);
      if (byNumbers(a, b) < 0 && byNumbers(b, c) < 0) expect(byNumbers(a, c)).toBeLessThan(0);
    }),
    { numRuns: 2000 },
  );
});

it("addresses by family and value, other words after them", () => {
  const sorted = ["9.9.9.9", "10.0.0.2", "10.0.0.10", "fd00::9", "fd00::a", "fd00::10", "no-1", "no-2"];
  expect(sorted.toReversed().sort(byAddress)).toEqual(sorted);
});

it("ranges by family and first address, the wider one first", () => {
  const sorted = ["10.0.0.0/24", "10.0.0.0/30", "10.0.0.4/30", "fd00::/116", "fd00::40/122"];
  const ranges = sorted.map((text) => parseCidr(text)!);
  expect(ranges.toReversed().sort(byRange)).toEqual(ranges);
});
