/** Clusters of one family, and of both: what one family lacks costs the other nothing. */
import { describe, expect, test } from "vitest";
import { DatastoreError } from "../../../src/datastore/datastore.ts";
import { partialResult } from "../../../src/ipam/assignments.ts";
import { check } from "../../invariants/check.ts";
import { count, errorOf, type World, world } from "../../support/ipam.ts";

const ask = { intendedUse: "Workload", hostname: "node-a" } as const;
const owner = { affinityType: "host", host: "node-a" } as const;
const addressesOf = (ips: readonly string[] = []) => ips.map((ip) => ip.split("/")[0]!);

async function expectSound(w: World): Promise<void> {
  expect(check(await w.stored(), { mode: "atRest", now: w.now })).toEqual([]);
}

describe("a cluster of IPv6 only", () => {
  const start = () => world({ pools: [["fd00::/120", 122]], blockOrder: () => 0n });

  test("assigns, finds, counts and gives everything back", async () => {
    await using w = await start();
    const { v4, v6 } = await w.ipam.autoAssign({ ...ask, num6: 65, handleID: "h" });
    expect(v4).toBeNull();
    expect(v6).toMatchObject({ ipVersion: 6, numRequested: 65, msgs: [] });
    expect(v6!.ips.every((ip) => ip.endsWith("/122"))).toBe(true);
    await w.ipam.assignIP({ ip: "fd00::ff", hostname: "node-b", handleID: "h" });
    expect((await w.ipam.ipsByHandle("h")).toSorted()).toEqual([...addressesOf(v6!.ips), "fd00::ff"].toSorted());
    const rows = await w.ipam.getUtilization();
    expect(rows.map(({ name, inUse, available }) => [name, inUse, available])).toEqual([
      ["pool0", 66n, 190n],
      ["orphaned allocation blocks", 0n, 0n],
    ]);
    expect(await w.ipam.ensureBlock({ hostname: "node-a" })).toEqual({ v4: null, v6: null });
    await expectSound(w);
    await w.ipam.releaseByHandle("h");
    await w.ipam.removeIPAMHost(owner);
    await w.ipam.removeIPAMHost({ ...owner, host: "node-b" });
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });

  test("IPv4 that is asked for all the same is refused with the reason, and nothing is taken", async () => {
    await using w = await start();
    const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 1, num6: 1, handleID: "h" }));
    expect(error).toMatchObject({ code: "NoQualifiedPool" });
    expect(await errorOf(w.ipam.assignIP({ ip: "10.0.0.1", hostname: "node-a" }))).toMatchObject({ code: "NotInPool" });
    expect(w.writes()).toEqual([]);
  });
});

