/** Older and malformed objects as an API server of each generation lets them in: raw, past the codec. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { affinityLabels } from "../../../src/api/names.ts";
import type { Ipam } from "../../../src/ipam/client.ts";
import { check } from "../../invariants/check.ts";
import { type CaseCluster, startCaseCluster } from "../../support/case-cluster.ts";
import { errorOf } from "../../support/ipam.ts";
import { pool } from "../../support/ipam-data.ts";
import { malformedBlocks } from "../../support/malformed-blocks.ts";
import { olderObjects } from "../../support/older-objects.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const owner = { affinityType: "host", host: "node-a" } as const;

describe.each(["v1", "v3"] as const)("%s", (flavour) => {
  let cluster: CaseCluster;
  let ipam: Ipam;
  beforeAll(async () => {
    cluster = await startCaseCluster(flavour);
  }, 240_000);
  afterAll(() => cluster?.stop());
  beforeEach(async () => {
    await cluster.reset();
    ipam = await cluster.openIpam({ blockOrder: () => 0n });
    await cluster.store.create(pool("p", "10.0.0.0/26", { blockSize: 29 }));
  }, 120_000);
  const listed = async <K extends "IPAMBlock" | "BlockAffinity">(kind: K) => (await cluster.store.list(kind)).items;

  describe("older forms", () => {
    /** Rows have no labels yet; `deleted` is text in v1, of every spelling that Go reads, and absent in v3. */
    beforeEach(async () => {
      const spellings = ["", "F"];
      for (const { kind, metadata, spec } of olderObjects()) {
        const { deleted: _deleted, ...rest } = spec;
        const mark = kind === "BlockAffinity" && flavour === "v1" ? { deleted: spellings.shift() } : {};
        await cluster.putRaw(kind, metadata.name, { ...rest, ...mark });
      }
    }, 120_000);

    test("autoAssign, release and utilization work on them, and writes bring them up to date", async () => {
      expect((await ipam.getUtilization())[0]).toMatchObject({ capacity: 64n, inUse: 2n, available: 62n });
      expect((await ipam.autoAssign({ ...ask, handleID: "new" })).v4?.ips).toEqual(["10.0.0.1/29"]);
      const { spec } = await cluster.store.get("IPAMBlock", "10-0-0-0-29");
      // A row without labels is found by its block, which is written once to confirm the row.
      expect(spec).toMatchObject({ sequenceNumber: 2n, sequenceNumberForAllocation: { 0: 0n, 1: 1n } });
      await ipam.releaseIPs([{ address: "10.0.0.0", handle: "old", sequenceNumber: 0n }, { address: "10.0.0.16" }]);
      expect(await errorOf(ipam.ipsByHandle("old"))).toMatchObject({ code: "NotFound" });
      await ipam.releaseByHandle("new");
      await ipam.upgradeHost("node-a");
      for (const { metadata, spec: row } of await listed("BlockAffinity")) {
        expect(row.type).toBe("host");
        expect((await cluster.raw("BlockAffinity", metadata.name)).metadata.labels).toMatchObject(affinityLabels(row));
      }
      expect(check(await cluster.stored(), { mode: "atRest", now: new Date() })).toEqual([]);
      expect(cluster.warnings).toEqual([]);
    }, 120_000);

    test("releaseHostAffinities gives up what unlabelled rows stand for, and keeps what is in use", async () => {
      expect(await errorOf(ipam.releaseHostAffinities(owner, true))).toMatchObject({ code: "BlockNotEmpty" });
      await ipam.releaseHostAffinities(owner, false);
      expect(await listed("BlockAffinity")).toEqual([]);
      expect((await listed("IPAMBlock")).map(({ spec }) => [spec.cidr, spec.affinity])).toEqual([
        ["10.0.0.0/29", undefined],
        ["10.0.0.16/29", undefined],
      ]);
    }, 120_000);
  });

  test("malformed blocks are named and kept as they are, while all else is done", async () => {
    await ipam.autoAssign({ ...ask, handleID: "h" });
    const before = [];
    for (const { kind, metadata, spec } of malformedBlocks())
      before.push(await cluster.putRaw(kind, metadata.name, spec));
    expect((await ipam.getUtilization())[0]).toMatchObject({ inUse: 1n, available: 39n });
    expect((await ipam.autoAssign({ ...ask, num4: 64, handleID: "all" })).v4?.ips).toHaveLength(39);
    expect(await errorOf(ipam.assignIP({ ip: "10.0.0.9", hostname: "node-a" }))).toMatchObject({
      code: "MalformedBlock",
    });
    await ipam.setOwnerAttributes("10.0.0.0", "h", { alternateOwnerAttrs: { pod: "p" } });
    await ipam.releaseIPs([{ address: "10.0.0.0" }]);
    await ipam.releaseByHandle("all");
    await ipam.releasePoolAffinities("10.0.0.0/26");
    const names = before.map(({ metadata }) => metadata.name);
    expect((await listed("IPAMBlock")).map(({ metadata }) => metadata.name).toSorted()).toEqual(names.toSorted());
    for (const block of before) expect(await cluster.raw("IPAMBlock", block.metadata.name)).toEqual(block);
    for (const name of names) {
      expect(cluster.warnings.filter((warning) => warning.includes(`IPAMBlock "${name}"`))).not.toEqual([]);
    }
  }, 120_000);
});
