/** Cases of size, counted in requests on a real API server (never in time). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addressAt } from "../../src/ipam/block.ts";
import { type Cidr, formatCidr, parseCidr } from "../../src/net/cidr.ts";
import { type CaseCluster, startCaseCluster } from "../support/case-cluster.ts";
import { affinity, block, pool } from "../support/ipam-data.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const BLOCKS = 1024;

describe.each(["v1", "v3"] as const)("%s", (flavour) => {
  let cluster: CaseCluster;
  beforeAll(async () => {
    cluster = await startCaseCluster(flavour);
  });
  afterAll(() => cluster?.stop());
  beforeEach(() => cluster.reset());

  /** Blocks /30 of a pool, all but one another node's and full. */
  async function allButOne(free: number): Promise<void> {
    await cluster.store.create(pool("p", "10.0.0.0/20", { blockSize: 30 }));
    const full = { allocations: [0, 0, 0, 0], attributes: [{ handle_id: "h" }], affinity: "host:node-b" };
    const base = parseCidr("10.0.0.0/30")!;
    const cidrs = Array.from(
      { length: BLOCKS },
      (_, index): Cidr => ({ ...base, base: addressAt(base, index * 4).value }),
    );
    const made = cidrs.filter((_, index) => index !== free).map((cidr) => block(formatCidr(cidr), full));
    for (let i = 0; i < made.length; i += 32)
      await Promise.all(made.slice(i, i + 32).map((each) => cluster.store.create(each)));
  }
  const requests = async (call: () => Promise<unknown>) => {
    const before = cluster.proxy.requests.length;
    await call();
    return cluster.proxy.requests.slice(before);
  };

  test("PRF-01: the one free block among 1,024 is found by a few lists, not by a GET per block", {
    timeout: 300_000,
  }, async () => {
    await allButOne(700);
    const ipam = await cluster.openIpam({ blockOrder: () => 701n });
    const made = await requests(async () => {
      expect((await ipam.autoAssign(ask)).v4?.ips).toEqual(["10.0.10.240/30"]);
    });
    const lists = made.filter(({ query }) => query.get("limit") !== null && query.get("continue") === null);
    expect(lists.length).toBeLessThanOrEqual(6); // configuration aside: reservations, pools, blocks, rows, blocks to claim
    expect(made.length).toBeLessThan(25);
  });

  test("PRF-03: a large list comes page by page, in the order of names, in every call that needs it", {
    timeout: 300_000,
  }, async () => {
    await allButOne(0);
    await cluster.store.create(affinity("node-b", "10.0.0.4/30"));
    const ipam = await cluster.openIpam();
    const made = await requests(async () => {
      const [row] = await ipam.getUtilization();
      expect(row).toMatchObject({ capacity: 4096n, inUse: 4092n, available: 4n });
      const cidrs = row!.blocks.map(({ cidr }) => cidr);
      expect(cidrs).toHaveLength(BLOCKS - 1);
      expect((await ipam.getUtilization())[0]!.blocks.map(({ cidr }) => cidr)).toEqual(cidrs);
    });
    const pages = made.filter(({ path }) => path.endsWith("ipamblocks")).map(({ query }) => String(query.get("limit")));
    expect(pages).toEqual(["500", "500", "500", "500", "500", "500"]);
  });
});
