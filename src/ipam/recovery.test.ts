/** Calico's table of crash points, row by row: what is left behind, and what the next call makes of it. */
import { describe, expect, test } from "vitest";
import { errorOf, failing, type World, world } from "../../test/support/ipam.ts";

const A = { affinityType: "host", host: "host-a" } as const;
const small = { pools: [["10.0.0.0/24", 26]] } as const;
const rows = async (w: World) =>
  (await w.all("BlockAffinity")).map(({ spec }) => `${spec.node} ${spec.cidr} ${spec.state}`);

describe("crashes", () => {
  test.each([
    ["after the row", "create", "IPAMBlock"],
    ["after the block", "update", "BlockAffinity"],
  ] as const)("a claim that ended %s is finished by the host's next call", async (_, operation, kind) => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    w.meddler = failing(operation, kind, "Unavailable", 1);
    await errorOf(w.ipam.claimAffinity("10.0.0.0/26", A));
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 pending"]);
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-a" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
    expect((await w.block("10.0.0.0/26")).spec.affinity).toBe("host:host-a");
  });

  test.each([
    ["before the block was deleted", "delete", "IPAMBlock"],
    ["before the row was deleted", "delete", "BlockAffinity"],
  ] as const)("a release that ended %s is undone or finished by the next call", async (_, operation, kind) => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    w.meddler = failing(operation, kind, "Unavailable", 1);
    await errorOf(w.ipam.releaseAffinity("10.0.0.0/26", "host-a", true));
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 pendingDeletion"]);
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-a" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
  });

  test("a row whose block lost its owner goes with the host's next call", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a" });
    w.meddler = failing("delete", "BlockAffinity", "Unavailable", 1);
    await errorOf(w.ipam.releaseAffinity("10.0.0.0/26", "host-a", false));
    expect((await w.block("10.0.0.0/26")).spec).not.toHaveProperty("affinity");
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-a" });
    expect(await rows(w)).toEqual([]);
  });

  test("T61: a row without a block is removed by releaseHostAffinities", async () => {
    await using w = await world(small);
    for (const state of ["pending", "confirmed", "pendingDeletion"] as const) {
      await w.store.create({
        apiVersion: "projectcalico.org/v3",
        kind: "BlockAffinity",
        metadata: { name: "host-a-10-0-0-0-26" },
        spec: { state, node: "host-a", type: "host", cidr: "10.0.0.0/26", deleted: false },
      });
      await w.ipam.releaseHostAffinities(A, true);
      expect(await rows(w)).toEqual([]);
    }
  });

  test("a row that is removed while its block is made is made again", async () => {
    await using w = await world(small);
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "create" || kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await w.ipam.releaseHostAffinities(A, true);
    };
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
  });

  test("an empty block whose owner has no row is taken over", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    await w.store.delete((await w.all("BlockAffinity"))[0]!);
    w.pass(61);
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-b" });
    expect(await rows(w)).toEqual(["host-b 10.0.0.0/26 confirmed"]);
  });
});
