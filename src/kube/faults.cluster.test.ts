/** The REST client against a real API server behind a bad way: what is tried again, what is not, and what is told. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../../test/faults/proxy.ts";
import type { KubeObject } from "../api/meta.ts";
import type { RequestRecord } from "./exchange.ts";
import { connect } from "./rest.ts";
import type { KubeClient, ResourceType } from "./types.ts";

const maps: ResourceType = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };
const namespace = "default";
const match = { path: "configmaps" };
type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };
const configMap = (name: string, data = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

let cluster: ControlPlane;
let proxy: FaultProxy;
let client: KubeClient;
const records: RequestRecord[] = [];

beforeAll(async () => {
  cluster = await startControlPlane();
  proxy = await startFaultProxy(cluster);
  client = await connect({ kubeconfig: proxy.kubeconfig, onRequest: (record) => records.push(record) });
});
afterEach(() => proxy.clear());
afterAll(async () => {
  await client?.close();
  await proxy?.stop();
  await cluster?.stop();
});

const get = (name: string, options = {}) => client.get<ConfigMap>(maps, name, { namespace, ...options });
const create = (name: string) => client.create(maps, configMap(name), { namespace });
const update = (object: ConfigMap, value: string) => client.update(maps, { ...object, data: { value } });
/** Sends `work` and tells with which statuses its requests of `method` were answered; 0 for a reset. */
async function answersDuring(method: string, work: () => Promise<unknown>): Promise<number[]> {
  const before = proxy.requests.length;
  await work();
  return proxy.requests
    .slice(before)
    .filter((request) => request.method === method)
    .map(({ status }) => status);
}
const failed = (work: Promise<unknown>): Promise<Error & { code: string }> =>
  work.then(
    () => expect.fail("it should have failed"),
    (error) => error,
  );

describe("F1: connections", () => {
  it("100 calls one after the other, then 200 at once, use at most 4 connections beside the watches'", async () => {
    const own = await connect({ kubeconfig: proxy.kubeconfig });
    const controller = new AbortController();
    const { resourceVersion } = await client.list(maps, { namespace });
    const watchOptions = { namespace, resourceVersion, signal: controller.signal };
    const watches = [1, 2, 3].map(() => failed(own.watch(maps, watchOptions)[Symbol.asyncIterator]().next()));
    await proxyHas(() => openWatches() === 3);
    const before = proxy.requests.length;
    const connections = () => new Set(proxy.requests.slice(before).map(({ connectionId }) => connectionId)).size;
    for (let call = 0; call < 100; call++) await own.list(maps, { namespace });
    await Promise.all(Array.from({ length: 200 }, () => own.list(maps, { namespace })));
    expect(proxy.requests.length - before).toBe(300);
    expect(connections()).toBeLessThanOrEqual(4);
    expect(openWatches()).toBe(3);
    controller.abort();
    await Promise.all(watches);
    await own.close();
  });

  it("a client-side limit holds calls back", async () => {
    const own = await connect({ kubeconfig: proxy.kubeconfig, qps: 20, burst: 5 });
    const before = performance.now();
    await Promise.all(Array.from({ length: 15 }, () => own.list(maps, { namespace })));
    expect(performance.now() - before).toBeGreaterThanOrEqual(480);
    await own.close();
  });
});

