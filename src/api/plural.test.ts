import { expect, it } from "vitest";
import { plural } from "./plural.ts";

it.each([
  [0, "pool", "0 pools"],
  [1, "block", "1 block"],
  [1n, "address", "1 address"],
  [2n ** 64n, "address", "18446744073709551616 addresses"],
])("%s %s", (count, noun, text) => {
  expect(plural(count, noun)).toBe(text);
});
