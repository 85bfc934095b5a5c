/** What callers give to releases in practice, and what clusters have stored. */
import { describe, expect, test } from "vitest";
import { errorOf, type World, world } from "../../test/support/ipam.ts";
import { usedBlock } from "../../test/support/ipam-data.ts";
import { cachedDatastore } from "../datastore/cached.ts";
import { createIpam } from "./client.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "host-a" } as const;

describe("TRY-13", () => {
  test("an empty handle means that none is given", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]] });
    await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h", hostname: "host-a" });
    expect((await w.ipam.releaseIPs([{ address: "10.0.0.1", handle: "" }])).processed).toHaveLength(1);
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test("an IPv4-mapped address is the IPv4 address, and stops no batch", async () => {
    await using w = await world({ pools: [["10.0.0.0/28", 30]] });
    for (const ip of ["10.0.0.1", "10.0.0.2"]) await w.ipam.assignIP({ ip, handleID: "h", hostname: "host-a" });
    const result = await w.ipam.releaseIPs([{ address: "::ffff:10.0.0.1" }, { address: "10.0.0.2" }]);
    expect(result.unallocated).toEqual([]);
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test.each([-3, 0, 33, 129, 1.5, 4096])(
    "a pool with blockSize %d throws no RangeError, whatever is asked",
    async (blockSize) => {
      await using w = await world({ pools: [["10.0.0.0/28", 30]] });
      const [sound] = await w.all("IPPool");
      const datastore = {
        ...w.watched,
        list: async (kind: string, options: object) => {
          const listed = await w.watched.list(kind as "IPPool", options);
          if (kind !== "IPPool") return listed;
          const odd = { ...sound!, metadata: { name: "odd" }, spec: { cidr: "10.1.0.0/16", blockSize } };
          const none = { ...sound!, metadata: { name: "none" }, spec: { cidr: "garbage" } };
          return { ...listed, items: [...listed.items, none, odd] };
        },
      };
      const warnings: string[] = [];
      const ipam = createIpam({
        datastore: datastore as never,
        hostname: "host-a",
        warn: (text) => warnings.push(text),
      });
      expect(await ipam.releaseIPs([{ address: "10.1.0.1" }])).toMatchObject({ unallocated: ["10.1.0.1"] });
      expect((await ipam.autoAssign(ask)).v4?.ips).toHaveLength(1);
      expect(await ipam.getUtilization()).toHaveLength(3);
      expect(warnings.filter((text) => text.includes('"none"'))).toEqual([
        'IPPool "none" is skipped: spec.cidr "garbage" is not a CIDR',
      ]);
    },
  );
});

describe("a handle whose object counts less than is allocated", () => {
  test.each(["counts one of two", "is gone"])(
    "releases what cached blocks attribute to it: the object %s",
    async (what) => {
      await using w = await world({ pools: [["10.0.0.0/28", 30]] });
      for (const ip of ["10.0.0.1", "10.0.0.6"]) await w.ipam.assignIP({ ip, handleID: "h", hostname: "host-a" });
      const [handle] = await w.all("IPAMHandle");
      if (what === "is gone") await w.store.delete(handle!);
      else await w.store.update({ ...handle!, spec: { ...handle!.spec, block: { "10.0.0.0/30": 1 } } });
      const end = new AbortController();
      const cached = cachedDatastore(w.watched, { signal: end.signal });
      await cached.synced();
      await createIpam({ datastore: cached, hostname: "host-a", warn: () => {} }).releaseByHandle("h");
      end.abort();
      const held = (await w.all("IPAMBlock")).flatMap(({ spec }) => spec.attributes);
      expect(held).toEqual([]);
      expect(await w.all("IPAMHandle")).toEqual([]);
    },
  );
});

describe("an address that the pool's block does not hold, and an overlapping block does", () => {
  /** The old, wide block holds .1 for h and .2 for h2; the pool's own block holds .2 for another. */
  const overlapped = async () => {
    const w = await world({ pools: [["10.0.0.0/28", 30]] });
    const of = (handle_id: string) => ({ handle_id, secondary: { node: "n" } });
    await w.store.create(usedBlock("10.0.0.0/29", "old", { 1: of("h"), 2: of("h2") }));
    await w.store.create(usedBlock("10.0.0.0/30", "new", { 2: of("other") }));
    for (const [name, cidr] of [
      ["h", "10.0.0.0/29"],
      ["h2", "10.0.0.0/29"],
      ["other", "10.0.0.0/30"],
    ] as const) {
      await w.put("IPAMHandle", name, { handleID: name, block: { [cidr]: 1 }, deleted: false });
    }
    return w;
  };
  const held = async (w: World) =>
    (await w.all("IPAMBlock")).flatMap(({ spec }) => spec.attributes.map(({ handle_id }) => handle_id)).sort();

  test.each([undefined, "h"])("is released there, whether or not the handle is given (%s)", async (handle) => {
    await using w = await overlapped();
    const result = await w.ipam.releaseIPs([{ address: "10.0.0.1", ...(handle && { handle }) }]);
    expect(result.unallocated).toEqual([]);
    expect(await held(w)).toEqual(["h2", "other"]);
    expect((await w.all("IPAMHandle")).map(({ metadata }) => metadata.name)).toEqual(["h2", "other"]);
  });

  test("of two that hold it, the handle says which", async () => {
    await using w = await overlapped();
    await w.ipam.releaseIPs([{ address: "10.0.0.2", handle: "h2" }]);
    expect(await held(w)).toEqual(["h", "other"]);
  });

  test("another handle than either's is refused, and nothing is released", async () => {
    await using w = await overlapped();
    expect(await errorOf(w.ipam.releaseIPs([{ address: "10.0.0.2", handle: "h" }]))).toMatchObject({
      code: "BadHandle",
    });
    expect(await held(w)).toEqual(["h", "h2", "other"]);
  });

  test("one that no block holds is unallocated", async () => {
    await using w = await overlapped();
    expect(await w.ipam.releaseIPs([{ address: "10.0.0.3" }])).toMatchObject({ unallocated: ["10.0.0.3"] });
  });
});
