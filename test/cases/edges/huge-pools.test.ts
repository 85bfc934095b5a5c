/** Pools of 2^66 blocks and more: each test would run for years if anything walked over blocks or addresses. */
import { describe, expect, test } from "vitest";
import { canonicalCidr } from "../../../src/net/cidr.ts";
import { check } from "../../invariants/check.ts";
import { count, errorOf, type World, windowsReserve, world } from "../../support/ipam.ts";
import { reservation } from "../../support/ipam-data.ts";

const ask = { num6: 1, intendedUse: "Workload" } as const;
const owner = (host: string) => ({ affinityType: "host", host }) as const;
const MOST_COUNTED = (1n << 63n) - 1n;

async function expectSound(w: World): Promise<void> {
  expect(check(await w.stored(), { mode: "atRest", now: w.now })).toEqual([]);
}

describe.each([
  ["fd00::/56", 122],
  ["fd00::/48", 122],
  ["fd00::/8", 128],
] as const)("%s with blocks of /%s", (cidr, blockSize) => {
  const start = () => world({ pools: [[cidr, blockSize]] });
  const perBlock = 2 ** (128 - blockSize);

  test("hosts get blocks of their own, and the counts are right", async () => {
    await using w = await start();
    for (const host of ["node-a", "node-b", "node-c"]) await w.ipam.autoAssign({ ...ask, hostname: host, num6: 3 });
    expect(new Set((await w.all("IPAMBlock")).map(({ spec }) => spec.affinity)).size).toBe(3);
    const [row] = await w.ipam.getUtilization();
    expect(row).toMatchObject({ capacity: MOST_COUNTED, inUse: 9n, reserved: 0n, available: MOST_COUNTED });
    expect(row!.blocks).toHaveLength((await w.all("IPAMBlock")).length);
    await expectSound(w);
  });

  test("ensureBlock claims one, and is content with it afterwards", async () => {
    await using w = await start();
    const hostReservedAttrIPv6s = windowsReserve(0, perBlock > 1 ? 1 : 0);
    const ensure = () => w.ipam.ensureBlock({ hostname: "node-a", hostReservedAttrIPv6s });
    if (perBlock === 1) {
      expect(await errorOf(ensure())).toMatchObject({ code: "InvalidArgument" });
      return;
    }
    const { v6 } = await ensure();
    expect(v6).toMatch(new RegExp(`^fd.*/${blockSize}$`));
    expect(await ensure()).toEqual({ v4: null, v6 });
    expect(await w.all("IPAMBlock")).toHaveLength(1);
    await expectSound(w);
  });

  test("at its cap a host borrows out of the blocks that there are", async () => {
    await using w = await start();
    await firstBlock(w, "node-a");
    await w.ipam.autoAssign({ ...ask, hostname: "node-b", num6: perBlock });
    await w.ipam.releaseByHandle("first");
    const { v6 } = await w.ipam.autoAssign({ ...ask, hostname: "node-b", handleID: "borrowed", maxBlocksPerHost: 1 });
    expect(count(v6)).toBe(1);
    expect((await w.all("IPAMBlock")).filter(({ spec }) => spec.affinity === "host:node-a")).toMatchObject([
      { spec: { attributes: [{ handle_id: "borrowed" }] } },
    ]);
    await expectSound(w);
  });

  test("all but one block reserved: it is found, and once it is full nothing is, borrowing included", async () => {
    await using w = await start();
    const { prefix, parts } = allBut(cidr, blockSize);
    await w.store.create(reservation("most", ...parts));
    const { v6 } = await w.ipam.autoAssign({ ...ask, hostname: "node-a", num6: perBlock + 1 });
    expect([count(v6), v6!.msgs]).toEqual([perBlock, [`No IPs available in pools: [${cidr}]`]]);
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.cidr)).toEqual([prefix]);
    expect(count((await w.ipam.autoAssign({ ...ask, hostname: "node-b" })).v6)).toBe(0);
    expect((await w.ipam.getUtilization())[0]).toMatchObject({ inUse: BigInt(perBlock), available: 0n });
  });

  test("another host's empty block is taken over where nothing else is left", async () => {
    await using w = await start();
    await w.store.create(reservation("most", ...allBut(cidr, blockSize).parts));
    await w.ipam.autoAssign({ ...ask, hostname: "node-a", handleID: "h" });
    await w.ipam.releaseByHandle("h");
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    w.pass(61);
    expect(count((await w.ipam.autoAssign({ ...ask, hostname: "node-b" })).v6)).toBe(1);
    expect((await w.all("IPAMBlock")).map(({ spec }) => spec.affinity)).toEqual(["host:node-b"]);
    await expectSound(w);
  });

  test("claiming all of it is refused at once; giving all of it up gives up what there is", async () => {
    await using w = await start();
    expect(await errorOf(w.ipam.claimAffinity(cidr, owner("node-a")))).toMatchObject({ code: "InvalidSize" });
    expect(w.writes()).toEqual([]);
    await firstBlock(w, "node-a");
    await w.ipam.releaseByHandle("first");
    await w.ipam.releaseAffinity(cidr, "node-a", true);
    expect([...(await w.all("IPAMBlock")), ...(await w.all("BlockAffinity"))]).toEqual([]);
  });
});

async function firstBlock(w: World, hostname: string) {
  await w.ipam.autoAssign({ ...ask, hostname, handleID: "first" });
  return (await w.all("IPAMBlock"))[0]!;
}

/** The last block of a range, and all the rest in one range per bit: lower halves of what is left. */
function allBut(cidr: string, blockSize: number): { prefix: string; parts: string[] } {
  const [text = "", bits = ""] = cidr.split("/");
  let base = BigInt(`0x${text.replace("::", "").padEnd(4, "0")}`) << 112n;
  const parts: string[] = [];
  for (let prefix = Number(bits) + 1; prefix <= blockSize; prefix++) {
    parts.push(`${hex(base)}/${prefix}`);
    base += 1n << BigInt(128 - prefix);
  }
  return { prefix: canonicalCidr(`${hex(base)}/${blockSize}`)!, parts };
}

const hex = (address: bigint) => address.toString(16).padStart(32, "0").match(/.{4}/g)!.join(":");
