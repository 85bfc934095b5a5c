import { describe, expect, test } from "vitest";
import { errorOf, failing, type Meddler, storeError, type World, world } from "../../test/support/ipam.ts";
import { affinityLabels, hostnameHash } from "../api/names.ts";
import type { BlockAffinity, BlockAffinitySpec } from "../api/v3.ts";
import { type Datastore, DatastoreError } from "../datastore/datastore.ts";
import { parseCidr } from "../net/cidr.ts";
import { partialResult } from "./assignments.ts";
import type { Context } from "./context.ts";
import { giveUpBlock } from "./give-up.ts";

const hostOf = (host: string) => ({ affinityType: "host", host }) as const;
const A = hostOf("host-a");
const B = hostOf("host-b");
const small = { pools: [["10.0.0.0/24", 26]] } as const;
const tiny = { pools: [["10.0.0.0/28", 30]] } as const;
const rows = async (w: World) =>
  (await w.all("BlockAffinity")).map(({ spec }) => `${spec.node} ${spec.cidr} ${spec.state}`);
const putRow = (w: World, name: string, spec: Partial<BlockAffinitySpec>, labels?: Record<string, string>) =>
  w.put(
    "BlockAffinity",
    name,
    { state: "confirmed", node: "host-a", deleted: false, ...spec },
    labels && { metadata: { name, labels } },
  );

describe("claimAffinity", () => {
  test("T53: a block, part of a block, a range with another's block, four claims at once", async () => {
    await using w = await world({
      pools: [
        ["192.168.1.0/24", 26],
        ["10.0.0.0/24", 26],
        ["10.4.0.0/22", 26],
      ],
    });
    expect(await w.ipam.claimAffinity("192.168.1.0/26", A)).toEqual({ claimed: ["192.168.1.0/26"], failed: [] });
    expect(await errorOf(w.ipam.claimAffinity("192.168.1.0/27", A))).toMatchObject({
      code: "InvalidSize",
      message: "The requested CIDR (192.168.1.0/27) is smaller than the minimum.",
    });
    expect(await errorOf(w.ipam.claimAffinity("11.0.0.0/26", A))).toMatchObject({
      code: "NotInPool",
      message: "The requested CIDR (11.0.0.0/26) is not within any configured pools.",
    });
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a" });
    const { claimed, failed } = await w.ipam.claimAffinity("10.0.0.0/24", B);
    expect([claimed.length, failed]).toEqual([3, ["10.0.0.0/26"]]);
    const four = await Promise.all([1, 2, 3, 4].map(() => w.ipam.claimAffinity("10.4.0.0/22", A)));
    expect(four.map((result) => [result.claimed.length, result.failed.length])).toEqual(Array(4).fill([16, 0]));
  });

  test("T53: all of one host's, none of another's; rows carry labels and no failed claim leaves one", async () => {
    await using w = await world(small);
    expect((await w.ipam.claimAffinity("10.0.0.0/24", A)).claimed).toHaveLength(4);
    expect(await w.ipam.claimAffinity("10.0.0.0/24", B)).toMatchObject({ claimed: [], failed: { length: 4 } });
    const stored = await w.all("BlockAffinity");
    expect(stored.map(({ spec }) => [spec.node, spec.state])).toEqual(Array(4).fill(["host-a", "confirmed"]));
    for (const { metadata, spec } of stored) expect(metadata.labels).toEqual(affinityLabels(spec));
  });

  test("the writes of a claim: pending, block, confirmed", async () => {
    await using w = await world(small);
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    expect(w.writes()).toEqual(["create BlockAffinity", "create IPAMBlock", "update BlockAffinity"]);
  });

  test("an error in between leaves with what was claimed", async () => {
    await using w = await world(small);
    let blocks = 0;
    w.meddler = ({ operation, kind, name }) => {
      if (operation === "create" && kind === "IPAMBlock" && ++blocks === 3)
        throw new DatastoreError("Unavailable", kind, name, "no");
    };
    const error = await errorOf(w.ipam.claimAffinity("10.0.0.0/24", A));
    expect(error.code).toBe("Unavailable");
    expect(partialResult(error)).toEqual({ claimed: ["10.0.0.0/26", "10.0.0.64/26"], failed: [] });
    expect(await rows(w)).toContain("host-a 10.0.0.128/26 pending");
  });

  test("of two errors in between the first is thrown", async () => {
    await using w = await world(small);
    let blocks = 0;
    w.meddler = (call) => {
      if (call.operation === "create" && call.kind === "IPAMBlock" && ++blocks === 3)
        throw storeError("Unauthorized", call);
      if (call.operation === "update" && call.kind === "BlockAffinity") throw storeError("Unavailable", call);
    };
    const error = await errorOf(w.ipam.claimAffinity("10.0.0.0/24", A));
    expect(error.code).toBe("Unauthorized");
    expect(partialResult(error)).toEqual({ claimed: [], failed: [] });
  });

  test("TRY-29: an affinity that somebody else has deleted or changed is not reported as left behind", async () => {
    await using w = await world(small);
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    const onDelete = (act: (row: BlockAffinity, store: Datastore) => unknown): Meddler => {
      return ({ operation, kind, object }, store) =>
        operation === "delete" && kind === "BlockAffinity" ? act(object as BlockAffinity, store) : undefined;
    };
    const claim = async (meddler: Meddler) => {
      w.meddler = meddler;
      expect(await w.ipam.claimAffinity("10.0.0.0/26", B)).toEqual({ claimed: [], failed: ["10.0.0.0/26"] });
      return w.warnings.splice(0);
    };
    expect(await claim(onDelete((row, store) => store.delete(row)))).toEqual([]);
    const changed = (row: BlockAffinity) => ({ ...row, metadata: { ...row.metadata, annotations: { seen: "yes" } } });
    expect(await claim(onDelete((row, store) => store.update(changed(row))))).toEqual([]);
    const warnings = await claim(failing("delete", "BlockAffinity", "Unavailable"));
    expect(warnings).toEqual([expect.stringContaining("is left behind")]);
  });
});

