/**
 * No stored object costs more memory or time than its own bytes: for each block size that a pool can be stored with, every
 * method of the library and every verb runs over a store with affinities, blocks and reservations of every prefix length,
 * below 256 MB of heap and in 5 s, and answers or refuses by name.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import type { IpVersion } from "../../src/net/address.ts";
import type { Line } from "./sizes/child.ts";
import type { Site } from "./sizes/store.ts";

const CHILD = join(import.meta.dirname, "sizes/child.ts");
const HEAP_MB = 256;
const MOST_MS = 5000;

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

interface Run {
  readonly ended: number;
  readonly faults: string[];
}

/** Runs all calls; after one that ended the process a new process goes on with the next. */
async function runAll(sites: readonly Site[]): Promise<Run> {
  const faults: string[] = [];
  let ended = 0;
  for (let done = false; !done; ) {
    let begun: string | undefined;
    const args = [`--max-old-space-size=${HEAP_MB}`, CHILD, JSON.stringify(sites), String(ended), String(MOST_MS)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    let errors = "";
    child.stderr.on("data", (text) => (errors = `${errors}${text}`.slice(-2000)));
    const kill = () => void child.kill("SIGKILL");
    let watchdog = setTimeout(kill, 60_000);
    for await (const text of createInterface({ input: child.stdout })) {
      clearTimeout(watchdog);
      const line = JSON.parse(text) as Line;
      // Its processor time counts; a process that is only waited for is given longer.
      watchdog = setTimeout(kill, 4 * MOST_MS);
      if ("begins" in line) {
        begun = line.begins;
        continue;
      }
      begun = undefined;
      ended++;
      if (line.bad !== undefined) faults.push(`${line.ends}: ${line.bad}`);
      else if (line.cpuMs > MOST_MS) faults.push(`${line.ends}: took ${line.cpuMs} ms`);
    }
    clearTimeout(watchdog);
    done = begun === undefined;
    if (begun !== undefined) {
      faults.push(`${begun}: ended the process, ${errors.includes("heap") ? "out of memory" : `killed ${errors}`}`);
      ended++;
    } else if (errors.includes("Error")) faults.push(errors);
  }
  return { ended, faults };
}

/**
 * Every length of everything under each pool; for pools that give addresses, without what keeps them from it, and at the
 * edges also with it.
 */
function sitesOf(version: IpVersion, blockSizes: readonly number[], givesAddresses: boolean): Site[] {
  const turns = blockSizes.length;
  return blockSizes.flatMap((blockSize, turn): Site[] => {
    const isEdge = turn === 0 || turn === turns - 1;
    const site = { version, blockSize, turn, turns, everyLength: isEdge };
    if (!givesAddresses) return [{ ...site, covering: "all" }];
    const coverings = isEdge ? (["affinities", "all", "blocks"] as const) : (["affinities"] as const);
    return coverings.map((covering) => ({ ...site, covering }));
  });
}

test.concurrent.each([
  [4, "blocks that a pool may have", true, range(20, 32)],
  [4, "other blocks", false, [0, 1, 8, 16, 19, 33, 64, 128, -3]],
  [6, "blocks that a pool may have", true, range(116, 128)],
  [6, "other blocks", false, [0, 1, 26, 64, 100, 115, 129, -3]],
] as const)("IPv%i, %s", { timeout: 600_000 }, async (version, _, givesAddresses, blockSizes) => {
  const sites = sitesOf(version, blockSizes, givesAddresses);
  const { ended, faults } = await runAll(sites);
  expect(faults).toEqual([]);
  expect(ended).toBeGreaterThan(50 * sites.length);
});
