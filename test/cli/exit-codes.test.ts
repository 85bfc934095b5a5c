/** The table of exit codes in docs/ipamctl.md: a call of each verb for each row that it can come to. */
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { VERBS } from "../../src/cli/verbs.ts";
import { emptySnapshot } from "../../src/judgement/snapshot.ts";
import { ipamctl, scratchFile } from "./ipamctl.ts";
import { sound } from "./sound.ts";
import { siteOf } from "./writing-site.ts";

/** Each under its words. */
const calls = (all: readonly (readonly string[])[]) => all.map((args) => [args.join(" "), args] as const);

const READING = {
  show: ["show", "--node", "node-a"],
  why: ["why", "--node", "node-a"],
  top: ["top"],
  plan: ["plan", "--pods-per-node", "3"],
  check: ["check"],
} as const;
/** Calls that find nothing to do, on sound data. */
const IDLE = {
  release: ["release", "10.0.0.9", "--yes"],
  configure: ["configure", "--strict-affinity", "false", "--yes"],
  gc: ["gc", "--grace", "0", "--yes"],
  repair: ["repair", "FreeTwice", "--grace", "0", "--yes"],
} as const;
const WRITING = {
  ...IDLE,
  assign: ["assign", "10.0.0.0", "--node", "node-a", "--yes"],
  split: ["split", "2", "--name", "nowhere", "--yes"],
} as const;
const ALL = { ...READING, ...WRITING, version: ["version"], bundle: ["bundle", "-"] } as const;

const nobodyListens = () => {
  const path = scratchFile("config");
  const named = {
    name: "c",
    cluster: { server: "http://127.0.0.1:1" },
    context: { cluster: "c", user: "c" },
    user: {},
  };
  const lists = { clusters: [named], contexts: [named], users: [named] };
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "Config", ...lists, "current-context": "c" }));
  return path;
};

describe("0: answered, or nothing to do", () => {
  it.each(calls(Object.values<readonly string[]>(READING)))("%s", async (_words, args) => {
    expect((await ipamctl(args, { snapshot: sound })).code).toBe(0);
  });

  it.each(calls([["show"], ["show", "--borrowed"], ["top"], ["check"]]))("nothing found: %s", async (_words, args) => {
    expect((await ipamctl(args, { snapshot: emptySnapshot(sound.takenAt) })).code).toBe(0);
  });

  it.each(calls(Object.values<readonly string[]>(IDLE)))("nothing to do: %s", async (_words, args) => {
    const copy = args[0] === "repair" ? ["--copy", scratchFile("copy.jsonl")] : [];
    const site = await siteOf(sound);
    expect((await site.run([...args, ...copy])).code).toBe(0);
  });

  it.each(calls([["version", "--client"], ["explain"], ["completion", "bash"]]))(
    "without data: %s",
    async (_words, args) => {
      expect((await ipamctl(args)).code).toBe(0);
    },
  );
});

it.each<readonly [string, readonly string[]]>([
  ["refused", ["release", "10.0.0.0", "--yes"]],
  ["refused", WRITING.assign],
  ["not there", WRITING.split],
])("1: %s: %j", async (_what, args) => {
  expect((await (await siteOf(sound)).run([...args])).code).toBe(1);
});

it.each(calls(Object.values<readonly string[]>(ALL)))(
  "1: a cluster that cannot be reached: %s",
  async (_words, args) => {
    const copy = args[0] === "repair" ? ["--copy", scratchFile("copy.jsonl")] : [];
    const ran = await ipamctl([...args, ...copy, "--kubeconfig", nobodyListens()]);
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("http://127.0.0.1:1 refuses the connection")]);
  },
);

it.each(VERBS.map(({ name }) => name))("2: a flag that there is not: %s", async (verb) => {
  expect((await ipamctl([verb, "--no-such-flag"])).code).toBe(2);
});

it.each<readonly [string, readonly string[]]>([
  ["check", ["check", "--second-look", "0"]],
  ["why", ["why", "--node", "node-a"]],
  ["plan", ["plan", "--pods-per-node", "4000"]],
])("3: %s", async (_verb, args) => {
  const locked = { ...sound, pods: [], clusterInformation: { ...sound.clusterInformation!, ready: false } };
  expect((await ipamctl(args, { snapshot: locked })).code).toBe(3);
});

it("130: stopped", async () => {
  const signal = AbortSignal.abort(new Error("interrupted"));
  expect((await (await siteOf(sound)).run([...IDLE.release], { signal })).code).toBe(130);
});

it("are all in the page, and no others", () => {
  const page = readFileSync(new URL("../../docs/ipamctl.md", import.meta.url), "utf8");
  const rows = page
    .split("## Exit codes")[1]!
    .split("\n## ")[0]!
    .matchAll(/^\| (\d+) +\|/gm);
  expect(Array.from(rows, ([, code]) => Number(code))).toEqual([0, 1, 2, 3, 130]);
});