describe("giving up", () => {
  test("T54: a block in use is refused and stays; empty, block and row go", async () => {
    await using w = await world(small);
    const refusals = [
      () => w.ipam.releaseAffinity("10.0.0.0/26", "host-a", true),
      async () => w.ipam.releaseBlockAffinity(await w.block("10.0.0.0/26"), true),
    ];
    for (const release of refusals) {
      await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
      expect(await errorOf(release())).toMatchObject({ code: "BlockNotEmpty", class: "stop-and-re-evaluate" });
      expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
      await w.ipam.releaseByHandle("h");
      await release();
      expect([await rows(w), await w.all("IPAMBlock")]).toEqual([[], []]);
    }
  });

  test("a block without an owner, another's, and one that is gone need no giving up", async () => {
    await using w = await world(small);
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a" });
    await w.ipam.releaseAffinity("10.0.0.0/24", "host-b", false);
    const owned = await w.block("10.0.0.0/26");
    await w.ipam.releaseBlockAffinity(owned, false);
    await w.ipam.releaseBlockAffinity(await w.block("10.0.0.0/26"), true);
    await w.ipam.releaseBlockAffinity(owned, true);
    expect((await w.block("10.0.0.0/26")).spec).not.toHaveProperty("affinityClaimTime");
  });

  test("T55: every block is tried; without its pool, addresses in use keep their blocks, unowned", async () => {
    await using w = await world(tiny);
    await w.ipam.claimAffinity("10.0.0.0/29", A);
    await w.ipam.assignIP({ ip: "10.0.0.9", hostname: "host-a", handleID: "h" });
    expect(await errorOf(w.ipam.releaseHostAffinities(A, true))).toMatchObject({ code: "BlockNotEmpty" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.8/30 confirmed"]);
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.cidr)).toEqual(["10.0.0.8/30"]);
    await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
    await w.ipam.assignIP({ ip: "10.0.0.5", hostname: "host-a", handleID: "h" });
    await w.store.delete((await w.all("IPPool"))[0]!);
    await w.ipam.releaseHostAffinities(A, false);
    expect([await rows(w), (await w.all("IPAMBlock")).map(({ spec }) => spec.affinity)]).toEqual([
      [],
      [undefined, undefined, undefined],
    ]);
    await w.ipam.releaseByHandle("h");
    expect(await w.all("IPAMBlock")).toEqual([]);
  });

  test("T56: releasePoolAffinities takes rows of every type, also one stored without", async () => {
    await using w = await world(small);
    await w.ipam.claimAffinity("10.0.0.0/26", { affinityType: "virtual", host: "load-balancer" });
    await w.ipam.assignIP({ ip: "10.0.0.65", hostname: "host-a", handleID: "h" });
    await w.ipam.releaseAffinity("10.0.0.64/26", "host-a", false);
    const block = await w.block("10.0.0.64/26");
    await w.store.update({
      ...block,
      spec: { ...block.spec, allocations: Array(64).fill(null), unallocated: [...Array(64).keys()], attributes: [] },
    });
    await putRow(w, "host-a-10-0-0-64-26", { type: "", cidr: "10.0.0.64/26" });
    await w.ipam.releasePoolAffinities("10.0.0.0/24");
    expect([await rows(w), await w.all("IPAMBlock")]).toEqual([[], []]);
  });

  test("T57: an address taken between the mark and the deletion keeps the block", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "delete" || kind !== "IPAMBlock") return;
      w.meddler = undefined;
      await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-b", handleID: "h" });
    };
    expect(await errorOf(w.ipam.releaseAffinity("10.0.0.0/26", "host-a", true))).toMatchObject({
      code: "BlockNotEmpty",
    });
    expect(await w.ipam.ipsByHandle("h")).toEqual(["10.0.0.1"]);
    await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload", hostname: "host-a" });
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
  });

  test("T57: a claim while the same row is being released ends with one owner that its row confirms", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    w.meddler = async ({ operation, kind }) => {
      if (operation !== "delete" || kind !== "BlockAffinity") return;
      w.meddler = undefined;
      await w.ipam.claimAffinity("10.0.0.0/26", A);
    };
    await w.ipam.releaseAffinity("10.0.0.0/26", "host-a", true);
    const blocks = (await w.all("IPAMBlock")).map(({ spec }) => `${spec.affinity?.slice(5)} ${spec.cidr} confirmed`);
    expect(await rows(w)).toEqual(blocks);
  });

  test("T59: what was read before a deletion deletes nothing that was made since", async () => {
    await using w = await world(small);
    const make = () => w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
    const listed = async () => [
      ...(await w.all("IPAMBlock")),
      ...(await w.all("BlockAffinity")),
      ...(await w.all("IPAMHandle")),
    ];
    await make();
    const old = await listed();
    await w.ipam.releaseByHandle("h");
    await w.ipam.releaseAffinity("10.0.0.0/26", "host-a", true);
    expect(await listed()).toEqual([]);
    await make();
    for (const row of old) expect(await errorOf(w.store.delete(row))).toMatchObject({ code: "NotFound" });
    expect(await listed()).toHaveLength(3);
    for (const row of await listed()) await w.store.delete(row);
    expect(await listed()).toEqual([]);
  });

  test("T57: a row marked for deletion before its claimer confirms it is not confirmed by mistake", async () => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    let marks = 0;
    w.meddler = async ({ operation, kind }, store) => {
      if (operation !== "update" || kind !== "BlockAffinity" || marks++ > 0) return;
      const row = await store.get("BlockAffinity", "host-a-10-0-0-0-26");
      await store.update({ ...row, spec: { ...row.spec, state: "pendingDeletion" } });
    };
    expect(await w.ipam.claimAffinity("10.0.0.0/26", A)).toEqual({ claimed: ["10.0.0.0/26"], failed: [] });
    expect(w.writes().filter((write) => write.endsWith("BlockAffinity"))).toEqual([
      "create BlockAffinity",
      "update BlockAffinity",
      "create BlockAffinity",
      "update BlockAffinity",
      "update BlockAffinity",
    ]);
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
  });

  test("T58: host and virtual owners of one name do not interfere", async () => {
    await using w = await world(small);
    const virtual = { affinityType: "virtual", host: "host-a" } as const;
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    await w.ipam.claimAffinity("10.0.0.64/26", virtual);
    expect(await w.ipam.claimAffinity("10.0.0.0/26", virtual)).toMatchObject({ failed: ["10.0.0.0/26"] });
    await w.ipam.releaseHostAffinities(virtual, true);
    expect(await rows(w)).toEqual(["host-a 10.0.0.0/26 confirmed"]);
    w.writes();
    await w.ipam.releaseHostAffinities(virtual, true); // to a caller, what is gone is nothing to give up
    expect(w.writes()).toEqual([]);
    const context = { datastore: w.store, clock: () => w.now } as Context;
    const again = giveUpBlock(
      context,
      virtual,
      parseCidr("10.0.0.64/26")!,
      { requireEmpty: true, cooldownSeconds: 0 },
      {},
    );
    expect(await errorOf(again)).toMatchObject({ code: "NotFound" });
  });

  test("lost races end in an error that says so, never in silence", async () => {
    await using w = await world(small);
    await w.ipam.claimAffinity("10.0.0.0/26", A);
    const block = await w.block("10.0.0.0/26");
    w.meddler = failing("update", "BlockAffinity", "Conflict");
    const calls = [
      w.ipam.releaseAffinity("10.0.0.0/26", "host-a", true),
      w.ipam.releaseHostAffinities(A, true),
      w.ipam.releaseBlockAffinity(block, true),
      w.ipam.releasePoolAffinities("10.0.0.0/24"),
      w.ipam.claimAffinity("10.0.0.64/26", A),
    ];
    for (const error of await Promise.all(calls.map(errorOf))) expect(error).toMatchObject({ code: "MaxRetries" });
  });
});

