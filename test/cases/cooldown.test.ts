/** Cases of released addresses: when they may come again, and what callers are told meanwhile. */
import { describe, expect, test } from "vitest";
import { partialFulfillmentError, partialResult } from "../../src/ipam/assignments.ts";
import type { Ipam } from "../../src/ipam/client.ts";
import { errorOf, type World, world } from "../support/ipam.ts";
import { reservation } from "../support/ipam-data.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const host = { affinityType: "host", host: "node-a" } as const;

async function take(ipam: Ipam, handleIDs: readonly string[]): Promise<void> {
  for (const handleID of handleIDs) await ipam.autoAssign({ ...ask, handleID });
}
const handles = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe("CORE-01: an address does not come back too soon", () => {
  const pools = [["10.0.0.0/29", 29]] as const;

  test.each([
    ["in use", async (w: World) => take(w.ipam, ["eighth"])],
    ["reserved", async (w: World) => w.store.create(reservation("eighth", "10.0.0.7"))],
  ])("with the eighth address %s", async (_, occupyEighth) => {
    await using w = await world({ pools });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 60 });
    await take(w.ipam, handles("h", 7));
    await occupyEighth(w);
    const released = await w.ipam.ipsByHandle("h3");
    await w.ipam.releaseByHandle("h3");
    for (const seconds of [1, 58]) {
      w.pass(seconds);
      const { v4 } = await w.ipam.autoAssign(ask);
      expect(v4?.ips).toEqual([]);
      expect(v4?.msgs).toContain("1 address cooling down, next at 2026-01-02T03:05:05Z");
      expect(partialFulfillmentError(v4!)).toContain("1 address cooling down, next at 2026-01-02T03:05:05Z");
    }
    w.pass(2);
    const { v4 } = await w.ipam.autoAssign(ask);
    expect(v4).toMatchObject({ ips: [`${released[0]}/29`], msgs: [] });
  });

  test("another block serves meanwhile", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 29]], blockOrder: () => 0n });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 60 });
    await take(w.ipam, handles("h", 8));
    await w.ipam.releaseByHandle("h3");
    expect((await w.ipam.autoAssign(ask)).v4).toMatchObject({ ips: ["10.0.0.8/29"], msgs: [] });
  });

  test("without a cooldown it is there at once", async () => {
    await using w = await world({ pools });
    await take(w.ipam, handles("h", 8));
    const released = await w.ipam.ipsByHandle("h3");
    await w.ipam.releaseByHandle("h3");
    expect((await w.ipam.autoAssign(ask)).v4?.ips).toEqual([`${released[0]}/29`]);
  });

  test("no cooldown beyond 1200 seconds is stored", async () => {
    await using w = await world({ pools });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 1200 });
    const error = await errorOf(w.ipam.setIPAMConfig({ ipCooldownSeconds: 1201 }));
    expect(error).toMatchObject({ code: "IPAMConfigConflict", message: expect.stringContaining("from 0 to 1200") });
    expect(await w.ipam.getIPAMConfig()).toMatchObject({ ipCooldownSeconds: 1200 });
  });

  test("who asks for the very address is told since when it cools down, and until when", async () => {
    await using w = await world({ pools });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 60 });
    await w.ipam.assignIP({ ip: "10.0.0.3", hostname: "node-a", handleID: "h" });
    await w.ipam.releaseByHandle("h");
    const error = await errorOf(w.ipam.assignIP({ ip: "10.0.0.3", hostname: "node-a", handleID: "other" }));
    expect(error).toMatchObject({
      code: "AlreadyExists",
      details: ["10.0.0.3 was released at 2026-01-02T03:04:05Z and cools down until 2026-01-02T03:05:05Z"],
    });
    const asked = await errorOf(w.ipam.getAssignmentAttributes("10.0.0.3"));
    expect(asked).toMatchObject({ code: "InCooldown", details: (error as { details?: string[] }).details });
  });
});

