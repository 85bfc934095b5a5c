/** Several processes on one file of the embedded store, and processes that die while they write. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collect } from "../../src/datastore/contract/collect.ts";
import { handleOf } from "../../src/datastore/contract/objects.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { openDatabase } from "../../src/datastore/embedded-database.ts";

const PROGRAM = join(import.meta.dirname, "counter.ts");
let dir: string;
let path: string;
let children: ChildProcess[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "ipam-processes-"));
  path = join(dir, "ipam.db");
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

function startCounter(times: number) {
  const child = spawn(process.execPath, [PROGRAM, path, String(times)], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return child;
}

/** Lets a counter run to its end; gives the counts it wrote. */
async function countsOf(times: number): Promise<number[]> {
  const child = startCounter(times);
  const [output, [exit]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  expect(exit).toBe(0);
  return output.trim().split("\n").map(Number);
}

const makeCounter = (datastore: Datastore) => datastore.create(handleOf("counter", { block: { "10.0.0.0/30": 0 } }));
const count = async (datastore: Datastore) => (await datastore.get("IPAMHandle", "counter")).spec.block["10.0.0.0/30"]!;

test("three processes that add to one number lose no addition", { timeout: 60_000 }, async () => {
  const datastore = openEmbedded(path);
  await makeCounter(datastore);
  const counts = await Promise.all([countsOf(200), countsOf(200), countsOf(200)]);
  expect(counts.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 600 }, (_, i) => i + 1));
  expect(await count(datastore)).toBe(600);
  await datastore.close();
});

test("processes that make a new file at once agree on one", { timeout: 60_000 }, async () => {
  const first = openEmbedded(path);
  await makeCounter(first);
  await first.close();
  const open = "for (let i = 0; i < 20; i++) await openEmbedded(process.argv[1] + i).close()";
  const source = `import { openEmbedded } from ${JSON.stringify(join(import.meta.dirname, "../../src/datastore/embedded.ts"))};`;
  const runs = [1, 2, 3].map(() => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", `${source}${open}`, join(dir, "new")], {
      stdio: "inherit",
    });
    children.push(child);
    return once(child, "exit");
  });
  expect((await Promise.all(runs)).map(([exit]) => exit)).toEqual([0, 0, 0]);
});

test("a watch sees what another process writes, in order and without a gap", { timeout: 60_000 }, async () => {
  const datastore = openEmbedded(path);
  await makeCounter(datastore);
  const watch = collect(datastore, "IPAMHandle");
  await countsOf(50);
  await watch.until(51);
  expect(watch.events.map(({ object }) => object.spec.block["10.0.0.0/30"])).toEqual(
    Array.from({ length: 51 }, (_, i) => i),
  );
  await watch.stop();
  await datastore.close();
});

test("after kill -9 in the midst of writing, all that was acknowledged is there and the file is sound", {
  timeout: 60_000,
}, async () => {
  const first = openEmbedded(path);
  await makeCounter(first);
  await first.close();
  for (let round = 0; round < 3; round++) {
    const child = startCounter(1_000_000);
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      if (output.length > 500 * (round + 1)) child.kill("SIGKILL");
    });
    await once(child, "close");
    const acknowledged = Number(output.slice(0, output.lastIndexOf("\n")).split("\n").at(-1));
    const datastore = openEmbedded(path);
    expect(await count(datastore)).toBeGreaterThanOrEqual(acknowledged);
    expect((await datastore.list("IPAMHandle")).malformed).toEqual([]);
    await datastore.close();
    const database = openDatabase(path);
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    database.close();
  }
});
