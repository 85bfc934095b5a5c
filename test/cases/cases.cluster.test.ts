/** Cases that need the real server: what it keeps of a write, lost answers, and many writers at once. In both generations. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Ipam } from "../../src/ipam/client.ts";
import { check } from "../invariants/check.ts";
import { type CaseCluster, startCaseCluster } from "../support/case-cluster.ts";
import { errorOf } from "../support/ipam.ts";
import { affinity, block, handle, pool } from "../support/ipam-data.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const attrs = { namespace: "shop", pod: "cart-0", node: "node-a" };

describe.each(["v1", "v3"] as const)("%s", (flavour) => {
  let cluster: CaseCluster;
  let ipam: Ipam;
  beforeAll(async () => {
    cluster = await startCaseCluster(flavour);
  });
  afterAll(() => cluster?.stop());
  beforeEach(async () => {
    await cluster.reset();
    ipam = await cluster.openIpam();
  });
  const findings = async () => check(await cluster.stored(), { mode: "atRest", now: new Date() });
  const makePool = (cidr: string, blockSize: number) => cluster.store.create(pool("p", cidr, { blockSize }));

  test("CORE-02: the time of release reaches the storage, and outlives every writer of the block", async () => {
    await makePool("10.0.0.0/29", 29);
    await ipam.setIPAMConfig({ ipCooldownSeconds: 30 });
    await ipam.assignIP({ ip: "10.0.0.3", hostname: "node-a", handleID: "h", attrs });
    await ipam.assignIP({ ip: "10.0.0.4", hostname: "node-a", handleID: "vm", attrs });
    await ipam.releaseByHandle("h");
    const stamps = async () => {
      const { spec } = await cluster.raw("IPAMBlock", "10-0-0-0-29");
      return (spec["attributes"] as { releasedAt?: string }[]).flatMap(({ releasedAt }) => releasedAt ?? []);
    };
    const [releasedAt] = await stamps();
    expect(releasedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const restarted = await cluster.openIpam();
    await restarted.setOwnerAttributes("10.0.0.4", "vm", { alternateOwnerAttrs: { namespace: "n", pod: "target" } });
    await restarted.autoAssign({ ...ask, handleID: "other" });
    await restarted.releaseIPs([{ address: "10.0.0.4", handle: "vm" }]);
    await restarted.releaseAffinity("10.0.0.0/29", "node-a", false);
    await restarted.claimAffinity("10.0.0.0/29", { affinityType: "host", host: "node-a" });
    expect(await stamps()).toContain(releasedAt);
    const later = await cluster.openIpam({ clock: () => new Date(Date.now() + 31_000) });
    const listed = (await cluster.store.list("IPAMBlock")).items;
    for (const cold of listed) await later.garbageCollectColdIPs({ ipCooldownSeconds: 30 }, cold);
    expect(await stamps()).toEqual([]);
    await later.assignIP({ ip: "10.0.0.3", hostname: "node-b", handleID: "again" });
  });

  // CORE-08: what `ipam show --ip` prints is the command line's part.
  test("CORE-08: of twenty that ask for one address one gets it, and the others are told who", async () => {
    await makePool("10.0.0.0/29", 29);
    const asking = Array.from({ length: 20 }, (_, index) => {
      const own = { namespace: "shop", pod: `cart-${index}`, node: `node-${index}` };
      const args = { ip: "10.0.0.5", handleID: `h-${index}`, hostname: `node-${index}`, attrs: own };
      return { args, done: ipam.assignIP(args) };
    });
    const outcomes = await Promise.allSettled(asking.map(({ done }) => done));
    const winners = asking.filter((_, index) => outcomes[index]!.status === "fulfilled");
    expect(winners).toHaveLength(1);
    const [{ args }] = winners as [(typeof asking)[number]];
    const words = `10.0.0.5 belongs to handle ${args.handleID} (shop/${args.attrs.pod}) on node ${args.hostname}`;
    for (const outcome of outcomes.filter(({ status }) => status === "rejected")) {
      expect((outcome as PromiseRejectedResult).reason).toMatchObject({
        code: "AlreadyExists",
        holder: { handleID: args.handleID, node: args.hostname, activeOwnerAttrs: args.attrs },
        details: [words],
      });
    }
    expect(await ipam.ipsByHandle(args.handleID)).toEqual(["10.0.0.5"]);
    const handles = (await cluster.store.list("IPAMHandle")).items;
    expect(handles.map(({ metadata }) => metadata.name)).toEqual([args.handleID]);
  }, 120_000);

  describe("CORE-09: a write that was done and not answered leaks nothing", () => {
    const args = { ip: "10.0.0.5", handleID: "h", hostname: "node-a", attrs };
    const lostAnswer = () => cluster.proxy.reset({ method: "PUT", path: "ipamblocks/" }, 1, { afterUpstream: true });
    const agree = async () => {
      const { spec } = (await cluster.store.list("IPAMHandle")).items[0]!;
      expect(spec.block).toEqual({ "10.0.0.0/29": 1 });
      expect(await ipam.ipsByHandle("h")).toEqual(["10.0.0.5"]);
    };

    test("the call looks again and succeeds; once more it is told that the address is its own", async () => {
      await makePool("10.0.0.0/29", 29);
      lostAnswer();
      await ipam.assignIP(args);
      await agree();
      expect(await errorOf(ipam.assignIP(args))).toMatchObject({ code: "AlreadyExists", holder: { handleID: "h" } });
      await ipam.assignIP({ ...args, maxAllocToHandlePerIPVersion: 1 });
      await agree();
    });

    test("where it cannot look either, the handle keeps its count, and a retry or a release puts all right", async () => {
      await makePool("10.0.0.0/29", 29);
      await ipam.claimAffinity("10.0.0.0/29", { affinityType: "host", host: "node-a" });
      const blind = { status: 403, times: Number.POSITIVE_INFINITY };
      const block = { method: "PUT", path: "ipamblocks/" };
      cluster.proxy.before(block, async () => cluster.proxy.fail({ method: "GET" }, blind), 1);
      lostAnswer();
      expect(await errorOf(ipam.assignIP(args))).toMatchObject({ name: "DatastoreError", code: "Unavailable" });
      cluster.proxy.clear();
      await agree();
      await ipam.assignIP({ ...args, maxAllocToHandlePerIPVersion: 1 });
      await agree();
      await ipam.releaseByHandle("h");
      expect((await cluster.store.list("IPAMHandle")).items).toEqual([]);
      expect(await findings()).toEqual([]);
    }, 120_000);
  });

  // BLK-01: the report of a row left behind is the checker's part.
  test("BLK-01: ten nodes claim the last block: one owns it, and a loser's row that stays proves nothing", async () => {
    await makePool("10.0.0.0/29", 29);
    await ipam.setIPAMConfig({ strictAffinity: true });
    const nodes = Array.from({ length: 10 }, (_, index) => `node-${index}`);
    cluster.proxy.reset({ method: "DELETE", path: "blockaffinities/" }, Number.POSITIVE_INFINITY);
    const claims = await Promise.all(
      nodes.map((host) => ipam.claimAffinity("10.0.0.0/29", { affinityType: "host", host })),
    );
    expect(claims.flatMap(({ claimed }) => claimed)).toEqual(["10.0.0.0/29"]);
    const owner = nodes[claims.findIndex(({ claimed }) => claimed.length > 0)]!;
    cluster.proxy.clear();
    for (const hostname of nodes) {
      const { v4 } = await ipam.autoAssign({ ...ask, hostname });
      expect([hostname, v4?.ips.length]).toEqual([hostname, hostname === owner ? 1 : 0]);
    }
    const { spec } = await cluster.raw("IPAMBlock", "10-0-0-0-29");
    expect(spec["affinity"]).toBe(`host:${owner}`);
    const rows = (await cluster.store.list("BlockAffinity")).items;
    expect(rows.map((row) => [row.spec.node, row.spec.state])).toEqual([[owner, "confirmed"]]);
    expect(await findings()).toEqual([]);
  }, 120_000);

  test("BLK-13: rows marked as deleted are gone to readers, and whoever meets them finishes the deletion", async () => {
    await makePool("10.0.0.0/28", 29);
    const marks = flavour === "v1" ? ["true", "1"] : [true];
    for (const [index, mark] of marks.entries()) {
      const cidr = `10.0.0.${index * 8}/29`;
      const { metadata, spec } = affinity("node-a", cidr);
      await cluster.putRaw("BlockAffinity", metadata.name, { ...spec, deleted: mark }, { labels: metadata.labels });
    }
    const goneBlock = block("10.0.0.0/29", { affinity: "host:node-a", deleted: true });
    await cluster.putRaw("IPAMBlock", goneBlock.metadata.name, goneBlock.spec);
    await cluster.putRaw("IPAMHandle", "h", { ...handle("h", {}).spec, deleted: true });
    expect(await errorOf(ipam.ipsByHandle("h"))).toMatchObject({ code: "NotFound" });
    await expect(cluster.raw("IPAMHandle", "h")).rejects.toMatchObject({ code: "NotFound" });
    expect((await cluster.store.list("BlockAffinity")).items).toEqual([]);
    expect((await ipam.getUtilization())[0]).toMatchObject({ inUse: 0n, available: 16n });
    const { v4 } = await ipam.autoAssign({ ...ask, num4: 16, handleID: "h" });
    expect(v4?.ips).toHaveLength(16);
    const rows = await Promise.all(
      ["10-0-0-0-29", "10-0-0-8-29"].map((name) => cluster.raw("BlockAffinity", `node-a-${name}`)),
    );
    expect(rows.map(({ spec }) => spec["deleted"])).toEqual([0, 0].map(() => (flavour === "v1" ? "false" : false)));
    expect(await findings()).toEqual([]);
  });

  test("BLK-13: a deletion that died after the mark is finished with the UID that was marked", async () => {
    await makePool("10.0.0.0/29", 29);
    await ipam.claimAffinity("10.0.0.0/29", { affinityType: "host", host: "node-a" });
    cluster.proxy.fail({ method: "DELETE" }, { status: 403, times: Number.POSITIVE_INFINITY });
    await errorOf(ipam.releaseAffinity("10.0.0.0/29", "node-a", true));
    expect((await cluster.raw("IPAMBlock", "10-0-0-0-29")).spec["deleted"]).toBe(true);
    cluster.proxy.clear();
    await (await cluster.openIpam()).releaseAffinity("10.0.0.0/29", "node-a", true);
    await expect(cluster.raw("IPAMBlock", "10-0-0-0-29")).rejects.toMatchObject({ code: "NotFound" });
    await expect(cluster.raw("BlockAffinity", "node-a-10-0-0-0-29")).rejects.toMatchObject({ code: "NotFound" });
  });
});
