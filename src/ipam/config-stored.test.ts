import { expect, test } from "vitest";
import { errorOf, world } from "../../test/support/ipam.ts";
import { DEFAULT_CONFIG } from "./config.ts";

const pool = { pools: [["10.0.0.0/24", 26]] } as const;

test("T65: where no configuration is stored the defaults are in force, and reading them stores nothing", async () => {
  await using w = await world(pool);
  expect(await w.ipam.getIPAMConfig()).toEqual(DEFAULT_CONFIG);
  expect(DEFAULT_CONFIG).toMatchObject({ autoAllocateBlocks: true, strictAffinity: false });
  await w.ipam.autoAssign({ num4: 1, intendedUse: "Workload" });
  expect(await w.all("IPAMConfiguration")).toEqual([]);
});

test("T65: what is set reads back", async () => {
  await using w = await world(pool);
  const wanted = { autoAllocateBlocks: false, strictAffinity: true };
  expect(await w.ipam.setIPAMConfig(wanted)).toMatchObject({ written: true, config: wanted });
  expect(await w.openIpam().getIPAMConfig()).toEqual({ ...DEFAULT_CONFIG, ...wanted });
  expect((await w.all("IPAMConfiguration")).map(({ metadata }) => metadata.name)).toEqual(["default"]);
});

test.each([
  { autoAllocateBlocks: false, strictAffinity: false },
  { autoAllocateBlocks: true, maxBlocksPerHost: 3, strictAffinity: false },
])("T65: %j is refused, and what is stored stays", async (wrong) => {
  await using w = await world(pool);
  await w.ipam.setIPAMConfig({ ipCooldownSeconds: 7 });
  const before = await w.all("IPAMConfiguration");
  expect(await errorOf(w.ipam.setIPAMConfig(wrong))).toMatchObject({ code: "IPAMConfigConflict" });
  expect(await w.all("IPAMConfiguration")).toEqual(before);
});

test("T65: strict affinity may change while addresses are assigned", async () => {
  await using w = await world(pool);
  await w.ipam.autoAssign({ num4: 3, handleID: "h", intendedUse: "Workload" });
  for (const strictAffinity of [true, false, true]) {
    expect((await w.ipam.setIPAMConfig({ strictAffinity })).written).toBe(true);
    expect(await w.ipam.ipsByHandle("h")).toHaveLength(3);
  }
});
