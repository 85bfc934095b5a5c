/** Calls beside each other on one library, and on two over one store: none gets what another has, and nothing is left over. */
import { describe, expect, test } from "vitest";
import type { Ipam } from "../../src/ipam/client.ts";
import { check } from "../invariants/check.ts";
import { type World, world } from "../support/ipam.ts";

const pools = [
  ["10.0.0.0/26", 29],
  ["fd00::/122", 125],
] as const;
const HANDLES = Array.from({ length: 24 }, (_, index) => `h${index}`);
const HOSTS = ["host-a", "host-b", "host-c"];

const assign = (ipam: Ipam, handleID: string, index: number) =>
  ipam.autoAssign({ num4: 1, num6: 1, handleID, hostname: HOSTS[index % 3], intendedUse: "Workload" });
const atRest = async (w: World) => check(await w.stored(), { mode: "atRest", now: w.now });

describe.each([
  ["one library", (w: World) => () => w.ipam],
  ["a library each", (w: World) => () => w.openIpam()],
])("calls at once on %s", { timeout: 120_000 }, (_, libraryOf) => {
  test("get an address each, and give it back", async () => {
    await using w = await world({ pools });
    const library = libraryOf(w);
    const results = await Promise.all(HANDLES.map((handle, index) => assign(library(), handle, index)));
    const ips = results.flatMap(({ v4, v6 }) => [...v4!.ips, ...v6!.ips]);
    expect([ips.length, new Set(ips).size]).toEqual([48, 48]);
    expect(await atRest(w)).toEqual([]);
    await Promise.all(HANDLES.map((handle) => library().releaseByHandle(handle)));
    expect([await atRest(w), await w.all("IPAMHandle")]).toEqual([[], []]);
    await Promise.all(HOSTS.map((host) => library().removeIPAMHost({ affinityType: "host", host })));
    expect([await w.all("IPAMBlock"), await w.all("BlockAffinity")]).toEqual([[], []]);
  });

  test("for one address, and one handle: one of them has it", async () => {
    await using w = await world({ pools });
    const library = libraryOf(w);
    const tries = HANDLES.map((handleID) => library().assignIP({ ip: "10.0.0.9", handleID, hostname: "host-a" }));
    const won = (await Promise.allSettled(tries)).flatMap(({ status }, index) =>
      status === "fulfilled" ? [HANDLES[index]!] : [],
    );
    expect(won).toHaveLength(1);
    expect(await library().ipsByHandle(won[0]!)).toEqual(["10.0.0.9"]);
    const twice = HANDLES.map(() =>
      library().autoAssign({
        num4: 1,
        handleID: "vm",
        maxAllocToHandlePerIPVersion: 1,
        hostname: "host-a",
        intendedUse: "Workload",
      }),
    );
    const given = new Set((await Promise.all(twice)).flatMap(({ v4 }) => v4!.ips));
    expect(given.size).toBe(1);
    expect(await atRest(w)).toEqual([]);
  });

  test("that release one address release it once", async () => {
    await using w = await world({ pools });
    const library = libraryOf(w);
    await library().assignIP({ ip: "10.0.0.9", handleID: "h", hostname: "host-a" });
    const results = await Promise.all(HANDLES.map(() => library().releaseIPs([{ address: "10.0.0.9", handle: "h" }])));
    expect(results.filter(({ unallocated }) => unallocated.length === 0)).toHaveLength(1);
    expect((await w.block("10.0.0.8/29")).spec.unallocated).toEqual([0, 2, 3, 4, 5, 6, 7, 1]);
    expect(await atRest(w)).toEqual([]);
  });
});
