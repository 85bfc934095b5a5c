import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBackoff, exponentialDelay, sleep } from "./backoff.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("doubles from the base and stays at the limit", () => {
  const delays = [0, 1, 2, 3, 4, 2000].map((failures) => exponentialDelay(failures, { baseMs: 5, maxMs: 30 }));
  expect(delays).toEqual([5, 10, 20, 30, 30, 30]);
});

test("jitter lies between half of and the whole delay, and reset starts anew", () => {
  const lowest = createBackoff({ baseMs: 800, maxMs: 30_000, random: () => 0 });
  expect([lowest.next(), lowest.next(), lowest.next()]).toEqual([400, 800, 1600]);
  lowest.reset();
  expect(lowest.next()).toBe(400);
  const highest = createBackoff({ baseMs: 800, maxMs: 1000, random: () => 1 });
  expect([highest.next(), highest.next()]).toEqual([800, 1000]);
});

test("sleep ends after its time, or with the signal, and leaves nothing behind", async () => {
  const { signal } = new AbortController();
  const whole = sleep(1000, signal);
  await vi.advanceTimersByTimeAsync(999);
  await expect(Promise.race([whole, "still asleep"])).resolves.toBe("still asleep");
  await vi.advanceTimersByTimeAsync(1);
  await whole;

  const controller = new AbortController();
  const cut = sleep(1000, controller.signal);
  controller.abort();
  await cut;
  expect(vi.getTimerCount()).toBe(0);
  await sleep(1000, controller.signal);
});