describe("calls that fail", () => {
  it("429: Retry-After is honoured, for a create too, and every attempt is counted", async () => {
    proxy.fail({ ...match, method: "POST" }, { status: 429, times: 2, headers: { "retry-after": "1" } });
    const [started, counted] = [performance.now(), records.length];
    expect(await answersDuring("POST", () => create("throttled"))).toEqual([429, 429, 201]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(2000);
    expect(records.slice(counted).map(({ code }) => code)).toEqual(["429", "429", "201"]);
  });

  it("429 beyond the deadline is an error that says when to come back", async () => {
    proxy.fail(match, { status: 429, times: 1, headers: { "retry-after": "60" } });
    await expect(get("throttled", { timeoutMs: 10_000 })).rejects.toMatchObject({
      code: "TooManyRequests",
      retryAfterSeconds: 60,
    });
  });

  it.each([500, 502, 503, 504])("F4: a read that gets %i is tried again", async (status) => {
    await create(`read-${status}`);
    proxy.fail({ ...match, method: "GET" }, { status, times: 2 });
    expect(await answersDuring("GET", () => get(`read-${status}`))).toEqual([status, status, 200]);
  });

  it("a read that gets a reset is tried again", async () => {
    await create("read-reset");
    proxy.reset({ ...match, method: "GET" }, 1);
    proxy.reset({ ...match, method: "GET" }, 1, { afterUpstream: true });
    expect(await answersDuring("GET", () => get("read-reset"))).toEqual([0, 0, 200]);
  });

  it("a server that goes on failing is told with its last words", async () => {
    proxy.fail(match, { status: 500, times: Number.POSITIVE_INFINITY });
    await expect(get("any")).rejects.toMatchObject({
      code: "ServerError",
      status: 500,
      message: 'cannot get ConfigMap "default/any": scripted fault: InternalError',
    });
  });

  it("a load balancer's page is not quoted", async () => {
    proxy.fail({ ...match, method: "POST" }, { status: 502, times: 1, body: "<html>s3cret</html>" });
    const error = await failed(create("page"));
    expect(error).toMatchObject({ code: "ServerError", message: expect.stringContaining("answered 502") });
    expect(error.message).not.toContain("s3cret");
  });

  it("a server that is away is told within the deadline, and calls go on when it is back", async () => {
    await create("away");
    await proxy.refuseAll();
    const error = await failed(get("away", { timeoutMs: 1000 }));
    expect(error).toMatchObject({
      code: "Unavailable",
      message: expect.stringContaining(`${proxy.server} refuses the connection`),
    });
    const waiting = create("after-restart"); // surely not sent while nobody listens: waits for the server
    await proxy.acceptAll();
    await waiting;
    await get("away");
  });
});

describe("writes are never done twice without knowing", () => {
  it("a create whose answer is lost: one object, one request, an error that says so", async () => {
    proxy.reset({ ...match, method: "POST" }, 1, { afterUpstream: true });
    let error: Error | undefined;
    const sent = await answersDuring("POST", async () => {
      error = await failed(create("lost-answer"));
    });
    expect(sent).toEqual([0]);
    expect(error).toMatchObject({ code: "Unavailable", message: expect.stringContaining("the outcome is unknown") });
    const { items } = await client.list(maps, { namespace, fieldSelector: "metadata.name=lost-answer" });
    expect(items).toHaveLength(1);
  });

  it("a create that gets 500 or 503 is not repeated", async () => {
    for (const status of [500, 503]) {
      proxy.fail({ ...match, method: "POST" }, { status, times: 1, headers: { "retry-after": "1" } });
      expect(await answersDuring("POST", () => failed(create("no-repeat")))).toEqual([status]);
    }
  });

  it("an update whose answer is lost is told; the next one with the old revision is a Conflict", async () => {
    const object = await create("lost-update");
    proxy.reset({ ...match, method: "PUT" }, 1, { afterUpstream: true });
    let error: Error | undefined;
    expect(
      await answersDuring("PUT", async () => {
        error = await failed(update(object, "new"));
      }),
    ).toEqual([0]);
    expect(error).toMatchObject({ code: "Unavailable", message: expect.stringContaining("the outcome is unknown") });
    expect((await get("lost-update")).data).toEqual({ value: "new" });
    await expect(update(object, "newer")).rejects.toMatchObject({ code: "Conflict" });
  });

  it("an update and a delete that were surely not processed are repeated: 503 with Retry-After", async () => {
    const object = await create("busy");
    const busy = { status: 503, times: 1, headers: { "retry-after": "0" } };
    proxy.fail({ ...match, method: "PUT" }, busy);
    expect(await answersDuring("PUT", () => update(object, "x"))).toEqual([503, 200]);
    proxy.fail({ ...match, method: "DELETE" }, busy);
    expect(await answersDuring("DELETE", () => client.delete(maps, "busy", { namespace }))).toEqual([503, 200]);
  });

  it("an update that gets 500 is not repeated", async () => {
    const object = await create("failing");
    proxy.fail({ ...match, method: "PUT" }, { status: 500, times: 1 });
    expect(await answersDuring("PUT", () => failed(update(object, "x")))).toEqual([500]);
  });

  it("another writer in between makes a Conflict", async () => {
    const object = await create("raced");
    const other = () => cluster.kubectlOk(["label", "configmap", "raced", "by=other"]);
    proxy.before({ ...match, method: "PUT" }, other, 1);
    await expect(update(object, "mine")).rejects.toMatchObject({ code: "Conflict", status: 409 });
  });
});

describe("deadline and abort", () => {
  it("a call ends at its deadline", async () => {
    proxy.delay(match, 20_000, 2);
    const error = await failed(get("slow", { timeoutMs: 300 }));
    expect(error).toMatchObject({
      code: "Timeout",
      message: 'cannot get ConfigMap "default/slow": no answer within 0.3 s',
    });
    const write = await failed(client.create(maps, configMap("slow"), { namespace, timeoutMs: 300 }));
    expect(write).toMatchObject({ code: "Timeout", message: expect.stringContaining("the outcome is unknown") });
  });

  it("a call ends when its signal aborts, under way and while it waits to try again", async () => {
    const reason = new Error("no longer wanted");
    for (const disturb of [
      () => proxy.delay(match, 20_000, 1),
      () => proxy.fail(match, { status: 429, times: 1, headers: { "retry-after": "10" } }),
    ]) {
      disturb();
      const controller = new AbortController();
      const call = failed(get("aborted", { signal: controller.signal }));
      await proxyHas((requests) => requests.some(({ path }) => path.endsWith("/aborted")));
      controller.abort(reason);
      expect(await call).toBe(reason);
      proxy.clear();
    }
  });

  it("an aborted signal sends nothing", async () => {
    const before = proxy.requests.length;
    await expect(get("never", { signal: AbortSignal.abort(new Error("stopped")) })).rejects.toThrow("stopped");
    expect(proxy.requests.length).toBe(before);
  });
});

describe("lists", () => {
  it("start again once when the continue token expires between pages", async () => {
    for (const name of ["l1", "l2", "l3"]) await create(name);
    const options = { namespace, limit: 1, fieldSelector: "metadata.name!=kube-root-ca.crt" };
    const all = (await client.list(maps, { namespace })).items.length;
    proxy.before(match, async () => proxy.fail(match, { status: 410, times: 1 }), 1); // the page after the first
    const { items } = await client.list(maps, options);
    expect(new Set(items.map(({ metadata }) => metadata.name)).size).toBe(items.length);
    expect(items.length).toBeGreaterThanOrEqual(all - 1);
    proxy.fail(match, { status: 410, times: 2 });
    await expect(client.list(maps, options)).rejects.toMatchObject({ code: "Expired" });
  });
});

const openWatches = () =>
  proxy.requestsMatching({ ...match, watch: true }).filter(({ status }) => status === 200).length;

async function proxyHas(condition: (requests: FaultProxy["requests"]) => boolean): Promise<void> {
  await expect.poll(() => condition(proxy.requests), { interval: 20 }).toBe(true);
}
