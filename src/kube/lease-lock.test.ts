import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { createElector, type ElectorOptions } from "./lease.ts";
import { LeaseLock } from "./lease-lock.ts";
import { createKubeClient } from "./rest.ts";
import type { Call, ReadCall, Transport } from "./transport.ts";
import { type KubeClient, KubeError } from "./types.ts";

/** A transport that keeps what is sent, byte for byte, and answers it back as the API server would; there is no Lease at first. */
function capturing() {
  const bodies: string[] = [];
  let stored: string | undefined;
  const request = async <T>(call: ReadCall<T>) => {
    if (call.method === "GET" && stored === undefined)
      throw new KubeError("NotFound", "no such Lease", { status: 404 });
    if (call.body !== undefined) {
      stored = String(call.body);
      bodies.push(stored);
    }
    return call.read({ contentType: "application/json", text: stored! });
  };
  const client = createKubeClient({ server: "https://example", request } as unknown as Transport);
  return { client, bodies };
}

test("F14, WCH-05: the bytes on the wire carry microseconds in every time, on claim, renewal and release", async () => {
  const { client, bodies } = capturing();
  const options = { client, namespace: "ns", name: "lease", identity: "a", leaseDurationMs: 15_000 };
  const lock = new LeaseLock({ ...options, onNewHolder: () => {} });
  const { signal } = new AbortController();
  expect([await lock.acquire(signal), await lock.renew(signal), await lock.release(signal)]).toEqual([
    true,
    true,
    true,
  ]);
  expect(bodies).toHaveLength(3);
  for (const body of bodies) {
    const times = [...body.matchAll(/"(\w+Time)":"([^"]*)"/g)].map(([, field, time]) => [field, time]);
    expect(times.map(([field]) => field).sort()).toEqual(["acquireTime", "renewTime"]);
    for (const [, time] of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  }
  expect(bodies.map((body) => JSON.parse(body).spec.holderIdentity)).toEqual(["a", "a", ""]);
});

test.each([
  [{ leaseDurationMs: 10_000 }, "lease duration (10000 ms) > renew deadline (10000 ms)"],
  [{ retryPeriodMs: 9000 }, "1.2 x retry period (9000 ms)"],
])("times that leave no room for each other are refused: %j", (times, message) => {
  const { client } = capturing();
  const rest = { namespace: "ns", name: "lease", identity: "a", log: pino({ level: "silent" }) };
  const options: ElectorOptions = { client, ...rest, ...times, onStartedLeading: () => {} };
  expect(() => createElector(options)).toThrow(message);
});

test("a server that does not answer is named, with what it did", async () => {
  const request = ({ signal }: Call) =>
    new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  const client = createKubeClient({ server: "https://silent.example", request } as unknown as Transport);
  const stop = new AbortController();
  const elector = createElector({
    client,
    log: pino({ level: "silent" }),
    namespace: "ns",
    name: "lease",
    identity: "a",
    leaseDurationMs: 300,
    renewDeadlineMs: 200,
    retryPeriodMs: 100,
    onStartedLeading: async () => {},
  });
  const running = elector.run(stop.signal);
  await vi.waitFor(() => expect(elector.lastError).toEqual(new Error("no answer from https://silent.example in time")));
  stop.abort();
  await running;
});

test("a Lease whose revision went back is told of, whether it is renewed over a conflict or made again", async () => {
  const told: string[] = [];
  const lease = (resourceVersion: string) => ({ metadata: { resourceVersion }, spec: { holderIdentity: "a" } });
  const answers: (() => unknown)[] = [];
  const answer = async () => answers.shift()!();
  const client = { get: answer, update: answer, create: answer } as unknown as KubeClient;
  const fail = (code: "Conflict" | "NotFound") => () => {
    throw new KubeError(code, code);
  };
  const options = { client, namespace: "ns", name: "lease", identity: "a", leaseDurationMs: 15_000 };
  const onWentBack = (held: string, found: string) => told.push(`${held} to ${found}`);
  const lock = new LeaseLock({ ...options, onNewHolder: () => {}, onWentBack });
  const { signal } = new AbortController();
  answers.push(
    fail("NotFound"),
    () => lease("9"),
    () => lease("10"),
  );
  expect([await lock.acquire(signal), await lock.renew(signal)]).toEqual([true, true]);
  expect(told).toEqual([]);
  answers.push(
    fail("Conflict"),
    () => lease("7"),
    () => lease("8"),
  );
  expect(await lock.renew(signal)).toBe(true);
  expect(told).toEqual(["10 to 7"]);
  answers.push(fail("NotFound"), fail("NotFound"), () => lease("3"));
  await expect(lock.renew(signal)).rejects.toThrow("NotFound");
  expect(await lock.acquire(signal)).toBe(true);
  expect(told).toEqual(["10 to 7", "8 to 3"]);
});

test("TRY-26: edits of the Lease's annotations before each write cost neither the election nor the renewal", async () => {
  let stored = { metadata: { resourceVersion: "1" }, spec: { holderIdentity: "" } };
  let edits = 0;
  const revision = (of = stored) => Number(of.metadata.resourceVersion);
  const client = {
    get: async () => stored,
    update: async (_type: unknown, lease: typeof stored) => {
      if (edits-- > 0) stored = { ...stored, metadata: { resourceVersion: String(revision() + 1) } };
      if (revision(lease) !== revision()) throw new KubeError("Conflict", "the object has been modified");
      stored = { ...lease, metadata: { resourceVersion: String(revision() + 1) } };
      return stored;
    },
  } as unknown as KubeClient;
  const options = { client, namespace: "ns", name: "lease", identity: "a", leaseDurationMs: 15_000 };
  const lock = new LeaseLock({ ...options, onNewHolder: () => {} });
  const { signal } = new AbortController();
  for (const step of ["acquire", "renew", "release"] as const) {
    edits = 5;
    expect([step, await lock[step](signal)]).toEqual([step, true]);
  }
});
