import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { KubeObject } from "../api/meta.ts";
import { createEventRecorder, cutToBytes, type RecorderOptions } from "./events.ts";
import { type KubeClient, KubeError } from "./types.ts";

const installation: KubeObject = {
  apiVersion: "ipam-operator.io/v1alpha1",
  kind: "Installation",
  metadata: { name: "default", uid: "u-1", resourceVersion: "7" },
};

interface Written {
  readonly method: string;
  readonly body: { readonly note?: string; readonly series?: { readonly count: number } };
}

function recorder(more: Partial<RecorderOptions> = {}, answer: () => Promise<void> = async () => {}) {
  const written: Written[] = [];
  const logged: string[] = [];
  const client = {
    create: async (_: unknown, body: Written["body"]) => {
      written.push({ method: "create", body });
      await answer();
    },
    patch: async (_: unknown, _name: string, body: Written["body"]) => {
      written.push({ method: "patch", body });
      await answer();
    },
  } as unknown as KubeClient;
  const log = pino({ level: "warn" }, { write: (line: string) => logged.push(JSON.parse(line).msg) });
  const events = createEventRecorder({ client, log, controller: "ipam-operator", instance: "pod-1", ...more });
  const say = (note: string, regarding = installation) =>
    events.event(regarding, "Warning", "Drift", note, "Reconcile");
  return { events, say, written, logged };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("repeats are counted and written as one change of the series", async () => {
  const { say, written } = recorder();
  say("strictAffinity was changed");
  await vi.advanceTimersByTimeAsync(10);
  for (let count = 0; count < 50; count++) say("strictAffinity was changed");
  await vi.advanceTimersByTimeAsync(4900);
  expect(written).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(100);
  expect(written.map(({ method, body }) => [method, body.series?.count])).toEqual([
    ["create", undefined],
    ["patch", 51],
  ]);
});

test("another note, another object or a later time is another event", async () => {
  const { events, say, written } = recorder();
  say("one");
  say("two");
  say("one", { ...installation, metadata: { name: "default", uid: "u-2" } });
  await events.flush();
  await vi.advanceTimersByTimeAsync(400_000);
  say("one");
  await events.flush();
  expect(written.map(({ method }) => method)).toEqual(["create", "create", "create", "create"]);
});

test("flush writes at once what was waiting, in order", async () => {
  const { events, say, written } = recorder();
  say("one");
  say("two");
  say("one");
  await events.flush();
  expect(written.map(({ body }) => [body.note, body.series?.count])).toEqual([
    ["one", 2],
    ["two", undefined],
  ]);
  await events.flush();
  expect(vi.getTimerCount()).toBe(0);
});

test("a series that the server has forgotten is begun again", async () => {
  const answers = [undefined, new KubeError("NotFound", "gone"), undefined];
  const { events, say, written } = recorder({}, async () => {
    const error = answers.shift();
    if (error) throw error;
  });
  say("one");
  await events.flush();
  say("one");
  await events.flush();
  expect(written.map(({ method }) => method)).toEqual(["create", "patch", "create"]);
});

test("what cannot be written is dropped with a log line, never thrown, and tried anew when it happens again", async () => {
  let error: KubeError | undefined = new KubeError("Forbidden", "may not create events");
  const { events, say, written, logged } = recorder({}, async () => {
    if (error) throw error;
  });
  say("one");
  await events.flush();
  expect(logged).toEqual(["Event dropped: it could not be written"]);
  error = undefined;
  say("one");
  await events.flush();
  expect(written.map(({ method }) => method)).toEqual(["create", "create"]);
});

test("a repeat during a write that fails is dropped with it, and the recorder goes on", async () => {
  let fails = true;
  const { say, written, logged } = recorder({ repeatDelayMs: 1 }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    if (fails) throw new KubeError("Forbidden", "may not create events");
  });
  say("one");
  await vi.advanceTimersByTimeAsync(10);
  say("one");
  await vi.advanceTimersByTimeAsync(100);
  expect(logged).toEqual(["Event dropped: it could not be written"]);
  fails = false;
  say("one");
  say("two");
  await vi.advanceTimersByTimeAsync(200);
  expect(written.map(({ method, body }) => [method, body.note, body.series?.count])).toEqual([
    ["create", "one", undefined],
    ["create", "one", undefined],
    ["create", "two", undefined],
  ]);
});

test("a flood is bounded while the server is slow; what is too much is dropped with a log line", async () => {
  const slow = Promise.withResolvers<void>();
  const { events, say, written, logged } = recorder({ bufferSize: 3 }, () => slow.promise);
  for (let count = 0; count < 10; count++) say(`note ${count}`);
  say("note 0");
  expect(logged).toHaveLength(7);
  slow.resolve();
  await events.flush();
  expect(written.map(({ body }) => body.note)).toEqual(["note 0", "note 1", "note 2"]);
});

test("an event during a write is not lost", async () => {
  const first = Promise.withResolvers<void>();
  const { events, say, written } = recorder({}, () => first.promise);
  say("one");
  await vi.advanceTimersByTimeAsync(1);
  say("one");
  const flushed = events.flush();
  first.resolve();
  await flushed;
  expect(written.map(({ body }) => body.series?.count)).toEqual([undefined, 2]);
});

test.each([
  ["short", "short"],
  ["x".repeat(1024), "x".repeat(1024)],
  ["x".repeat(1025), `${"x".repeat(1021)}…`],
  ["ü".repeat(600), `${"ü".repeat(510)}…`],
  [`${"x".repeat(1019)}😀😀`, `${"x".repeat(1019)}…`],
])("a note is cut to 1,024 bytes before a whole character (%#)", (note, expected) => {
  expect(cutToBytes(note, 1024)).toBe(expected);
  expect(Buffer.byteLength(expected)).toBeLessThanOrEqual(1024);
});
