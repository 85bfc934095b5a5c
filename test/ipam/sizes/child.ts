/**
 * Runs calls on stores of one family, and says on standard output, a line of JSON each, which begins and how it ended. A
 * program of its own, so that its heap can be bounded and it can be killed. Arguments: sites as JSON, and how many calls
 * to leave out at the beginning, those that were run before.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "../../../src/cli/program.ts";
import { EXIT } from "../../../src/cli/verb.ts";
import { openCopy } from "../../../src/datastore/embedded.ts";
import { createIpam } from "../../../src/ipam/client.ts";
import { LIBRARY_CALLS, nameable, verbCalls } from "./calls.ts";
import { type Site, writeStore } from "./store.ts";

export type Line =
  | { readonly begins: string }
  | {
      readonly ends: string;
      readonly cpuMs: number;
      readonly refused?: string | undefined;
      readonly bad?: string | undefined;
    };

/** How a program that caught its own fault looks. */
const FAULT =
  /RangeError|TypeError|Invalid array length|Cannot (read|mix|convert)|is not (iterable|a function)|BigInt|Division by zero|Maximum |Invalid string length|\n {4}at /;

const EXPECTED: readonly number[] = [EXIT.fine, EXIT.error, EXIT.usage, EXIT.findings];

/** Some verbs look at nothing, or at a file of their own. */
const readsStore = (args: readonly string[]) =>
  !["explain", "completion"].includes(args[0]!) &&
  !args.includes("--bundle") &&
  !(args[0] === "plan" && args[1] === "--cidr");

const [sitesText = "[]", skipText = "0", deadlineText = "5000"] = process.argv.slice(2);
const sites = JSON.parse(sitesText) as Site[];
const folder = mkdtempSync(join(tmpdir(), "ipam-sizes-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
let left = Number(skipText);

for (const site of sites) {
  const { version, blockSize, covering } = site;
  const name = `IPv${version} /${blockSize}, covering ${covering}`;
  const scratch = join(folder, `${version}-${blockSize}-${covering}`);
  mkdirSync(scratch);
  const original = join(scratch, "original.db");
  let copies = 0;
  const copy = async () => {
    if (copies === 0) await writeStore(original, site);
    const path = join(scratch, `${copies++}.db`);
    copyFileSync(original, path);
    return path;
  };
  for (const [call, make] of Object.entries(LIBRARY_CALLS)) {
    await timed(`${name}: ${call}`, async () => {
      const store = openCopy(await copy());
      const ipam = createIpam({ datastore: store, nodes: async () => ({}), windowsHost: false, warn: () => {} });
      const signal = AbortSignal.timeout(Number(deadlineText) / 2);
      let refused: string | undefined;
      for (const one of make({ site, store, ipam, signal })) {
        try {
          await one();
        } catch (error) {
          if (error !== signal.reason) nameable(error);
          const { message } = error as Error;
          if (FAULT.test(message)) throw error;
          refused ??= message;
        }
      }
      await store.close();
      return refused;
    });
  }
  for (const args of verbCalls(site, scratch)) {
    await timed(`${name}: ipamctl ${args.join(" ").replaceAll(scratch, "")}`, async () => {
      let text = "";
      const sink = { write: (more: string) => (text += more) };
      const place = readsStore(args) ? ["--datastore", `embedded:${await copy()}`] : [];
      const io = {
        stdout: sink,
        stderr: sink,
        env: { HOME: "/nonexistent" },
        now: () => new Date("2026-01-02T00:00:00Z"),
        signal: new AbortController().signal,
      };
      const code = await runProgram([...args, ...place], io);
      if (!EXPECTED.includes(code) || FAULT.test(text)) throw new Error(`exit code ${code}: ${text.slice(0, 2000)}`);
      return code === EXIT.error || code === EXIT.usage ? text.slice(0, 500) : undefined;
    });
  }
}

async function timed(call: string, run: () => Promise<string | undefined>): Promise<void> {
  if (left-- > 0) return;
  say({ begins: call });
  const before = process.cpuUsage();
  const cpuMs = () => {
    const { user, system } = process.cpuUsage(before);
    return Math.round((user + system) / 1000);
  };
  try {
    const refused = await run();
    say({ ends: call, cpuMs: cpuMs(), refused });
  } catch (error) {
    say({ ends: call, cpuMs: cpuMs(), bad: String((error as Error).stack) });
  }
}

function say(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
