/** What a Windows host keeps back of its blocks, where that leaves nothing: an error or a message, and no claim in vain. */
import { describe, expect, test } from "vitest";
import { check } from "../../invariants/check.ts";
import { count, errorOf, type World, windowsReserve, world } from "../../support/ipam.ts";
import { reservation } from "../../support/ipam-data.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "win-a" } as const;
const start = () => world({ pools: [["10.0.0.0/28", 30]], blockOrder: () => 0n, windowsHost: true, hostname: "win-a" });
async function strict(): Promise<World> {
  const w = await start();
  await w.ipam.setIPAMConfig({ strictAffinity: true });
  w.writes();
  return w;
}

describe.each([
  ["exactly", windowsReserve(3, 1)],
  ["more than", windowsReserve(3, 3)],
])("a reserve that fills %s a block", (_, reserve) => {
  test("autoAssign and ensureBlock say that no pool's blocks are large enough, and claim nothing", async () => {
    await using w = await strict();
    for (const call of [
      w.ipam.autoAssign({ ...ask, hostReservedAttrIPv4s: reserve }),
      w.ipam.ensureBlock({ hostname: "win-a", hostReservedAttrIPv4s: reserve }),
    ]) {
      const error = await errorOf(call);
      expect(error).toMatchObject({ code: "NoQualifiedPool" });
      expect((error as unknown as { details: string[] }).details.join()).toMatch(/pool0.*(block|reserve)/);
    }
    expect(w.writes()).toEqual([]);
  });

  test("assignIP says that the address is kept back, and claims nothing", async () => {
    await using w = await strict();
    for (const ip of ["10.0.0.4", "10.0.0.6", "10.0.0.7"]) {
      const error = await errorOf(w.ipam.assignIP({ ip, handleID: "h", hostReservedAttr: reserve }));
      expect(error).toMatchObject({
        code: "AlreadyExists",
        message: expect.stringContaining(ip),
        holder: { handleID: reserve.handle },
      });
    }
    expect(w.writes()).toEqual([]);
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });
});

test("assignIP of an address at a block's ends claims nothing; of one between, it claims and keeps the ends back", async () => {
  await using w = await strict();
  const hostReservedAttr = windowsReserve(1, 1);
  for (const ip of ["10.0.0.0", "10.0.0.3"]) {
    expect(await errorOf(w.ipam.assignIP({ ip, hostReservedAttr }))).toMatchObject({ code: "AlreadyExists" });
  }
  expect(w.writes()).toEqual([]);
  await w.ipam.assignIP({ ip: "10.0.0.1", handleID: "h", hostReservedAttr });
  expect((await w.block("10.0.0.0/30")).spec.unallocated).toEqual([2]);
  expect(check(await w.stored(), { mode: "atRest", now: w.now })).toEqual([]);
  await w.ipam.releaseByHandle("h");
  await w.ipam.removeIPAMHost({ affinityType: "host", host: "win-a" });
  expect(await w.all("IPAMBlock")).toEqual([]);
});

test("a reserve and reservations that fill every block together: a message, and no block", async () => {
  await using w = await strict();
  const middles = [0, 4, 8, 12].map((start) => `10.0.0.${start + 2}`);
  await w.store.create(reservation("middle", ...middles));
  const { v4 } = await w.ipam.autoAssign({ ...ask, hostReservedAttrIPv4s: windowsReserve(2, 1) });
  expect([count(v4), v4!.msgs]).toEqual([0, ["No more free affine blocks and strict affinity enabled"]]);
  expect(w.writes()).toEqual([]);
});

test("another host's empty block that would be filled is not taken over", async () => {
  await using w = await strict();
  await w.store.create(reservation("middle", ...[0, 4, 8, 12].map((start) => `10.0.0.${start + 2}`)));
  await w.ipam.claimAffinity("10.0.0.0/28", { affinityType: "host", host: "linux-a" });
  w.pass(61);
  w.writes();
  const { v4 } = await w.ipam.autoAssign({ ...ask, hostReservedAttrIPv4s: windowsReserve(2, 1) });
  expect(count(v4)).toBe(0);
  expect(w.writes()).toEqual([]);
});
