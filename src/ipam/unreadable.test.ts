/** Stored objects that an API server would refuse today, and that older or foreign writers have left all the same. */
import { expect, test } from "vitest";
import { world } from "../../test/support/ipam.ts";

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
