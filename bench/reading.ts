/**
 * What `show`, `check` and the other verbs that read cost on a large cluster's data, against listing the same objects in
 * the same run: on the embedded store, on a bundle with all pods, and on an API server whose etcd was filled directly.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { writeBundle } from "../src/cli/snapshot/bundle.ts";
import { openEmbedded } from "../src/datastore/embedded.ts";
import type { BenchOptions } from "./measures.ts";
import { startSeededCluster } from "./reading-cluster.ts";
import { affinityAt, bigPool, bigSnapshot, blockAt, handlesAt, USED_PER_BLOCK } from "./reading-data.ts";

const TIMES_LISTING = 3;
const RSS_MB = 1000;
const VERDICT = `at most ${TIMES_LISTING} times, ${RSS_MB} MB`;
const child = join(import.meta.dirname, "reading-child.ts");

interface Measured {
  readonly milliseconds: number;
  /** Of all its threads: what another process takes does not count. */
  readonly cpuSeconds: number;
  readonly maxRssMb: number;
}

async function measured(what: string, place: string, path: string): Promise<Measured> {
  const process_ = spawn(process.execPath, [child, what, place, path], { stdio: ["ignore", "pipe", "pipe"] });
  const [[code], stdout, stderr] = await Promise.all([
    once(process_, "close"),
    text(process_.stdout),
    text(process_.stderr),
  ]);
  if (code !== 0) throw new Error(`${what} on ${place} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** With fewer blocks, loading the program is most of the time. */
const ENOUGH_BLOCKS = 2000;

async function compare(place: string, path: string, blocks: number, verbs: readonly string[]): Promise<object[]> {
  const listing = await measured("list", place, path);
  const rows = [rowOf(place, "listing alone", listing)];
  for (const verb of verbs) {
    const row = rowOf(place, verb, await measured(verb, place, path), listing);
    rows.push(blocks < ENOUGH_BLOCKS ? { ...row, [VERDICT]: "too few objects" } : row);
  }
  return rows;
}

function rowOf(place: string, what: string, { milliseconds, cpuSeconds, maxRssMb }: Measured, listing?: Measured) {
  const times = listing && milliseconds / listing.milliseconds;
  const met = times === undefined || (times <= TIMES_LISTING && maxRssMb < RSS_MB);
  return {
    on: place,
    "": what,
    seconds: (milliseconds / 1000).toFixed(1),
    "times listing": times?.toFixed(2) ?? "",
    "CPU seconds": cpuSeconds.toFixed(1),
    "times its CPU": listing ? (cpuSeconds / listing.cpuSeconds).toFixed(2) : "",
    "most memory, MB": maxRssMb.toFixed(0),
    [VERDICT]: times === undefined ? "" : met ? "met" : "MISSED",
  };
}

async function fillStore(path: string, blocks: number): Promise<void> {
  const store = openEmbedded(path);
  await store.create(bigPool);
  for (let index = 0; index < blocks; index++) {
    await store.create(blockAt(index));
    await store.create(affinityAt(index));
    for (const handle of handlesAt(index)) await store.create(handle);
  }
  await store.close();
}

/** Prints what was measured. */
export async function benchReading({ smoke }: BenchOptions): Promise<void> {
  const blocks = smoke ? 100 : Number(process.env["IPAM_OPERATOR_BENCH_BLOCKS"] ?? 10_000);
  const dir = await mkdtemp(join(tmpdir(), "ipamctl-bench-"));
  try {
    console.log(`${blocks} blocks, ${blocks * USED_PER_BLOCK} allocations`);
    const bundle = join(dir, "big.bundle");
    await writeBundle(bigSnapshot(blocks), bundle, new AbortController().signal);
    console.table(await compare("bundle", bundle, blocks, ["show", "check", "top"]));
    const store = join(dir, "big.db");
    await fillStore(store, blocks);
    console.table(await compare("embedded", store, blocks, ["show", "check"]));
    const cluster = await startSeededCluster(blocks);
    console.table(await compare("cluster", cluster.kubeconfig, blocks, ["show", "check"]).finally(cluster.stop));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
