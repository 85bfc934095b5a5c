import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimiter, createReservations } from "./rate-limit.ts";

describe("createReservations", () => {
  it("lets a burst through at once, then one call per interval", () => {
    const reserve = createReservations({ qps: 10, burst: 3, now: () => 0 });
    expect([reserve(), reserve(), reserve(), reserve(), reserve()]).toEqual([0, 0, 0, 100, 200]);
  });

  it("fills up again, but never above the burst", () => {
    let time = 0;
    const reserve = createReservations({ qps: 10, burst: 2, now: () => time });
    for (let call = 0; call < 2; call++) reserve();
    time = 100;
    expect([reserve(), reserve()]).toEqual([0, 100]);
    time = 1e6;
    expect([reserve(), reserve(), reserve()]).toEqual([0, 0, 100]);
  });

  it("never starts more than burst + qps × time calls", () => {
    const gaps = fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 10 }), (waits, qps, burst) => {
        let time = 0;
        const reserve = createReservations({ qps, burst, now: () => time });
        const starts = waits.map((wait) => {
          time += wait;
          return time + reserve();
        });
        for (const [index, start] of starts.entries()) {
          expect(index + 1).toBeLessThanOrEqual(burst + (start / 1000) * qps + 1e-6);
        }
      }),
    );
  });

  it.each([
    { qps: 0, burst: 1 },
    { qps: Number.NaN, burst: 1 },
    { qps: 5, burst: 0 },
  ])("refuses %j", (options) => {
    expect(() => createReservations(options)).toThrow("qps must be above 0 and burst at least 1");
  });
});

describe("createRateLimiter", () => {
  it("ends the wait when the signal aborts", async () => {
    const limiter = createRateLimiter({ qps: 0.001, burst: 1 });
    const controller = new AbortController();
    await limiter.take(controller.signal);
    const waiting = limiter.take(controller.signal).then(() => "ended");
    expect(await Promise.race([waiting, Promise.resolve("waits")])).toBe("waits");
    controller.abort();
    expect(await waiting).toBe("ended");
  });
});
