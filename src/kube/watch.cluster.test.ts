/** Watches of the REST client through a bad way to a real API server: each ends in an error that says how to go on. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../../test/faults/proxy.ts";
import type { KubeObject } from "../api/meta.ts";
import { connect } from "./rest.ts";
import type { KubeClient, KubeWatchEvent, ResourceType } from "./types.ts";

const maps: ResourceType = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };
const namespace = "default";
const match = { path: "configmaps" };

let cluster: ControlPlane;
let proxy: FaultProxy;
let client: KubeClient;

beforeAll(async () => {
  cluster = await startControlPlane();
  proxy = await startFaultProxy(cluster);
  client = await connect({ kubeconfig: proxy.kubeconfig });
});
afterEach(() => proxy.clear());
afterAll(async () => {
  await client?.close();
  await proxy?.stop();
  await cluster?.stop();
});

const create = (name: string) =>
  client.create(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name } }, { namespace });
const failed = (work: Promise<unknown>): Promise<Error & { code?: string }> =>
  work.then(
    () => expect.fail("it should have failed"),
    (error) => error,
  );

it("F2, F3: ask for bookmarks and for 300 to 600 s, not always the same", async () => {
  const before = proxy.requests.length;
  for (let watch = 0; watch < 5; watch++) {
    const controller = new AbortController();
    const { opened, events } = openWatch(controller.signal);
    await opened();
    controller.abort();
    await expect(events).rejects.toThrow("aborted");
  }
  const queries = proxy.requests
    .slice(before)
    .filter(({ watch }) => watch)
    .map(({ query }) => query);
  expect(queries.every((query) => query.get("allowWatchBookmarks") === "true")).toBe(true);
  const seconds = queries.map((query) => Number(query.get("timeoutSeconds")));
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(300);
  expect(Math.max(...seconds)).toBeLessThan(600);
  expect(new Set(seconds).size).toBeGreaterThan(1);
});

it("ends quietly at the server's own end, after timeoutSeconds", async () => {
  const { events } = openWatch(new AbortController().signal, { timeoutSeconds: 1 });
  await expect(events).resolves.toBeDefined();
});

it.each([{ clean: false }, { clean: true }])("F8: a cut in the middle of a line is an error (%j)", async (options) => {
  const { opened, events } = openWatch(new AbortController().signal);
  await opened();
  const failure = failed(events);
  expect(proxy.cutWatches(match, { midLine: true, ...options })).toBe(1);
  expect(await failure).toMatchObject({
    code: "Unavailable",
    message: expect.stringContaining("cannot watch configmaps"),
  });
});

it("a watch that is silent for longer than the idle limit ends", async () => {
  proxy.stallWatches(match);
  const { events } = openWatch(new AbortController().signal, { idleTimeoutMs: 300 });
  expect(await failed(events)).toMatchObject({
    code: "Timeout",
    message: "cannot watch configmaps: nothing came for 0.3 s, not even a bookmark",
  });
});

it("what comes in time keeps a watch alive beyond the idle limit", async () => {
  const controller = new AbortController();
  const { opened, seen, events } = openWatch(controller.signal, { idleTimeoutMs: 5000 });
  const ended = failed(events);
  await opened();
  for (let change = 0; change < 7; change++) {
    await create(`alive-${change}`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  controller.abort(new Error("enough"));
  expect(await ended).toMatchObject({ message: "enough" });
  expect(seen.filter((event) => event.type === "ADDED").length).toBe(7);
});

it.each([{ inStream: true }, { inStream: false }])("410 is Expired (%j)", async (options) => {
  proxy.expireWatch(match, 1, options);
  const { events } = openWatch(new AbortController().signal);
  await expect(events).rejects.toMatchObject({ code: "Expired", status: 410 });
});

it.each([
  [403, "Forbidden"],
  [429, "TooManyRequests"],
  [500, "ServerError"],
])("%i is %s, at once: when to watch again is the caller's choice", async (status, code) => {
  proxy.fail({ ...match, watch: true }, { status, times: 1 });
  const { events } = openWatch(new AbortController().signal);
  await expect(events).rejects.toMatchObject({ code, status });
});

it("a consumer that has seen enough leaves no connection busy", async () => {
  const { resourceVersion } = await client.list(maps, { namespace });
  const { signal } = new AbortController();
  const watch = client.watch(maps, { namespace, resourceVersion, signal });
  const first = (async () => {
    for await (const event of watch) return event;
  })();
  await create("enough");
  expect(await first).toMatchObject({ type: "ADDED", object: { metadata: { name: "enough" } } });
  await eventually(() => proxy.cutWatches(match) === 0);
});

interface OpenWatch {
  /** Resolves when the server has answered the watch. */
  opened(): Promise<void>;
  readonly seen: KubeWatchEvent<KubeObject>[];
  /** Every event, when the watch has ended. */
  readonly events: Promise<readonly KubeWatchEvent<KubeObject>[]>;
}

/** Watches the ConfigMaps from now on. */
function openWatch(signal: AbortSignal, options: { idleTimeoutMs?: number; timeoutSeconds?: number } = {}): OpenWatch {
  const before = accepted();
  const seen: KubeWatchEvent<KubeObject>[] = [];
  const events = (async () => {
    const { resourceVersion } = await client.list(maps, { namespace });
    for await (const event of client.watch(maps, { namespace, resourceVersion, signal, ...options })) seen.push(event);
    return seen;
  })();
  events.catch(() => undefined); // looked at by the test, maybe later
  return { opened: () => eventually(() => accepted() > before), seen, events };
}

/** Watches that the server has answered so far. */
const accepted = () => proxy.requestsMatching({ ...match, watch: true }).filter(({ status }) => status === 200).length;

async function eventually(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { interval: 20 }).toBe(true);
}
