/** docs/ipamctl.md: the causes and verbs that it names. Its commands are run for its transcripts (scripts/docs.test.ts). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { VERBS } from "../../src/cli/verbs.ts";
import { CAUSES } from "../../src/judgement/why/codes.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/ipamctl.md"), "utf8");

it("names causes that there are", () => {
  const table = page.split("\n").filter((line) => /^\| [A-Z]\w+(, \w+)* +\|/.test(line));
  const causes = table.flatMap((line) =>
    line
      .split("|")[1]!
      .split(",")
      .map((code) => code.trim()),
  );
  expect(causes.length).toBeGreaterThan(8);
  expect(causes.filter((code) => !Object.hasOwn(CAUSES, code))).toEqual([]);
});

it("names verbs that there are", () => {
  const verbs = [...page.matchAll(/`ipamctl ([a-z]+)/g)].map(([, verb = ""]) => verb);
  expect(verbs.length).toBeGreaterThan(3);
  expect(verbs.filter((verb) => !VERBS.some(({ name }) => name === verb))).toEqual([]);
});
