/** docs/ipamctl.md: its commands are run as they stand there, on the data of a pod that does not start. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VERBS } from "../../src/cli/verbs.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { CAUSES } from "../../src/judgement/why/codes.ts";
import { bundleOf, ipamctl, scratchFile } from "./ipamctl.ts";
import { pod, sound } from "./sound.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/ipamctl.md"), "utf8");
const lines = page
  .replace(/```[\s\S]*?```/g, "")
  .split("\n")
  .filter((line) => line.startsWith("    "));
const commands = lines.map((line) => line.trim());
/** web-3 has asked for an address that web-1 has: its cause is not in the way of the page's other commands. */
const troubled: Snapshot = {
  ...sound,
  pods: [...sound.pods!, pod("web-3", "node-b", [], { phase: "Pending", askedAddresses: ["10.0.0.4"] })],
};
/** What a command of the page ends with. */
const CODES: Readonly<Record<string, number>> = { why: 3, "why --node": 0, show: 0, top: 0, check: 0, explain: 0 };

const offline = commands.filter((line) => /^ipamctl (why|show|top|check|explain|plan)\b/.test(line));

describe("the page", () => {
  it("has the commands that this test knows how to run, and no others", () => {
    const known = /^(kubectl describe pod web-3|ipamctl (why|show|top|check|explain|plan|bundle) ?.*)$/;
    expect(commands.length).toBeGreaterThan(12);
    expect(commands.filter((line) => !known.test(line))).toEqual([]);
  });

  it.each(offline)("%s", { timeout: 60_000 }, async (line) => {
    const args = line.split(" ").slice(1);
    const [verb = ""] = args;
    const named = args.findIndex((arg) => arg.startsWith("ipam.bundle"));
    if (named >= 0) args[named] = await bundleOf(troubled);
    const isElsewhere = named >= 0 || verb === "explain" || args.includes("--cidr");
    const ran = await ipamctl(args, isElsewhere ? {} : { snapshot: troubled });
    if (verb === "plan") expect([0, 3]).toContain(ran.code);
    else
      expect([line, ran.code]).toEqual([line, CODES[args.includes("--node") && verb === "why" ? "why --node" : verb]]);
    if (verb !== "check" || args.includes("json")) expect(ran.stdout).not.toBe("");
  });

  it("a bundle is written as it says", async () => {
    const path = scratchFile("ipam.bundle.gz");
    expect(commands).toContain("ipamctl bundle ipam.bundle.gz");
    expect(await ipamctl(["bundle", path], { stored: sound })).toMatchObject({ code: 0 });
  });

  it("names causes and verbs that there are", () => {
    const table = page.split("\n").filter((line) => /^\| [A-Z]/.test(line));
    const causes = table.flatMap((line) =>
      line
        .split("|")[1]!
        .split(",")
        .map((code) => code.trim()),
    );
    expect(causes.length).toBeGreaterThan(8);
    expect(causes.filter((code) => !Object.hasOwn(CAUSES, code))).toEqual([]);
    const verbs = [...page.matchAll(/ipamctl ([a-z]+)/g)]
      .map(([, verb = ""]) => verb)
      .filter((verb) => verb !== "looks");
    expect(verbs.filter((verb) => !VERBS.some(({ name }) => name === verb))).toEqual([]);
  });
});
