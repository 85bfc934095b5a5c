/** SEC-03: whatever stands in a file or an object, a terminal gets plain lines, and a mistake no stack trace. */
import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { PAINT_CODES } from "../../src/cli/screen.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { EVIL, expectPlain as expectPlainText } from "../escapes/evil.ts";
import { pool } from "../support/ipam-data.ts";
import { bundleOf, ipamctl, type Ran, scratchFile, storeOf } from "./ipamctl.ts";
import { node, pod, sound } from "./sound.ts";

const evil: Snapshot = {
  ...sound,
  pools: [...sound.pools, pool(EVIL, "10.9.0.0/29", { blockSize: 30, nodeSelector: "all()" })],
  nodes: [...sound.nodes!, node(EVIL)],
  pods: [...sound.pods!, pod(EVIL, EVIL, [], { phase: "Pending", askedPools: [EVIL] })],
  unread: [{ part: "services", reason: EVIL }],
  malformed: [{ kind: "IPPool", name: EVIL, reason: EVIL }],
};

function expectPlain({ stdout, stderr }: Ran): void {
  const text = stdout + stderr;
  expectPlainText(text);
  expect(text).not.toMatch(/^ {4}at /m);
}

it.each([
  [["show"]],
  [["show", "--blocks"]],
  [["show", "--map"]],
  [["show", "--pool", "nowhere"]],
  [["show", "--node", EVIL]],
  [["top"]],
  [["plan"]],
  [["check"]],
  [["check", "-o", "wide"]],
  [["check", "-o", "name"]],
  [["check", "-o", "json"]],
  [["check", "-o", "yaml"]],
  [["show", "-o", "yaml"]],
  [["why", EVIL]],
  [["why", "--node", EVIL]],
  [["why", "--node", `${EVIL}y`]],
])("%# %j", async (args) => {
  const ran = await ipamctl([...args, "--bundle", await bundleOf(evil)]);
  expectPlain(ran);
});

it.each(["check", "check -o wide", "show --map"])("%s in colour holds no other control sequence", async (command) => {
  const run = (color: string) => ipamctl([...command.split(" "), "--color", color], { snapshot: evil });
  const ran = await run("always");
  const uncolored = PAINT_CODES.reduce((text, code) => text.replaceAll(code, ""), ran.stdout);
  expectPlain({ ...ran, stdout: uncolored });
  expect(uncolored).toBe((await run("never")).stdout);
  expect(uncolored).not.toBe(ran.stdout);
});

it("a bundle on a terminal, which is the same data", async () => {
  const ran = await ipamctl(["bundle", "-", "--datastore", `embedded:${await storeOf(sound)}`], {
    take: async () => evil,
  });
  expectPlain(ran);
  const objects = ran.stdout
    .trimEnd()
    .split("\n")
    .slice(1, -1)
    .map((line) => JSON.parse(line));
  expect(objects.find(([part, object]) => part === "pools" && object.metadata.name === EVIL)).toBeDefined();
});

it.each([[[EVIL]], [["show", `--${EVIL}`]], [["repair", EVIL]], [["show", "--ip", EVIL]], [["split", EVIL]]])(
  "a command line of it: %j",
  async (args) => {
    const ran = await ipamctl(args);
    expectPlain(ran);
    expect(ran.code).toBe(2);
  },
);

it.each(["on", "no", "012", "0o12", "1e3", "2026-01-02", "12:30:45", "=", "<<", "~", "null"])(
  "the name %s stays a text in YAML, of either version",
  async (name) => {
    const named = { ...sound, pools: [pool(name, "10.9.0.0/29", { blockSize: 30 })] };
    const { stdout } = await ipamctl(["show", "-o", "yaml"], { snapshot: named });
    for (const version of ["1.1", "1.2"] as const) expect(parse(stdout, { version }).items[0].name).toBe(name);
  },
);

describe("a report that somebody else wrote", () => {
  const report = { version: "v0.1.0", clusterGUID: "", clusterInformationRevision: "", allocations: {} };
  it.each([
    ["cluster", { ...report, clusterGUID: EVIL }],
    ["version", { ...report, version: EVIL }],
    ["field", { ...report, allocations: { [EVIL]: 1 } }],
    ["address", { ...report, allocations: { a: [{ ip: EVIL, inUse: false }] } }],
  ])("%s", async (_what, content) => {
    const path = scratchFile("report.json");
    writeFileSync(path, JSON.stringify(content));
    const place = ["--datastore", `embedded:${await storeOf(sound)}`];
    expectPlain(await ipamctl(["release", "--from-report", path, "--yes", ...place]));
  });
});

describe("a copy that no repair wrote", () => {
  const before = { kind: "IPAMHandle", metadata: { name: "other" } };
  it.each([
    ["null", "null"],
    ["a list", "[1, 2]"],
    ["a kind that there is not", '{"kind":"constructor","name":"x"}'],
    ["no name", '{"kind":"IPAMHandle","before":{}}'],
    ["an object of another name", JSON.stringify({ kind: "IPAMHandle", name: "x", before })],
    ["an object without metadata", '{"kind":"IPAMHandle","name":"x","before":{"kind":"IPAMHandle"}}'],
    ["an end without a form", '{"kind":"IPAMHandle","name":"x","after":7}'],
  ])("%s", async (_what, line) => {
    const path = scratchFile("copy.jsonl");
    writeFileSync(path, `{"copy":"ipam-operator.io/v1alpha1"}\n${line}\n`);
    const place = ["--datastore", `embedded:${await storeOf(sound)}`];
    expect(await ipamctl(["repair", "--restore", path, "--yes", ...place])).toEqual({
      code: 1,
      stdout: "",
      stderr: `ipamctl: ${path}, line 2: is nothing that a repair writes\n`,
    });
  });
});
