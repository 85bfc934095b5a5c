/** Where a block's numbers start: an old number must never fit a block that was made again. */
import { expect, test } from "vitest";
import { errorOf, world } from "../../test/support/ipam.ts";
import { sequenceNumbers } from "./context.ts";

const A = { affinityType: "host", host: "host-a" } as const;
const NOW = new Date("2026-01-02T03:04:05.678Z");
const MILLISECOND = 1_000_000n;

test("within one process each start is above the one before, however the clock goes", () => {
  const times = [NOW, NOW, new Date(NOW.getTime() - 3_600_000), NOW, new Date(NOW.getTime() + 1)];
  const [digits, starts] = [[7n, 3n, 9n, 1n, 0n], [] as bigint[]];
  const next = sequenceNumbers(
    () => times.shift()!,
    () => digits.shift()!,
  );
  for (let count = 0; count < 5; count++) starts.push(next());
  expect(starts[0]).toBe(BigInt(NOW.getTime()) * MILLISECOND + 7n);
  expect(starts).toEqual(starts.toSorted((a, b) => (a < b ? -1 : 1)));
  expect(new Set(starts).size).toBe(5);
});

test("within one process starts are so far apart that no number of writes in between reaches the next", () => {
  const digits = [3n, 4n, 5n];
  const next = sequenceNumbers(
    () => NOW,
    () => digits.shift()!,
  );
  const [first, second, third] = [next(), next(), next()];
  expect([second - first, third - second]).toEqual([MILLISECOND, MILLISECOND]);
});

test("a block that another process makes again in the same millisecond does not fit an old number", async () => {
  await using w = await world({ pools: [["10.0.0.0/30", 30]] });
  const [one, another] = [w.openIpam(), w.openIpam()];
  await one.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
  const sequenceNumber = (await w.block("10.0.0.0/30")).spec.sequenceNumberForAllocation!["1"]!;
  await one.releaseByHandle("h");
  await one.removeIPAMHost(A);
  await another.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
  const late = another.releaseIPs([{ address: "10.0.0.1", handle: "h", sequenceNumber }]);
  expect(await errorOf(late)).toMatchObject({ code: "BadSequenceNumber" });
  expect(await another.ipsByHandle("h")).toEqual(["10.0.0.1"]);
});
