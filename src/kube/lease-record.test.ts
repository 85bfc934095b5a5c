import { expect, test } from "vitest";
import { claimed, type Lease, LeaseObservation, leaseSpec, microTime, released, renewed } from "./lease-record.ts";

const now = Date.parse("2026-11-29T10:00:00.120Z");

test("F14, WCH-05: times have six fractional digits", () => {
  expect(microTime(now)).toBe("2026-11-29T10:00:00.120000Z");
  expect(microTime(Date.parse("2026-11-29T10:00:00Z"))).toBe("2026-11-29T10:00:00.000000Z");
});

test("a first claim counts no transition, a take-over counts one, one's own again keeps the time it was acquired", () => {
  const first = claimed({}, "a", 15_000, now);
  expect(first).toEqual({
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: microTime(now),
    renewTime: microTime(now),
    leaseTransitions: 0,
  });
  expect(claimed(first, "b", 15_000, now + 5)).toMatchObject({
    holderIdentity: "b",
    leaseTransitions: 1,
    acquireTime: microTime(now + 5),
  });
  expect(claimed(first, "a", 15_000, now + 5)).toMatchObject({ leaseTransitions: 0, acquireTime: microTime(now) });
  expect(claimed(released(first, now), "b", 15_000, now)).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
});

test("what others have put into the spec stays", () => {
  const spec = { ...claimed({}, "a", 1500, now), strategy: "OldestEmulationVersion" };
  expect(spec.leaseDurationSeconds).toBe(2);
  expect(renewed(spec, now + 1000)).toEqual({ ...spec, renewTime: microTime(now + 1000) });
  expect(claimed(spec, "b", 1500, now)).toHaveProperty("strategy");
});

test("the lease runs from when we first saw the renewal, whatever clock the holder has", () => {
  const observation = new LeaseObservation();
  const lastYear = claimed({}, "a", 15_000, now - 365 * 86_400_000);
  observation.see(lastYear, 1000);
  expect(observation.msUntilFree("b", 1000)).toBe(15_000);
  observation.see({ ...lastYear }, 9000);
  expect(observation.msUntilFree("b", 9000)).toBe(7000);
  observation.see(renewed(lastYear, now), 12_000);
  expect(observation.msUntilFree("b", 20_000)).toBe(7000);
  expect(observation.msUntilFree("b", 30_000)).toBe(0);
});

test("it is free at once when released, missing, or our own", () => {
  const observation = new LeaseObservation();
  expect(observation.msUntilFree("b", 0)).toBe(0);
  const held = claimed({}, "a", 15_000, now);
  observation.see(held, 0);
  expect(observation.msUntilFree("a", 0)).toBe(0);
  observation.see(released(held, now), 1);
  expect([observation.holder, observation.msUntilFree("b", 1)]).toEqual(["", 0]);
  observation.see(held, 2);
  observation.see(undefined, 3);
  expect(observation.msUntilFree("b", 3)).toBe(0);
});

test.each([
  ["x", "spec is not an object"],
  [{ holderIdentity: 7 }, "spec.holderIdentity is not a string"],
  [{ leaseDurationSeconds: "15" }, "spec.leaseDurationSeconds is not a number"],
  [{ renewTime: null }, "spec.renewTime is not a string"],
])("a Lease with the spec %j says nothing of who leads", (spec, problem) => {
  const lease = { apiVersion: "v1", kind: "Lease", metadata: { name: "a" }, spec } as unknown as Lease;
  expect(() => leaseSpec(lease)).toThrow(`the API server's Lease "a" cannot be used: ${problem}`);
});
