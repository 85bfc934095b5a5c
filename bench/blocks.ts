/** What others' blocks cost one autoAssign of one address, where its host has a block with room: nothing, if all is well. */
import { type IPPool, V3_API_VERSION } from "../src/api/v3.ts";
import { cachedDatastore } from "../src/datastore/cached.ts";
import type { Datastore } from "../src/datastore/datastore.ts";
import { openEmbedded } from "../src/datastore/embedded.ts";
import { newBlock } from "../src/ipam/block.ts";
import { createIpam } from "../src/ipam/client.ts";
import { parseCidr, size } from "../src/net/cidr.ts";
import { type BenchOptions, percentile, timed } from "./measures.ts";

const FIRST = parseCidr("10.64.0.0/26")!;
const BLOCKS_PER_HOST = 4;

async function fill(datastore: Datastore, count: number): Promise<void> {
  const spec = { cidr: "10.0.0.0/8", blockSize: FIRST.prefix };
  const pool: IPPool = { apiVersion: V3_API_VERSION, kind: "IPPool", metadata: { name: "pool" }, spec };
  await datastore.create(pool);
  for (let index = 0; index < count; index++) {
    const cidr = { ...FIRST, base: FIRST.base + BigInt(index) * size(FIRST) };
    const affinity = `host:other-${Math.floor(index / BLOCKS_PER_HOST)}`;
    const claimTime = new Date();
    await datastore.create(newBlock({ cidr, affinity, claimTime, sequenceNumber: BigInt(index) }));
  }
}

/** Milliseconds of the median call in a store of so many blocks. */
async function measure(count: number, cached: boolean, rounds: number): Promise<number> {
  const store = openEmbedded(":memory:");
  await fill(store, count);
  const cache = cached ? cachedDatastore(store) : undefined;
  await cache?.synced();
  const ipam = createIpam({ datastore: cache ?? store, hostname: "node-a" });
  const samples: number[] = [];
  for (let round = 0; round < rounds + 2; round++) {
    const args = { num4: 1, handleID: `handle-${round}`, intendedUse: "Workload" } as const;
    const milliseconds = await timed(() => ipam.autoAssign(args));
    if (round >= 2) samples.push(milliseconds); // the first claims a block, and code is not warm yet
    await ipam.releaseByHandle(args.handleID);
  }
  await (cache ?? store).close();
  return percentile(samples, 0.5);
}

/** Prints the medians. */
export async function benchBlocks({ smoke }: BenchOptions): Promise<void> {
  const numbers = smoke ? [1, 100] : [1, 1000, 10_000];
  const rows = [];
  for (const cached of [false, true]) {
    const medians: number[] = [];
    for (const count of numbers) medians.push(await measure(count, cached, smoke ? 3 : 50));
    rows.push({
      "autoAssign of one address": cached ? "from caches" : "from the store",
      ...Object.fromEntries(numbers.map((count, at) => [`${count} blocks of others, ms`, medians[at]!.toFixed(2)])),
    });
  }
  console.table(rows);
}
