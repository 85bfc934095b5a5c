/** Manifests that are large, or made to be: each ends in a sentence, in a time that grows with its size only. */
import { expect, test } from "vitest";
import { parseManifests } from "./manifests.ts";

const pool = (more: string) => `apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n  name: p\n${more}`;
const spec = "spec: {cidr: 10.0.0.0/16}\n";
const annotations = (count: number, value = "v") =>
  pool(`  annotations:\n${Array.from({ length: count }, (_, at) => `    k${at}: ${value}\n`).join("")}${spec}`);

const KEYS = "holds more than 25,000 keys and list entries, the limit for one file: divide it";
const TOKENS =
  "holds more than 300,000 YAML tokens, the limit for one file: divide it, or remove comments and empty lines";
const DEEP = "is nested more than 100 levels deep";

test.each([
  ["200,000 keys in one map", annotations(200_000), KEYS],
  ["200,000 keys in maps of their own", pool(`  annotations:\n${"    a: {b: c}\n".repeat(200_000)}`), KEYS],
  ["200,000 list entries", `${pool("spec:\n  x:\n")}${"  - a\n".repeat(200_000)}`, KEYS],
  ["a flow list", `a: [${"x,".repeat(1_000_000)}]`, KEYS],
  ["a flow map", `a: {${"x,".repeat(1_000_000)}}`, KEYS],
  ["explicit keys", "? a\n".repeat(200_000), KEYS],
  ["documents", "---\n".repeat(700_000), TOKENS],
  ["comments", "#\n".repeat(1_500_000), TOKENS],
  ["empty lines", "\n".repeat(3_000_000), TOKENS],
  ["tags", `a: ${"!t ".repeat(1_000_000)}`, TOKENS],
  ["a list in a list in a list", "[".repeat(100_000), DEEP],
  ["maps in maps", "{a: ".repeat(100_000), DEEP],
  ["lists in lists by dashes", `${"- ".repeat(100_000)}x`, DEEP],
  ["keys of keys", `${"? ".repeat(100_000)}x`, DEEP],
  ["3 MiB and more", "x".repeat(3 * 2 ** 20 + 1), "is larger than 3 MiB, the limit for one file: divide it"],
])("%s", (_, text, message) => {
  expect(parseManifests(text)).toEqual({ manifests: [], problems: [{ message }] });
});

test("20,000 keys are read, in one map and as objects of their own", () => {
  const [read] = parseManifests(annotations(20_000)).manifests;
  expect(Object.keys(read!.object.metadata.annotations!)).toHaveLength(20_000);
  const pools = Array.from(
    { length: 3000 },
    (_, at) => `apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata: {name: p${at}}\n${spec}---\n`,
  ).join("");
  expect(parseManifests(pools).manifests).toHaveLength(3000);
});

test("a value of 2 MB is refused as an API server does, whatever its form", () => {
  const long = "x".repeat(2_000_000);
  for (const value of [long, `"${long}"`, `'${long}'`, `"${"\\n".repeat(1_000_000)}"`, `|\n      ${long}`])
    expect(parseManifests(annotations(1, value)).problems).toEqual([TOO_LONG]);
});
const TOO_LONG = { line: 5, message: "metadata.annotations: Too long: may not be more than 262144 bytes" };

test("a key that stands twice is refused at its second line, however many there are", () => {
  const text = pool(`  annotations:\n    a: v\n    "a": v\n${spec}`);
  const message = 'not YAML: the key "a" is also at line 6; keep one of them';
  expect(parseManifests(text)).toEqual({ manifests: [], problems: [{ line: 7, message }] });
  const { problems } = parseManifests(pool(`  annotations:\n${"    a: v\n".repeat(20_000)}${spec}`));
  expect(problems).toHaveLength(21);
  expect(problems.at(-1)).toEqual({ message: "and 19,979 more problems" });
});

test('the key 1 and the key "1" are one field of an object', () => {
  const { problems } = parseManifests('a:\n  1: x\n  "1": y\n');
  expect(problems).toEqual([{ line: 3, message: 'not YAML: the key "1" is also at line 2; keep one of them' }]);
});

test("20,000 wrong keys are reported by the first of them, each at its line, shortened", () => {
  const unknown = Array.from({ length: 20_000 }, (_, at) => `  k${at}: v\n`).join("");
  const installation = "apiVersion: ipam-operator.io/v1alpha1\nkind: Installation\nmetadata: {name: default}\n";
  const { problems } = parseManifests(`${installation}spec:\n  managementPolicy: Observe\n${unknown}`);
  expect(problems).toHaveLength(21);
  expect(problems[19]).toEqual({ line: 25, message: expect.stringContaining('unknown field "spec.k19";') });
  const long = parseManifests(`${installation}spec:\n  managementPolicy: Observe\n  ${"x".repeat(1000)}: 1\n`).problems;
  expect(long).toEqual([{ line: 6, message: expect.stringMatching(/^unknown field "spec.xxx.{400,490}…$/) }]);
});

test("an alias bomb of the most that is read", () => {
  const anchors = Array.from(
    { length: 100 },
    (_, at) => `a${at}: &a${at} [${`*a${at - 1}, `.repeat(at === 0 ? 0 : 200)}x]\n`,
  );
  const { problems } = parseManifests(anchors.join(""));
  expect(problems).toEqual([{ line: 1, message: expect.stringContaining("Excessive alias count") }]);
});