describe("a dual-stack cluster", () => {
  const start = (v4: string, v6: string) =>
    world({
      pools: [
        [v4, 30],
        [v6, 126],
      ],
      blockOrder: () => 0n,
    });

  test("one call serves both families under one handle", async () => {
    await using w = await start("10.0.0.0/28", "fd00::/124");
    const { v4, v6 } = await w.ipam.autoAssign({ ...ask, num4: 2, num6: 3, handleID: "h" });
    expect([v4, v6]).toMatchObject([
      { ipVersion: 4, ips: ["10.0.0.0/30", "10.0.0.1/30"], msgs: [] },
      { ipVersion: 6, ips: ["fd00::/126", "fd00::1/126", "fd00::2/126"], msgs: [] },
    ]);
    const [handle] = await w.all("IPAMHandle");
    expect(handle!.spec.block).toEqual({ "10.0.0.0/30": 2, "fd00::/126": 3 });
    await w.ipam.releaseIPs(addressesOf(v4!.ips).map((address) => ({ address })));
    expect((await w.all("IPAMHandle"))[0]!.spec.block).toEqual({ "fd00::/126": 3 });
    await expectSound(w);
  });

  test.each([
    ["IPv4", "10.0.0.0/30", "fd00::/124", [4, 6], "10.0.0.0/30"],
    ["IPv6", "10.0.0.0/28", "fd00::/126", [6, 4], "fd00::/126"],
  ] as const)(
    "with %s exhausted: what there is, with the reason, and the other in full",
    async (family, cidr4, cidr6, [num4, num6], full) => {
      await using w = await start(cidr4, cidr6);
      const { v4, v6 } = await w.ipam.autoAssign({ ...ask, num4: num4 + 1, num6: num6 + 1, handleID: "h" });
      const [short, whole] = family === "IPv4" ? [v4, v6] : [v6, v4];
      expect([count(short), short!.numRequested]).toEqual([4, family === "IPv4" ? num4 + 1 : num6 + 1]);
      expect(short!.msgs).toEqual([`No IPs available in pools: [${full}]`]);
      expect([count(whole), whole!.msgs]).toEqual([whole!.numRequested, []]);
      const again = await w.ipam.autoAssign({ ...ask, num4: 1, num6: 1, handleID: "again" });
      expect([count(again.v4), count(again.v6)]).toEqual(family === "IPv4" ? [0, 1] : [1, 0]);
      await expectSound(w);
    },
  );

  test("TRY-12: where no IPv6 pool can be used, nothing is written", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/28", 30],
        ["fd00::/120", 122, { assignmentMode: "Manual" }],
      ],
    });
    w.writes();
    for (let retry = 0; retry < 30; retry++) {
      const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 1, num6: 1, handleID: `h${retry}` }));
      expect(error).toMatchObject({ code: "NoQualifiedPool" });
      expect(partialResult(error)).toBeUndefined();
    }
    expect(w.writes()).toEqual([]);
  });

  describe("allOrNothing", () => {
    const dual = {
      pools: [
        ["10.0.0.0/28", 30],
        ["fd00::/127", 127],
      ],
    } as const;

    test("keeps nothing where one family is short", async () => {
      await using w = await world(dual);
      const request = { ...ask, num4: 2, num6: 3, handleID: "h", allOrNothing: true };
      const error = await errorOf(w.ipam.autoAssign(request));
      expect(error).toMatchObject({
        code: "NotAllAssigned",
        message: expect.stringContaining("2 out of 3 requested IPv6"),
      });
      expect(partialResult(error)).toMatchObject({ v4: { ips: [] }, v6: { ips: [] } });
      expect(await w.all("IPAMHandle")).toEqual([]);
      expect((await w.ipam.autoAssign({ ...request, num6: 2 })).v6?.ips).toHaveLength(2);
      await expectSound(w);
    });

    test("is refused with a limit of the handle: another call could be given what this one releases", async () => {
      await using w = await world(dual);
      const request = { ...ask, num4: 1, handleID: "h", allOrNothing: true, maxAllocToHandlePerIPVersion: 1 };
      w.calls.splice(0);
      expect(await errorOf(w.ipam.autoAssign(request))).toMatchObject({ code: "InvalidArgument" });
      expect(w.calls).toEqual([]);
    });

    test("keeps what the handle had before", async () => {
      await using w = await world(dual);
      await w.ipam.autoAssign({ ...ask, num4: 1, handleID: "h" });
      await errorOf(w.ipam.autoAssign({ ...ask, num4: 1, num6: 3, handleID: "h", allOrNothing: true }));
      expect(await w.ipam.ipsByHandle("h")).toHaveLength(1);
      await expectSound(w);
    });

    test("releases what it took also where the other family ends in an error", async () => {
      await using w = await world(dual);
      w.meddler = ({ operation, kind, name }) => {
        if (operation === "create" && kind === "IPAMBlock" && name.startsWith("fd00")) {
          throw new DatastoreError("Unavailable", kind, name, "no");
        }
      };
      const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 1, num6: 1, handleID: "h", allOrNothing: true }));
      expect(error).toMatchObject({ code: "Unavailable" });
      expect(await w.all("IPAMHandle")).toEqual([]);
    });
  });

  test("where IPv6 fails, the error has what IPv4 was given, and it can be released", async () => {
    await using w = await world({
      pools: [
        ["10.0.0.0/28", 30],
        ["fd00::/127", 127],
      ],
      blockOrder: () => 0n,
    });
    w.meddler = ({ operation, kind, name }) => {
      if (operation === "create" && kind === "IPAMBlock" && name.startsWith("fd00")) {
        throw new DatastoreError("Unavailable", kind, name, "no");
      }
    };
    const error = await errorOf(w.ipam.autoAssign({ ...ask, num4: 2, num6: 1, handleID: "h" }));
    w.meddler = undefined;
    expect(error).toMatchObject({ code: "Unavailable" });
    expect(partialResult(error)).toMatchObject({ v4: { ips: ["10.0.0.0/30", "10.0.0.1/30"] }, v6: { ips: [] } });
    await w.ipam.releaseByHandle("h");
    expect(await w.all("IPAMHandle")).toEqual([]);
    await w.ipam.removeIPAMHost(owner); // the IPv6 claim that was cut off
    await expectSound(w);
  });
});
