/** The command that each finding names mends it: it is run on the damaged data, and the finding is gone. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { VERBS } from "../../src/cli/verbs.ts";
import { judge } from "../../src/judgement/judge.ts";
import { DAMAGES } from "../judgement/damage.ts";
import { scratchFile } from "./ipamctl.ts";
import { NOW, sound } from "./sound.ts";
import { siteOf } from "./writing-site.ts";

const MENDING = ["repair", "gc", "configure"];
/** What the embedded store does not show, or puts right when it is written; `writing.cluster.test.ts` mends them on a real server. */
const NOT_EMBEDDED = ["UnfinishedDeletion", "MissingLabels"];
/** The store counts an object's generations by itself, from 1, and writes its time of creation. */
const NOT_STORED = ["level with a written block", "one inside the other"];

const commandsOf = (code: string, damaged: object) =>
  judge({ ...sound, ...damaged }, { now: NOW }).flatMap((finding) => (finding.code === code ? [finding.command] : []));

const mended = DAMAGES.filter(
  ([code, what, damaged]) =>
    !NOT_EMBEDDED.includes(code) &&
    !NOT_STORED.includes(what) &&
    commandsOf(code, damaged).some((command) => MENDING.includes(command.split(" ")[1]!)),
);

describe("a finding is gone once its command was run", () => {
  it.each(mended)("%s: %s", async (code, _what, damaged) => {
    const site = await siteOf({ ...sound, ...damaged });
    expect(await site.codes()).toEqual([code]);
    for (const command of new Set((await site.findings()).map((finding) => finding.command))) {
      const [program, verb, ...args] = command.split(" ");
      expect(program).toBe("ipamctl");
      const quick = verb === "configure" ? [] : ["--grace", "0"];
      const copy = verb === "repair" ? ["--copy", await scratchFile(`${crypto.randomUUID()}.jsonl`)] : [];
      const ran = await site.run([verb!, ...args, ...quick, ...copy, "--yes"]);
      expect(ran.code, ran.stdout + ran.stderr).toBe(0);
    }
    expect(await site.codes()).not.toContain(code);
  });
});

/** Whether a line of a page or of a finding is a verb that there is, with flags that it has. */
function expectKnown(command: string): void {
  const [, verb, ...args] = command.split(" ");
  const known = VERBS.find(({ name }) => name === verb);
  expect(known, command).toBeDefined();
  const flags = known!.flags.flatMap(({ flags: text }) => text.split(/[ ,]+/));
  for (const flag of args.filter((arg) => arg.startsWith("--"))) expect(flags, command).toContain(flag);
}

it("the commands of docs/mending.md are ones that there are", () => {
  const page = readFileSync(new URL("../../docs/mending.md", import.meta.url), "utf8");
  const commands = page.match(/(?<=^ {4})ipamctl .*$/gm) ?? [];
  expect(commands.length).toBeGreaterThan(8);
  for (const command of commands) expectKnown(command);
});

it("every command of ipamctl names a verb that there is, and flags that it has", async () => {
  const commands = DAMAGES.flatMap(([code, , damaged]) => commandsOf(code, damaged));
  for (const command of commands.filter((each) => each.startsWith("ipamctl "))) expectKnown(command);
});

it.each([
  ["InUseNotAllocated", "a free address", "kubectl delete pod -n shop thief"],
  ["DuplicateAddress", "two pods", "kubectl delete pod -n shop twin"],
  ["AllocatedToAnother", "another pod", "kubectl delete pod -n shop web-9"],
  ["UnknownOwner", "no attributes", "ipamctl show --ip 10.0.0.2"],
  ["LeakedAddress", "its pod does not exist", "ipamctl gc"],
  ["InvalidConfiguration", "out of range", "ipamctl configure --ip-cooldown-seconds 1200"],
])("%s, %s: the command names what it is about", (code, what, command) => {
  const [, , damaged] = DAMAGES.find(([known, about]) => known === code && about === what)!;
  expect(new Set(commandsOf(code, damaged))).toEqual(new Set([command]));
});