describe("CORE-03: a cooldown does not starve a busy node", () => {
  const pools = [["10.0.0.0/27", 29]] as const;
  async function churn(w: World): Promise<void> {
    await take(w.ipam, handles("first", 8));
    for (const handle of handles("first", 8)) await w.ipam.releaseByHandle(handle);
    w.pass(30);
  }

  test("the second eight come from a new block", async () => {
    await using w = await world({ pools });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 300 });
    await churn(w);
    await take(w.ipam, handles("second", 8));
    const blocks = await w.all("IPAMBlock");
    expect(blocks.map(({ spec }) => spec.affinity)).toEqual(["host:node-a", "host:node-a"]);
    await w.store.create(reservation("end", "10.0.0.30/31"));
    const [pool] = await w.ipam.getUtilization();
    expect(pool).toMatchObject({ capacity: 32n, inUse: 16n, inCooldown: 8n, reserved: 2n, available: 14n });
    const allocated = pool!.inUse - pool!.inCooldown;
    expect(allocated + pool!.inCooldown + pool!.reserved + pool!.available).toBe(pool!.capacity);
  });

  test("at the cap, the error names the cooldown", async () => {
    await using w = await world({ pools });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 300, strictAffinity: true, maxBlocksPerHost: 1 });
    await churn(w);
    const error = await errorOf(w.ipam.autoAssign(ask));
    expect(error).toMatchObject({ code: "BlockLimit" });
    const words = "8 addresses cooling down, next at 2026-01-02T03:09:05Z";
    expect((error as { details?: string[] }).details).toContain(words);
    expect(partialResult<{ v4: { msgs: string[] } }>(error)?.v4.msgs).toContain(words);
  });
});

describe("CORE-04: a cooldown outlives the process that began it", () => {
  async function released(): Promise<World> {
    const w = await world({ pools: [["10.0.0.0/32", 32]] });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 120 });
    await w.ipam.autoAssign({ ...ask, handleID: "h" });
    await w.ipam.releaseByHandle("h");
    return w;
  }
  const askedAt = (w: World, seconds: number) => {
    const clock = () => new Date(w.now.getTime() + seconds * 1000);
    return w.openIpam({ clock }).autoAssign(ask);
  };

  test("another process waits for it as well", async () => {
    await using w = await released();
    expect((await askedAt(w, 0)).v4?.ips).toEqual([]);
    expect((await askedAt(w, 119)).v4?.ips).toEqual([]);
    expect((await askedAt(w, 120)).v4?.ips).toEqual(["10.0.0.0/32"]);
  });

  test("a clock that is behind adds its lag, and no more", async () => {
    await using w = await released();
    const behind = -600;
    const { v4 } = await askedAt(w, behind);
    expect(v4).toMatchObject({ ips: [], msgs: expect.arrayContaining([expect.stringContaining("next at ")]) });
    expect((await askedAt(w, behind + 600 + 119)).v4?.ips).toEqual([]);
    expect((await askedAt(w, behind + 600 + 120)).v4?.ips).toEqual(["10.0.0.0/32"]);
  });

  test("a clock that is ahead shortens it, and nothing breaks", async () => {
    await using w = await released();
    expect((await askedAt(w, 600)).v4?.ips).toEqual(["10.0.0.0/32"]);
    expect((await askedAt(w, 0)).v4?.ips).toEqual([]);
  });
});

// CORE-05: that a pass over 5,000 blocks looks only at those that cool down is the collector's part.
describe("CORE-05: an idle block does not keep cold addresses", () => {
  test("they are freed by collection, and the block goes with its node", async () => {
    await using w = await world({ pools: [["10.0.0.0/29", 29]] });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 10 });
    await take(w.ipam, ["h0", "h1"]);
    for (const handle of ["h0", "h1"]) await w.ipam.releaseByHandle(handle);
    w.pass(10);
    await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 10 }, await w.block("10.0.0.0/29"));
    const { spec } = await w.block("10.0.0.0/29");
    expect([spec.unallocated, spec.attributes]).toEqual([[2, 3, 4, 5, 6, 7, 0, 1], []]);
    await w.ipam.removeIPAMHost(host);
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });

  test("a block whose owner is gone already is deleted by its collection", async () => {
    await using w = await world({ pools: [["10.0.0.0/29", 29]] });
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 10 });
    await take(w.ipam, ["h0", "h1"]);
    for (const handle of ["h0", "h1"]) await w.ipam.releaseByHandle(handle);
    await w.ipam.removeIPAMHost(host);
    w.pass(10);
    await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 10 }, await w.block("10.0.0.0/29"));
    expect(await w.all("IPAMBlock")).toEqual([]);
  });

  test("of many blocks only the one that is cold costs a request", async () => {
    await using w = await world({ pools: [["10.0.0.0/21", 29]] });
    await w.ipam.claimAffinity("10.0.0.0/21", host);
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 10 });
    await take(w.ipam, ["h"]);
    await w.ipam.releaseByHandle("h");
    const blocks = await w.all("IPAMBlock");
    expect(blocks).toHaveLength(256);
    const requests = async () => {
      w.calls.splice(0);
      for (const block of blocks) await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 10 }, block);
      return w.calls.map(({ operation, kind }) => `${operation} ${kind}`);
    };
    expect(await requests()).toEqual([]);
    w.pass(10);
    expect(await requests()).toEqual(["update IPAMBlock"]);
  });
});