describe("upgradeHost", () => {
  test("T60: the host's rows get labels and type, others stay as they are", async () => {
    await using w = await world(small);
    const bare = async (name: string, node: string, cidr: string, type?: string) => {
      await putRow(w, name, { node, cidr, ...(type !== undefined && { type }) });
      const row = (await w.all("BlockAffinity")).find(({ metadata }) => metadata.name === name)!;
      return { ...row, metadata: { ...row.metadata, labels: {} } };
    };
    const old = [
      await bare("host-a-10-0-0-0-26", "host-a", "10.0.0.0/26"),
      await bare("host-a-10-0-0-64-26", "host-a", "10.0.0.64/26", ""),
      await bare("host-b-10-0-0-128-26", "host-b", "10.0.0.128/26"),
    ];
    const revisionOfB = old[2]!.metadata.resourceVersion;
    const library = w.openIpam({
      datastore: {
        ...w.store,
        list: async () => ({ items: old, malformed: [], revision: "1" }),
        update: w.store.update.bind(w.store),
      } as never,
    });
    await library.upgradeHost("host-a");
    const [first, second, others] = await w.all("BlockAffinity");
    for (const upgraded of [first!, second!]) {
      expect(upgraded.spec).toMatchObject({ node: "host-a", type: "host" });
      expect(upgraded.metadata.labels).toEqual({
        "projectcalico.org/affinity-type": "host",
        "projectcalico.org/ip-version": "4",
        "projectcalico.org/hostname-hash": hostnameHash("host-a"),
      });
    }
    expect(others).toMatchObject({ spec: { node: "host-b" }, metadata: { resourceVersion: revisionOfB } });
  });

  test("tries again until it succeeds; cancelled, it ends with the last error", async () => {
    await using w = await world(small);
    await putRow(w, "host-a-10-0-0-0-26", { cidr: "10.0.0.0/26" });
    w.meddler = failing("update", "BlockAffinity", "Unavailable", 1);
    await w.ipam.upgradeHost("host-a");
    expect((await w.all("BlockAffinity"))[0]?.spec.type).toBe("host");
    w.meddler = failing("list", "BlockAffinity", "Unavailable");
    const cancelled = w.ipam.upgradeHost("host-a", { signal: AbortSignal.timeout(20) });
    expect(await errorOf(cancelled)).toMatchObject({ code: "Unavailable" });
  });
});
