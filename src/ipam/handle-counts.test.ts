/** What a handle counts after writes that failed, or of which nobody knows: exactly what it has, and never less. */
import { describe, expect, test } from "vitest";
import { errorOf, failing, storeError, type World, world } from "../../test/support/ipam.ts";

const ask = { intendedUse: "Workload", hostname: "host-a", handleID: "h" } as const;
const pools = [["10.0.0.0/26", 26]] as const;
const counts = async (w: World) => (await w.all("IPAMHandle")).map(({ spec }) => spec.block);

describe("a block that could not be written", () => {
  test.each(["Conflict", "Unavailable"] as const)("gives back all that was counted (%s)", async (code) => {
    await using w = await world({ pools });
    await w.ipam.autoAssign({ ...ask, num4: 2 });
    w.meddler = failing("update", "IPAMBlock", code, 1);
    const ended = await w.ipam.autoAssign({ ...ask, num4: 3 }).catch((error: unknown) => error);
    expect(ended instanceof Error).toBe(code === "Unavailable");
    expect(await counts(w)).toEqual([{ "10.0.0.0/26": code === "Conflict" ? 5 : 2 }]);
    expect(await w.ipam.ipsByHandle("h")).toHaveLength(code === "Conflict" ? 5 : 2);
  });

  test("keeps the count where nobody can say whether it was written", async () => {
    await using w = await world({ pools });
    await w.ipam.autoAssign({ ...ask, num4: 1 });
    w.meddler = async (call, store) => {
      if (call.operation !== "update" || call.kind !== "IPAMBlock") return;
      await store.update(call.object as never);
      w.meddler = failing("get", "IPAMBlock", "Unavailable");
      throw storeError("Unavailable", call);
    };
    expect(await errorOf(w.ipam.autoAssign({ ...ask, num4: 2 }))).toMatchObject({ code: "Unavailable" });
    w.meddler = undefined;
    expect(await counts(w)).toEqual([{ "10.0.0.0/26": 3 }]);
    expect(await w.ipam.ipsByHandle("h")).toHaveLength(3);
    await w.ipam.releaseByHandle("h");
    expect(await counts(w)).toEqual([]);
  });

  test.each([
    ["the same number, under another handle", { handleID: "other" }],
    ["another number, under the same handle", { handleID: "h" }],
  ])("is not taken for written because someone else's write has %s", async (what, other) => {
    await using w = await world({ pools });
    await w.ipam.claimAffinity("10.0.0.0/26", { affinityType: "host", host: "host-a" });
    w.meddler = async (call) => {
      if (call.operation !== "update" || call.kind !== "IPAMBlock") return;
      w.meddler = undefined;
      const others = w.openIpam();
      if (what.startsWith("another")) await others.assignIP({ ip: "10.0.0.9", hostname: "host-a" });
      await others.assignIP({ ip: "10.0.0.0", hostname: "host-a", ...other });
      throw storeError("Unavailable", call);
    };
    expect(await errorOf(w.ipam.autoAssign({ ...ask, num4: 1 }))).toMatchObject({ code: "Unavailable" });
    expect(await counts(w)).toEqual([{ "10.0.0.0/26": 1 }]);
    expect(await w.ipam.ipsByHandle(other.handleID)).toEqual(["10.0.0.0"]);
  });
});
