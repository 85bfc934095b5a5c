/**
 * Whoever loses every race is told so after 100 of them, whichever object the race is about: no method ends in silence, and
 * none lets out what happened inside.
 */
import { describe, expect, test } from "vitest";
import { blockName } from "../../src/api/names.ts";
import { newBlock } from "../../src/ipam/block.ts";
import { parseCidr } from "../../src/net/cidr.ts";
import { errorOf, failing, type Meddler, type World, windowsReserve, world } from "../support/ipam.ts";
import { ask, assigned, CASES, CIDR } from "./race-cases.ts";

const all = Object.entries(CASES).flatMap(([name, { loses, ...rest }]) =>
  loses.map(([operation, kind]) => ({ name, operation, kind, ...rest })),
);

const exhausted = {
  name: "IpamError",
  code: "MaxRetries",
  class: "stop-and-re-evaluate",
  message: "Max retries hit - excessive concurrent IPAM requests",
  details: [expect.stringMatching(/^[a-z].*: another writer was first 100 times/)],
};

describe("100 lost races", { timeout: 120_000 }, () => {
  test.concurrent.each(all)("$name, each $operation of $kind", async ({ operation, kind, before, call }) => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]], blockOrder: () => 0n });
    await before?.(w);
    const counts = (await w.all("IPAMHandle")).map(({ spec }) => spec.block);
    w.meddler = failing(operation, kind, "Conflict");
    expect(await errorOf(call(w))).toMatchObject(exhausted);
    expect((await w.all("IPAMHandle")).map(({ spec }) => spec.block)).toEqual(counts);
  });

  test.concurrent.each<[string, (w: World) => Promise<unknown>]>([
    ["autoAssign", (w) => w.ipam.autoAssign({ ...ask, handleID: "h" })],
    ["assignIP", assigned],
    ["ensureBlock", (w) => w.ipam.ensureBlock({ hostname: "host-a", hostReservedAttrIPv4s: windowsReserve(3, 1) })],
  ])("%s, each block made first, and given up again, by another host", async (_, call) => {
    await using w = await world({ pools: [["10.0.0.0/26", 26]] });
    await w.ipam.setIPAMConfig({ strictAffinity: true });
    w.meddler = alwaysFirst();
    expect(await errorOf(call(w))).toMatchObject(exhausted);
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test.concurrent("a count that cannot be lowered costs no address: it is told", async () => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]] });
    await assigned(w);
    w.meddler = failing("delete", "IPAMHandle", "Conflict");
    await w.ipam.releaseIPs([{ address: "10.0.0.1" }]);
    expect(w.warnings).toEqual([expect.stringContaining("handle h counts 1 too many in 10.0.0.0/26")]);
  });
});

/** Another host has made the block when ours is about to, and is gone when anyone looks for what is free. */
function alwaysFirst(): Meddler {
  const block = newBlock({
    cidr: parseCidr(CIDR)!,
    affinity: "host:host-b",
    claimTime: new Date(0),
    sequenceNumber: 1n,
  });
  let looks = 0;
  return async ({ operation, kind }, store) => {
    if (kind !== "IPAMBlock") return;
    if (operation === "create") {
      looks = 0;
      await store.create(block);
    } else if (++looks > 1) {
      await store.get("IPAMBlock", blockName(CIDR)).then(
        (stored) => store.delete(stored),
        () => undefined,
      );
    }
  };
}
