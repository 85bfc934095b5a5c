import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createQueue, type QueueMetrics } from "./queue.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** What a `get` has yielded by now, "nothing" while it waits. */
const now = (key: Promise<string | undefined>) => Promise.race([key, Promise.resolve().then(() => "nothing")]);

test("hands out keys in order, each once however often it was added", async () => {
  const queue = createQueue();
  for (const key of ["a", "b", "a", "a"]) queue.add(key);
  expect(queue.depth).toBe(2);
  expect([await queue.get(), await queue.get()]).toEqual(["a", "b"]);
  expect(await now(queue.get())).toBe("nothing");
});

test("a key added while it is worked on runs again afterwards, never at the same time", async () => {
  const queue = createQueue();
  queue.add("a");
  await queue.get();
  queue.add("a");
  const second = queue.get();
  expect(await now(second)).toBe("nothing");
  queue.add("b");
  expect(await second).toBe("b");
  queue.done("a");
  expect(await queue.get()).toBe("a");
});

test("many workers never hold one key twice, and every addition is followed by work", async () => {
  vi.useRealTimers();
  const queue = createQueue();
  const held = new Set<string>();
  const seen = new Map<string, number>();
  const wanted = new Map<string, number>();
  const worker = async () => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      expect(held.has(key)).toBe(false);
      held.add(key);
      seen.set(key, wanted.get(key)!);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
      held.delete(key);
      queue.done(key);
    }
  };
  const workers = Array.from({ length: 8 }, worker);
  for (let round = 1; round <= 200; round++) {
    const key = `key-${round % 5}`;
    wanted.set(key, round);
    queue.add(key);
    if (round % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await vi.waitFor(() => expect([queue.depth, held.size]).toEqual([0, 0]));
  queue.shutDown();
  await Promise.all(workers);
  expect(seen).toEqual(wanted);
});

test("addAfter waits, keeps the earliest time, and is overtaken by add", async () => {
  const queue = createQueue();
  queue.addAfter("a", 1000);
  queue.addAfter("a", 200);
  queue.addAfter("a", 5000);
  await vi.advanceTimersByTimeAsync(199);
  expect(queue.depth).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(await queue.get()).toBe("a");
  queue.done("a");
  queue.addAfter("b", 1000);
  queue.add("b");
  expect(await queue.get()).toBe("b");
  queue.done("b");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(queue.depth).toBe(0);
});

test("a delay longer than a timer can hold does not fire at once", async () => {
  const queue = createQueue();
  queue.addAfter("a", 2 ** 40);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(queue.depth).toBe(0);
});

test("addRateLimited doubles per key from 5 ms to the cap; forget starts anew", async () => {
  const queue = createQueue({ maxMs: 15 });
  const delayOf = async (key: string) => {
    const start = performance.now();
    queue.addRateLimited(key);
    const next = queue.get();
    await vi.advanceTimersToNextTimerAsync();
    queue.done((await next)!);
    return performance.now() - start;
  };
  expect([await delayOf("a"), await delayOf("a"), await delayOf("a"), await delayOf("a")]).toEqual([5, 10, 15, 15]);
  expect(await delayOf("b")).toBe(5);
  queue.forget("a");
  expect(await delayOf("a")).toBe(5);
});

test("shutDown lets waiting workers go, drops what waits and takes nothing more", async () => {
  const queue = createQueue();
  queue.add("working");
  await queue.get();
  const waiting = queue.get();
  queue.shutDown();
  expect(await waiting).toBeUndefined();
  queue.add("late");
  queue.addAfter("later", 1);
  await vi.advanceTimersByTimeAsync(10);
  expect(queue.depth).toBe(0);
  expect(await queue.get()).toBeUndefined();
});

test("drain waits for the work under way", async () => {
  const queue = createQueue();
  for (const key of ["a", "b"]) queue.add(key);
  await queue.get();
  await queue.get();
  queue.shutDown();
  const drained = queue.drain().then(() => "drained");
  queue.done("a");
  expect(await Promise.race([drained, Promise.resolve().then(() => "working")])).toBe("working");
  queue.done("b");
  expect(await drained).toBe("drained");
  await queue.drain();
});

test("tells its metrics", async () => {
  const told: unknown[] = [];
  const note = (name: string) => (value?: number) => told.push(value === undefined ? name : `${name} ${value}`);
  const metrics: QueueMetrics = {
    depth: note("depth"),
    added: note("added"),
    retried: note("retried"),
    taken: note("taken"),
    finished: note("finished"),
  };
  const queue = createQueue({ metrics });
  queue.add("a");
  queue.add("a");
  await vi.advanceTimersByTimeAsync(2000);
  await queue.get();
  await vi.advanceTimersByTimeAsync(3000);
  expect(queue.inProgress()).toEqual({ unfinishedSeconds: 3, longestSeconds: 3 });
  queue.done("a");
  queue.addRateLimited("a");
  expect(told).toEqual(["added", "depth 1", "taken 2", "depth 0", "finished 3", "retried"]);
  expect(queue.inProgress()).toEqual({ unfinishedSeconds: 0, longestSeconds: 0 });
});
