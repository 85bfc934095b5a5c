/** A block that a caller gives is written as given: what no store can write is refused before. */
import { expect, test } from "vitest";
import { errorOf, world } from "../../test/support/ipam.ts";

const itself: Record<string, unknown> = {};
itself["self"] = itself;
const deep = Array.from({ length: 20_000 }).reduce<unknown>((inner) => [inner], []);

test.each([
  ["has itself inside", itself],
  ["is very deep", deep],
])("a block that %s is refused, and nothing is asked of the store", async (_, extra) => {
  await using w = await world({ pools: [["10.0.0.0/28", 30]] });
  await w.ipam.setIPAMConfig({ ipCooldownSeconds: 60 });
  await w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
  await w.ipam.releaseByHandle("h");
  w.pass(100);
  const stored = await w.block("10.0.0.0/30");
  const given = { ...stored, spec: { ...stored.spec, extra } };
  w.calls.splice(0);
  for (const call of [
    w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: 1 }, given),
    w.ipam.releaseBlockAffinity(given, false),
  ]) {
    expect(await errorOf(call.then(() => undefined))).toMatchObject({
      code: "InvalidArgument",
      message: expect.stringMatching(/: block is no block: it is more than 32 levels deep/),
    });
  }
  expect(w.calls).toEqual([]);
});
