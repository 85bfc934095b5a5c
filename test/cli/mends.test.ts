/** The command that each finding names mends it: it is run on the damaged data, and the finding is gone. */
import { describe, expect, it } from "vitest";
import { judge } from "../../src/judgement/judge.ts";
import { DAMAGES } from "../judgement/damage.ts";
import { faultOf } from "../support/page-commands.ts";
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

it("every command of ipamctl names a verb that there is, and flags that it has", async () => {
  const commands = DAMAGES.flatMap(([code, , damaged]) => commandsOf(code, damaged));
  const own = commands.filter((command) => command.startsWith("ipamctl "));
  expect(own.length).toBeGreaterThan(8);
  expect(own.map(faultOf).filter((fault) => fault !== undefined)).toEqual([]);
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
