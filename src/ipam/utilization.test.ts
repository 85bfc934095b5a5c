import { expect, test } from "vitest";
import { world } from "../../test/support/ipam.ts";

const pool = { pools: [["10.0.0.0/24", 26]] } as const;
const counts = ({
  capacity,
  inUse,
  reserved,
  available,
}: Record<"capacity" | "inUse" | "reserved" | "available", bigint>) =>
  [capacity, inUse, reserved, available].map(Number);

test.each([
  [["10.0.0.32/30"], [256, 1, 4, 251], [64, 1, 4, 59]],
  [["10.0.0.128/25"], [256, 1, 128, 127], [64, 1, 0, 63]],
  [["10.0.0.5/32"], [256, 1, 1, 255], [64, 1, 1, 63]],
  [
    ["10.0.0.0/25", "10.0.0.5/32", "10.0.0.64/26"],
    [256, 1, 128, 128],
    [64, 1, 64, 0],
  ],
  [["10.0.0.0/16"], [256, 1, 256, 0], [64, 1, 64, 0]],
])("T67: with %j reserved", async (reservedCIDRs, ofPool, ofBlock) => {
  await using w = await world(pool);
  await w.ipam.assignIP({ ip: "10.0.0.5" });
  await w.put("IPReservation", "r", { reservedCIDRs });
  const [row] = await w.ipam.getUtilization();
  expect([counts(row!), counts(row!.blocks[0]!)]).toEqual([ofPool, ofBlock]);
});

test("T67: what is free in blocks and what is free around them adds up", async () => {
  await using w = await world(pool);
  for (const ip of ["10.0.0.5", "10.0.0.69", "10.0.0.70"]) await w.ipam.assignIP({ ip });
  const [row] = await w.ipam.getUtilization();
  expect(counts(row!)).toEqual([256, 3, 0, 63 + 62 + 128]);
  expect(row!.blocks.map(counts)).toEqual([
    [64, 1, 0, 63],
    [64, 2, 0, 62],
  ]);
});

test("T67: pools without blocks, too large to count, disabled; by name and by CIDR", async () => {
  await using w = await world({
    pools: [
      ["10.0.0.0/24", 26, { disabled: true }],
      ["fd00::/8", 122],
    ],
  });
  const rows = await w.ipam.getUtilization();
  expect(rows.map(({ name, cidr }) => [name, cidr])).toEqual([
    ["pool0", "10.0.0.0/24"],
    ["pool1", "fd00::/8"],
    ["orphaned allocation blocks", "0.0.0.0/0"],
  ]);
  const most = 2n ** 63n - 1n;
  expect(rows[1]).toMatchObject({ capacity: most, available: most, inUse: 0n, reserved: 0n });
  expect((await w.ipam.getUtilization({ pools: ["pool1", "10.0.0.0/24"] })).map(({ name }) => name)).toEqual([
    "pool0",
    "pool1",
  ]);
  expect(await w.ipam.getUtilization({ pools: ["nope"] })).toEqual([]);
});

test("T67: blocks in no pool are listed in both families, and count for none", async () => {
  await using w = await world({
    pools: [
      ["10.0.0.0/24", 26],
      ["fd00::/112", 122],
    ],
  });
  for (const ip of ["10.0.0.1", "fd00::1"]) await w.ipam.assignIP({ ip });
  for (const gone of await w.all("IPPool")) await w.store.delete(gone);
  const rows = await w.ipam.getUtilization();
  expect(rows.map(({ cidr, capacity, blocks }) => [cidr, capacity, blocks.map((block) => block.cidr)])).toEqual([
    ["0.0.0.0/0", 0n, ["10.0.0.0/26"]],
    ["::/0", 0n, ["fd00::/122"]],
  ]);
});

test("a malformed block is named and hides no other", async () => {
  await using w = await world(pool);
  for (const ip of ["10.0.0.1", "10.0.0.65"]) await w.ipam.assignIP({ ip });
  const block = await w.block("10.0.0.0/26");
  await w.store.update({ ...block, spec: { ...block.spec, attributes: [] } });
  const [row] = await w.ipam.getUtilization();
  expect(row?.blocks.map(({ cidr }) => cidr)).toEqual(["10.0.0.64/26"]);
  expect(w.warnings).toEqual([expect.stringMatching(/"10-0-0-0-26".*points at attribute 0/)]);
});
