/** The behaviour cases of the library, T1 to T71: each has a test that bears its number. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EMBEDDED_ONLY } from "./files.ts";

const CASES = Array.from({ length: 71 }, (_, index) => index + 1);
/** About values alone: a block's arithmetic, sets of addresses, the choice of pools. */
const PURE = [45, 50, 68, 70];

const root = join(import.meta.dirname, "../..");
const files = globSync("{src,test}/**/*.test.ts", { cwd: root });
const onApiServer = files.filter(
  (file) => file.endsWith(".cluster.test.ts") || (file.startsWith("src/ipam/") && !EMBEDDED_ONLY.includes(file)),
);

/** Numbers at the beginning of a title, or in brackets at its end. */
function numbersIn(paths: readonly string[]): Set<number> {
  const texts = paths.map((file) => readFileSync(join(root, file), "utf8"));
  return new Set(texts.flatMap((text) => [...text.matchAll(/["(]T(\d+)\b[":)]/g)].map(([, number]) => Number(number))));
}

test("no file is left out of the API server's tests that does not exist", () => {
  expect(EMBEDDED_ONLY.filter((file) => !files.includes(file))).toEqual([]);
});

test("every case has a test", () => {
  const tested = numbersIn(files);
  expect(CASES.filter((number) => !tested.has(number))).toEqual([]);
  expect([...tested].filter((number) => !CASES.includes(number))).toEqual([]);
});

test("every case that touches storage has a test that runs on an API server too", () => {
  const tested = numbersIn(onApiServer);
  expect(CASES.filter((number) => !tested.has(number) && !PURE.includes(number))).toEqual([]);
});
