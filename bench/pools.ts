/**
 * What a cluster's number of pools costs one autoAssign of one address: with the pools read from the store by each call,
 * or from a cache; chosen by no selector, by a node selector each, or asked for by CIDR.
 */
import { type IPPool, V3_API_VERSION } from "../src/api/v3.ts";
import { cachedDatastore } from "../src/datastore/cached.ts";
import type { Datastore } from "../src/datastore/datastore.ts";
import { openEmbedded } from "../src/datastore/embedded.ts";
import { createIpam } from "../src/ipam/client.ts";
import { type BenchOptions, percentile, timed } from "./measures.ts";

const HOST = "node-a";
const rack = (index: number) => `rack-${index}`;
const cidr = (index: number) => `10.${index >> 8}.${index & 255}.0/24`;

/** How the pools are made, and how the call chooses: always the last of them but where any will do. */
const CHOICES = {
  "no selectors": { selector: () => ({}), asked: () => ({}) },
  "a node selector each": {
    selector: (index: number) => ({ nodeSelector: `rack == "${rack(index)}" && !has(retired)` }),
    asked: () => ({}),
  },
  "asked for by CIDR": { selector: () => ({}), asked: (last: number) => ({ ipv4Pools: [cidr(last)] }) },
  "all asked for by CIDR": {
    selector: () => ({}),
    asked: (last: number) => ({ ipv4Pools: Array.from({ length: last + 1 }, (_, index) => cidr(index)) }),
  },
} as const;
type Choice = keyof typeof CHOICES;

async function fill(datastore: Datastore, count: number, choice: Choice): Promise<void> {
  for (let index = 0; index < count; index++) {
    const spec = { cidr: cidr(index), blockSize: 26, ...CHOICES[choice].selector(index) };
    const metadata = { name: `pool-${String(index).padStart(4, "0")}` };
    const pool: IPPool = { apiVersion: V3_API_VERSION, kind: "IPPool", metadata, spec };
    await datastore.create(pool);
  }
}

/** Median milliseconds of one autoAssign in a store of so many pools. */
async function measure(count: number, choice: Choice, cached: boolean, rounds: number): Promise<number> {
  const store = openEmbedded(":memory:");
  await fill(store, count, choice);
  const cache = cached ? cachedDatastore(store) : undefined;
  await cache?.synced();
  const datastore = cache ?? store;
  const nodes = async () => ({ metadata: { labels: { rack: rack(count - 1) } } });
  const ipam = createIpam({ datastore, nodes, hostname: HOST });
  const samples: number[] = [];
  for (let round = 0; round < rounds + 2; round++) {
    const handleID = `handle-${round}`;
    const args = { num4: 1, handleID, intendedUse: "Workload", ...CHOICES[choice].asked(count - 1) } as const;
    const milliseconds = await timed(() => ipam.autoAssign(args));
    if (round >= 2) samples.push(milliseconds); // the first claims a block, and code is not warm yet
    await ipam.releaseByHandle(handleID);
  }
  await datastore.close();
  return percentile(samples, 0.5);
}

/** Prints the medians, and how many times as much the greatest number of pools costs as one. */
export async function benchPools({ smoke }: BenchOptions): Promise<void> {
  const numbers = smoke ? [1, 100] : [1, 100, 1000];
  const rows = [];
  for (const cached of [false, true]) {
    for (const choice of Object.keys(CHOICES) as Choice[]) {
      const medians: number[] = [];
      for (const count of numbers) medians.push(await measure(count, choice, cached, smoke ? 3 : 50));
      rows.push({
        "autoAssign of one address": `${cached ? "pools cached" : "pools read"}, ${choice}`,
        ...Object.fromEntries(numbers.map((count, at) => [`${count} pools, ms`, medians[at]!.toFixed(2)])),
        [`${numbers.at(-1)} to 1`]: `${(medians.at(-1)! / medians[0]!).toFixed(1)} times`,
      });
    }
  }
  console.table(rows);
}
