/** Cases of size, on the embedded store: what a call does must not grow with what could be, nor quadratically with what is. */
import { expect, test } from "vitest";
import { check } from "../invariants/check.ts";
import { count, world } from "../support/ipam.ts";
import { affinity, block, pool, usedBlock } from "../support/ipam-data.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const cidrOf = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}/32`;

// PRF-03: checking and collecting at this size is tested with the command line.
test("PRF-03: twenty thousand blocks are counted, in a stable order", { timeout: 300_000 }, async () => {
  await using w = await world();
  await w.store.create(pool("p", "10.0.0.0/16", { blockSize: 32 }));
  const blocks = Array.from({ length: 20_000 }, (_, index) =>
    usedBlock(cidrOf(index), `node-${index % 500}`, { 0: { handle_id: "h" } }),
  );
  for (const each of blocks) await w.store.create(each);
  const [row] = await w.openIpam({ datastore: w.store }).getUtilization();
  expect(row).toMatchObject({ capacity: 65_536n, inUse: 20_000n, available: 45_536n });
  const names = row!.blocks.map(({ cidr }) => cidr);
  expect([names.length, new Set(names).size]).toEqual([20_000, 20_000]);
  expect((await w.openIpam({ datastore: w.store }).getUtilization())[0]?.blocks.map(({ cidr }) => cidr)).toEqual(names);
});

test("two thousand pools: one that fits is found, and each that does not is named", { timeout: 120_000 }, async () => {
  await using w = await world();
  for (let index = 0; index < 2000; index++) {
    const cidr = `10.${index >> 8}.${index & 255}.0/24`;
    await w.store.create(pool(`p-${String(index).padStart(4, "0")}`, cidr, { nodeSelector: `rack == "${index}"` }));
  }
  const onRack = (rack: string) =>
    w.openIpam({ datastore: w.store, nodes: async () => ({ metadata: { labels: { rack } } }) });
  expect((await onRack("1999").autoAssign(ask)).v4?.ips[0]).toMatch(/^10\.7\.207\./);
  const refusal = await onRack("none")
    .autoAssign({ ...ask, hostname: "node-b" })
    .catch(({ details }: { details: string[] }) => details);
  expect(refusal).toHaveLength(2000);
  const rows = await onRack("0").getUtilization();
  expect(rows).toHaveLength(2001);
});

test("a host with a thousand rows, of which the last has room", { timeout: 120_000 }, async () => {
  await using w = await world();
  await w.store.create(pool("p", "10.0.0.0/20", { blockSize: 32 }));
  for (let index = 0; index < 1000; index++) {
    const cidr = cidrOf(index);
    await w.store.create(
      index === 999 ? block(cidr, { affinity: "host:node-a" }) : usedBlock(cidr, "node-a", { 0: {} }),
    );
    await w.store.create(affinity("node-a", cidr));
  }
  expect(count((await w.openIpam({ datastore: w.store }).autoAssign(ask)).v4)).toBe(1);
  expect(check(await w.stored(), { mode: "always", now: w.now })).toEqual([]);
});
