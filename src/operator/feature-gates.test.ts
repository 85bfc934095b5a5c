import { expect, test } from "vitest";
import { FEATURE_GATES, type FeatureGate, gatesText, parseFeatureGates } from "./feature-gates.ts";

const gates: readonly FeatureGate[] = [
  { name: "Fast", stage: "alpha" },
  { name: "Safe", stage: "beta" },
];

test.each([
  ["Fast=false", { Fast: false, Safe: true }],
  ["Fast=true", { Fast: true, Safe: true }],
  ["Fast=true, Safe=false", { Fast: true, Safe: false }],
])("%s: alpha is off and beta on unless it says otherwise", (text, wanted) => {
  expect(parseFeatureGates(text, gates)).toEqual(wanted);
});

test.each([
  ["Slow=true", "There is no gate 'Slow'; this version has Fast (alpha), Safe (beta)."],
  ["fast=true", "There is no gate 'fast'"],
  ["Fast", "Give Name=true or Name=false, not 'Fast'."],
  ["Fast=yes", "not 'Fast=yes'"],
  ["Fast=true,", "not ''"],
])("%s is refused with what would be right", (text, message) => {
  expect(() => parseFeatureGates(text, gates)).toThrow(message);
});

test("a gate has one name", () => {
  expect(new Set(FEATURE_GATES.map(({ name }) => name)).size).toBe(FEATURE_GATES.length);
  expect(gatesText([])).toBe("this version has none");
});
