/** Stored objects that an API server would refuse today, and that older or foreign writers have left all the same. */
import { expect, test } from "vitest";
import { errorOf, world } from "../../test/support/ipam.ts";
import { block } from "../../test/support/ipam-data.ts";

test("a block whose owner cannot be read stops no other of its pool", async () => {
  await using w = await world({ pools: [["10.0.0.0/28", 30]] });
  await w.ipam.claimAffinity("10.0.0.4/30", { affinityType: "host", host: "host-a" });
  await w.store.delete((await w.all("BlockAffinity"))[0]!);
  const { spec } = await w.block("10.0.0.4/30");
  await w.put("IPAMBlock", "10-0-0-0-30", { ...spec, cidr: "10.0.0.0/30", affinity: "nonsense" });
  await w.ipam.releasePoolAffinities("10.0.0.0/28");
  expect((await w.all("IPAMBlock")).map(({ spec }) => spec.cidr)).toEqual(["10.0.0.0/30"]);
  expect(w.warnings.join()).toContain("10-0-0-0-30");
});

test("an empty block in the way whose owner cannot be read stays, and stops no other call", async () => {
  await using w = await world({ pools: [["10.1.0.0/25", 26]], blockOrder: () => 0n });
  await w.store.create(block("10.1.0.0/28", { affinity: "nonsense" }));
  expect((await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload" })).v4?.ips).toEqual(["10.1.0.64/26"]);
  const claiming = w.ipam.claimAffinity("10.1.0.0/26", { affinityType: "host", host: "host-b" });
  expect(await claiming).toEqual({ claimed: [], failed: ["10.1.0.0/26"] });
  expect(await errorOf(w.ipam.assignIP({ ip: "10.1.0.40" }))).toMatchObject({ code: "BlockOverlap" });
});

test("a block in the way whose range cannot be read stops no release", async () => {
  await using w = await world({ pools: [["10.0.0.0/24", 26]] });
  await w.ipam.assignIP({ ip: "10.0.0.40", handleID: "h" });
  const { metadata, spec } = block("10.0.0.0/28");
  await w.put("IPAMBlock", metadata.name, { ...spec, cidr: "nonsense" });
  const { unallocated } = await w.ipam.releaseIPs([{ address: "10.0.0.3" }, { address: "10.0.0.40", handle: "h" }]);
  expect(unallocated).toEqual(["10.0.0.3"]);
  expect(await w.all("IPAMHandle")).toEqual([]);
});
