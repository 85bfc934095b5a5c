/** The numbers of the configuration stand once, in src/api/config-limits.ts: every text that names one says that value. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  DEFAULT_MAX_BLOCKS_PER_HOST,
  IP_COOLDOWN_SECONDS_LIMIT,
  MAX_BLOCKS_PER_HOST_LIMIT,
} from "../src/api/config-limits.ts";

const root = join(import.meta.dirname, "..");
const lines = (...patterns: string[]) =>
  globSync(patterns, { cwd: root, exclude: (name) => name.includes("node_modules") }).flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .map((text, index) => ({ at: `${file}:${index + 1}`, text })),
  );

/** What is read by people: written by hand, or generated. */
const texts = lines("README.md", "docs/**/*.md", "examples/*.yaml", "crds/**/*.yaml", "helm/**/*.{yaml,json,md,txt}");

describe.each([
  {
    what: "the default number of blocks per host",
    value: DEFAULT_MAX_BLOCKS_PER_HOST,
    names: /block.*?\b(?:0 means|0 for)?(?: \w+'s| the)? default(?:,| of| is) (\d+)|0 means (\d+)/i,
    atLeast: 6,
  },
  {
    what: "the greatest maxBlocksPerHost",
    value: MAX_BLOCKS_PER_HOST_LIMIT,
    names: /(?:blocks one node may own|maxBlocksPerHost must be).*?(?:0 to|up to) (\d+)/i,
    atLeast: 4,
  },
  {
    what: "the longest cooldown",
    value: IP_COOLDOWN_SECONDS_LIMIT,
    names: /(?:seconds a released address rests|ipCooldownSeconds must be).*?0 to (\d+)/i,
    atLeast: 6,
  },
])("$what", ({ value, names, atLeast }) => {
  const found = texts.flatMap(({ at, text }) => {
    const number = names.exec(text)?.slice(1).find(Boolean);
    return number === undefined ? [] : [{ at, number: Number(number) }];
  });

  test("is the same in every text", () => {
    expect(found.length).toBeGreaterThanOrEqual(atLeast);
    expect(found.filter(({ number }) => number !== value)).toEqual([]);
  });
});

test("no source spells one of them beside the setting it belongs to", () => {
  const sources = lines("{src,reconcilers,rbac,scripts}/**/*.ts").filter(({ at }) => !at.includes(".test.ts"));
  const spelt = /(?:BlocksPerHost|blocks one node|[cC]ooldown).*\b(?:20|1_?000_?000|1200)\b/;
  const wrong = sources.filter(({ at, text }) => spelt.test(text) && !at.startsWith("src/api/config-limits.ts"));
  expect(wrong).toEqual([]);
});
