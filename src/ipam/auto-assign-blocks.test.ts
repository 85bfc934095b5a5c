import { describe, expect, test } from "vitest";
import { count, errorOf, failing, storeError, windowsReserve, world } from "../../test/support/ipam.ts";
import { hostnameHash } from "../api/names.ts";
import { type AutoAssignResult, partialResult } from "./assignments.ts";

const ask = { intendedUse: "Workload", hostname: "host-a" } as const;
const onlyFour = (error: unknown) => partialResult<AutoAssignResult>(error)?.v4;

describe("autoAssign: blocks, races and handles", () => {
  test("T21: 32 hosts race for 16 blocks", async () => {
    await using w = await world({ pools: [["10.0.0.0/22", 26]] });
    const hosts = Array.from({ length: 32 }, (_, i) => `node-${i}`);
    const results = await Promise.all(hosts.map((hostname) => w.ipam.autoAssign({ ...ask, hostname, num4: 1 })));
    expect(new Set(results.map(({ v4 }) => v4?.ips[0])).size).toBe(32);
    const rows = await w.all("BlockAffinity");
    const blocks = await w.all("IPAMBlock");
    expect(rows.map(({ spec }) => spec.state)).toEqual(Array.from({ length: 16 }, () => "confirmed"));
    const owners = new Map(blocks.map(({ spec }) => [spec.cidr, spec.affinity]));
    for (const { spec } of rows) expect(owners.get(spec.cidr)).toBe(`host:${spec.node}`);
    for (const { spec } of rows) {
      const [ip] = results[hosts.indexOf(spec.node)]!.v4!.ips;
      const block = blocks.find(({ spec: { cidr } }) => cidr === spec.cidr)!;
      expect(Math.floor(Number(ip!.split(/[./]/)[3]) / 64)).toBe(Number(block.spec.cidr.split(/[./]/)[3]) / 64);
    }
  });

  test("T22: four requests of one host at once", async () => {
    await using w = await world({ pools: [["10.0.0.0/25", 26]] });
    const all = await Promise.all([1, 2, 3, 4].map(() => w.ipam.autoAssign({ ...ask, num4: 1 })));
    expect(new Set(all.map(({ v4 }) => v4?.ips[0])).size).toBe(4);
    expect((await w.all("BlockAffinity")).length).toBeLessThanOrEqual(2);
  });

  test("T23: a block stolen between row and block: the address is borrowed, the row is cleaned up by the next call", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    let stolen = false;
    w.meddler = async ({ operation, kind, name }) => {
      if (operation === "create" && kind === "IPAMBlock" && !stolen) {
        stolen = true;
        await w.openIpam().claimAffinity("10.0.0.0/26", { affinityType: "host", host: "host-b" });
      }
      if (operation === "delete" && kind === "BlockAffinity" && stolen && name.startsWith("host-a")) {
        w.meddler = undefined;
        throw storeError("Unavailable", { kind, name });
      }
    };
    expect(count((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4)).toBe(1);
    expect((await w.all("BlockAffinity")).map(({ spec }) => [spec.node, spec.state])).toEqual([
      ["host-a", "pending"],
      ["host-b", "confirmed"],
    ]);
    expect(count((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4)).toBe(1);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual(["host-b"]);
  });

  test("T24: an empty block of another host is taken over after a minute, and only then", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    const byB = () => w.ipam.autoAssign({ ...ask, hostname: "host-b", handleID: "b", num4: 1 });
    await w.ipam.autoAssign({ ...ask, handleID: "a", num4: 1 });
    expect(count((await byB()).v4)).toBe(0);
    await w.ipam.releaseByHandle("a");
    w.pass(59);
    expect(count((await byB()).v4)).toBe(0);
    w.pass(2);
    w.writes();
    expect(count((await byB()).v4)).toBe(1);
    expect(w.writes()).toEqual([
      "update BlockAffinity",
      "delete IPAMBlock",
      "delete BlockAffinity",
      "create BlockAffinity",
      "create IPAMBlock",
      "update BlockAffinity",
      "create IPAMHandle",
      "update IPAMBlock",
    ]);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual(["host-b"]);
  });

  test("an empty block that its host has claimed anew since it was listed is not taken over", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    const owner = { affinityType: "host", host: "host-b" } as const;
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    await w.ipam.claimAffinity("10.0.0.0/26", owner);
    w.pass(61);
    w.meddler = async ({ operation, name }) => {
      if (operation !== "get" || !name.startsWith("host-b")) return;
      w.meddler = undefined;
      await w.openIpam().releaseAffinity("10.0.0.0/26", "host-b", true);
      await w.openIpam().claimAffinity("10.0.0.0/26", owner);
    };
    expect(count((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4)).toBe(0);
    expect((await w.block("10.0.0.0/26")).spec.affinity).toBe("host:host-b");
  });

  test("T25: where the take-over fails there is no address and no error; a cancelled call ends with its reason", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    await w.ipam.claimAffinity("10.0.0.0/26", { affinityType: "host", host: "host-a" });
    w.pass(61);
    w.meddler = failing("delete", "IPAMBlock", "Unavailable");
    expect(count((await w.ipam.autoAssign({ ...ask, hostname: "host-b", num4: 1 })).v4)).toBe(0);
    const controller = new AbortController();
    const reason = new Error("stopping");
    w.meddler = ({ operation, kind }) => {
      if (operation === "delete" && kind === "IPAMBlock") controller.abort(reason);
    };
    const cancelled = w.ipam.autoAssign({ ...ask, hostname: "host-b", num4: 1 }, { signal: controller.signal });
    expect(await errorOf(cancelled)).toBe(reason);
  });

  test("strict: a block that its host loses during the call gives nothing any more", async () => {
    await using w = await world({ pools: [["10.0.0.0/25", 26]], blockOrder: () => 0n });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    await w.ipam.autoAssign({ ...ask, handleID: "first", num4: 1 });
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "update" || kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await w.openIpam().releaseAffinity("10.0.0.0/26", "host-a", false);
    };
    const { v4 } = await w.ipam.autoAssign({ ...ask, handleID: "second", num4: 1 });
    expect(v4?.ips).toEqual(["10.0.0.64/26"]);
  });

  test("T27: a block that can never be written ends in MaxRetries, and no handle stays", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    w.meddler = failing("update", "IPAMBlock", "Conflict");
    const error = await errorOf(w.ipam.autoAssign({ ...ask, handleID: "h", num4: 1 }));
    expect([error.code, count(onlyFour(error) ?? null)]).toEqual(["MaxRetries", 0]);
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test("T28: host names of 252 characters are kept apart", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/24", 26],
        ["fd00::/116", 122],
      ],
    });
    const host = "long--hostna".repeat(21);
    const other = `${host.slice(0, -1)}b`;
    for (const hostname of [host, other]) {
      const { v4, v6 } = await w.ipam.autoAssign({ ...ask, hostname, num4: 1, num6: 1 });
      expect([count(v4), count(v6)]).toEqual([1, 1]);
    }
    expect(await w.all("BlockAffinity")).toHaveLength(4);
    const byHost = ["4", "6"].map((version) => ({
      "projectcalico.org/hostname-hash": hostnameHash(host),
      "projectcalico.org/ip-version": version,
    }));
    for (const labels of byHost) {
      const { items } = await w.store.list("BlockAffinity", { labels });
      expect(items.map(({ spec }) => spec.node)).toEqual([host]);
    }
    await w.ipam.releaseHostAffinities({ affinityType: "host", host }, false);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.node)).toEqual([other, other]);
  });

  test("T29: a handle at its limit is given what it has, with the block's prefix", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/26", 26],
        ["fd00::/120", 122],
      ],
    });
    const call = () => w.ipam.autoAssign({ ...ask, handleID: "vm", num4: 1, num6: 1, maxAllocToHandlePerIPVersion: 1 });
    const first = await call();
    expect(await call()).toEqual(first);
    expect(first.v4?.ips[0]).toMatch(/\/26$/);
    expect(await w.ipam.ipsByHandle("vm")).toHaveLength(2);
    const two = () => w.ipam.autoAssign({ ...ask, handleID: "vm2", num4: 1, maxAllocToHandlePerIPVersion: 2 });
    const ips = [await two(), await two(), await two()].map(({ v4 }) => v4!.ips[0]);
    expect([new Set(ips.slice(0, 2)).size, ips.slice(0, 2).includes(ips[2])]).toEqual([2, true]);
    const many = w.ipam.autoAssign({ ...ask, handleID: "vm", num4: 2, maxAllocToHandlePerIPVersion: 1 });
    expect(await errorOf(many)).toMatchObject({ code: "InsufficientIPsByHandle" });
  });

  test("a count that someone left too high is named, and not repaired", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    const block = { "10.0.0.0/26": 1 };
    await w.put("IPAMHandle", "vm", { handleID: "vm", block, deleted: false });
    const limit = { handleID: "vm", maxAllocToHandlePerIPVersion: 1 };
    const calls = [w.ipam.autoAssign({ ...ask, ...limit, num4: 1 }), w.ipam.assignIP({ ip: "10.0.0.1", ...limit })];
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error).toMatchObject({
        code: "InsufficientIPsByHandle",
        message: expect.stringContaining("handle vm has 0"),
      });
    }
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual(block);
  });

  test("rows that a crash left pending are confirmed by the next call, also where it needs no block", async () => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]], blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    w.meddler = failing("create", "IPAMBlock", "Unavailable", 1);
    await errorOf(w.ipam.claimAffinity("10.0.0.128/26", { affinityType: "host", host: "host-a" }));
    expect((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4?.ips).toEqual(["10.0.0.1/26"]);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.state)).toEqual(["confirmed", "confirmed"]);
  });

  test("T30: two lost races leave an exact count", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    w.meddler = failing("update", "IPAMBlock", "Conflict", 2);
    const { v4 } = await w.ipam.autoAssign({ ...ask, handleID: "vm", num4: 1, maxAllocToHandlePerIPVersion: 1 });
    expect(v4?.ips).toHaveLength(1);
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual({ "10.0.0.0/26": 1 });
  });

  test("handles are counted exactly over several blocks", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]], blockOrder: () => 0n });
    await w.ipam.autoAssign({ ...ask, handleID: "h", num4: 6 });
    expect((await w.all("IPAMHandle"))[0]?.spec.block).toEqual({ "10.0.0.0/30": 4, "10.0.0.4/30": 2 });
    await w.ipam.releaseByHandle("h");
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test("T69: own blocks in the order of their names, reserved and full ones passed over, then a new one", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]], blockOrder: () => 2n });
    const hostReservedAttrIPv4s = windowsReserve(2, 1);
    const claim = (cidr: string) => w.ipam.claimAffinity(cidr, { affinityType: "host", host: "host-a" });
    await claim("10.0.0.0/29");
    const take = async () => (await w.ipam.autoAssign({ ...ask, num4: 1, hostReservedAttrIPv4s })).v4?.ips[0];
    expect(await take()).toBe("10.0.0.0/30");
    const reservation = await w.put("IPReservation", "r", { reservedCIDRs: ["10.0.0.0/30"] });
    expect(await take()).toBe("10.0.0.4/30");
    await w.store.delete(reservation);
    for (let i = 0; i < 6; i++) await take();
    expect(await take()).toBe("10.0.0.10/30");
    const limited = w.ipam.autoAssign({ ...ask, num4: 1, maxBlocksPerHost: 1, ipv4Pools: ["10.0.0.0/28"] });
    expect(
      await limited.then(
        ({ v4 }) => count(v4),
        ({ code }) => code,
      ),
    ).toBe("BlockLimit");
  });

  test("in steady state one address is a handle's creation and a block's update", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.autoAssign({ ...ask, handleID: "first", num4: 1 });
    w.calls.splice(0);
    await w.ipam.autoAssign({ ...ask, handleID: "second", num4: 1 });
    const cached = ["IPAMConfiguration", "IPReservation", "IPPool", "BlockAffinity", "IPAMBlock"];
    const calls = w.calls.filter(
      ({ operation, kind }) => !(["get", "list"].includes(operation) && cached.includes(kind)),
    );
    expect(calls.map(({ operation, kind }) => `${operation} ${kind}`)).toEqual([
      "create IPAMHandle",
      "update IPAMBlock",
    ]);
  });

  test("a malformed block is named and stops no other", async () => {
    await using w = await world({ pools: [["10.0.0.0/29", 30]], blockOrder: () => 0n });
    await w.ipam.claimAffinity("10.0.0.0/30", { affinityType: "host", host: "host-a" });
    const block = await w.block("10.0.0.0/30");
    await w.store.update({ ...block, spec: { ...block.spec, unallocated: [9] } });
    expect((await w.ipam.autoAssign({ ...ask, num4: 1 })).v4?.ips).toEqual(["10.0.0.4/30"]);
    expect(w.warnings.join()).toContain('"10-0-0-0-30"');
  });

  test("a write whose answer was lost counts when it took place", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    w.meddler = async (call, store) => {
      if (call.operation !== "update" || call.kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await store.update(call.object as never);
      throw storeError("Unavailable", call);
    };
    expect(count((await w.ipam.autoAssign({ ...ask, handleID: "h", num4: 1 })).v4)).toBe(1);
    expect(await w.ipam.ipsByHandle("h")).toHaveLength(1);
    w.meddler = failing("update", "IPAMBlock", "Unavailable", 1);
    expect(await errorOf(w.ipam.autoAssign({ ...ask, handleID: "i", num4: 1 }))).toMatchObject({ code: "Unavailable" });
    expect((await w.all("IPAMHandle")).map(({ spec }) => spec.handleID)).toEqual(["h"]);
  });
});
