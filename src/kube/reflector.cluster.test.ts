/** The reflector against a real API server behind the fault proxy: whatever happens on the way, no change is missed. */
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../../test/faults/proxy.ts";
import type { KubeObject } from "../api/meta.ts";
import { createReflector, type Reflector, type ReflectorOptions } from "./reflector.ts";
import { connect } from "./rest.ts";
import type { KubeClient } from "./types.ts";

const type = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };
const namespace = "default";
const lists = { path: "/namespaces/default/configmaps", method: "GET", watch: false };
const watches = { path: "/namespaces/default/configmaps", watch: true };

let controlPlane: ControlPlane;
let proxy: FaultProxy;
/** Past the proxy, to change things while the reflector's way is bad. */
let direct: KubeClient;
let client: KubeClient;
let stop: AbortController;
let ended: Promise<void> | undefined;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  proxy = await startFaultProxy(controlPlane);
  direct = await connect({ kubeconfig: controlPlane.kubeconfig });
  client = await connect({ kubeconfig: proxy.kubeconfig });
});
afterAll(async () => {
  await Promise.all([client?.close(), direct?.close()]);
  await proxy?.stop();
  await controlPlane?.stop();
});
beforeEach(() => {
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await ended;
  proxy.clear();
});

const log = pino({ level: "silent" });
const labels = { app: "reflector-test" };

/** Times scaled down about tenfold. */
function start(more: Partial<ReflectorOptions<KubeObject>> = {}) {
  const since = proxy.requests.length;
  const changes: string[] = [];
  const reflector = createReflector<KubeObject>({
    client,
    type,
    namespace,
    log,
    labelSelector: "app=reflector-test",
    healthyAfterMs: 300,
    backoff: { baseMs: 100, maxMs: 1000 },
    onChange: (key, change) => changes.push(`${key} ${change}`),
    ...more,
  });
  ended = reflector.start(stop.signal);
  // A look at one object before a watch goes on is no list.
  const asked = (match: typeof watches) =>
    proxy
      .requestsMatching(match)
      .filter((request) => proxy.requests.indexOf(request) >= since && !request.query.has("fieldSelector"));
  return { reflector, changes, asked };
}

const names = { count: 0 };
/** Creates one, changes one and deletes one, past the proxy. */
async function changeAll(): Promise<void> {
  const make = () => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `cm-${names.count++}`, labels } });
  const [changed, deleted] = [
    await direct.create(type, make(), { namespace }),
    await direct.create(type, make(), { namespace }),
  ];
  await direct.create(type, make(), { namespace });
  await direct.update(type, { ...changed, data: { changed: "yes" } } as KubeObject, { namespace });
  await direct.delete(type, deleted.metadata.name, { namespace });
}

const revisions = (objects: readonly KubeObject[]) =>
  objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort();

const eventually = (assert: () => void) => vi.waitFor(assert, { timeout: 30_000, interval: 20 });

/** Waits until the reflector holds exactly what the API server has. */
async function holdsEverything(reflector: Reflector<KubeObject>): Promise<void> {
  const { items } = await direct.list(type, { namespace, labelSelector: "app=reflector-test" });
  await eventually(() => expect(revisions(reflector.store.list())).toEqual(revisions(items)));
}

/** Exactly one watch is open at the proxy, also after a while. It is stalled by that: call this last. */
async function oneWatchIsOpen(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 500));
  await eventually(() => expect(proxy.stallWatches(watches)).toBe(1));
}

test("F2, F3: a quiet watch asks for bookmarks and is left alone", async () => {
  const { reflector, asked } = start();
  await reflector.synced();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect(asked(watches).map(({ query }) => query.get("allowWatchBookmarks"))).toEqual(["true"]);
  expect(reflector.state.lastError).toBeUndefined();
});

test("WCH-01: a watch that goes silent is noticed after the idle limit and nothing is lost", async () => {
  const { reflector, asked } = start({ idleTimeoutMs: 1000 });
  await reflector.synced();
  await changeAll();
  await holdsEverything(reflector);
  const before = asked(watches).length;
  // A quiet watch is renewed each second: at this moment there may be none.
  await eventually(() => expect(proxy.stallWatches(watches)).toBe(1));
  proxy.resume();
  await changeAll();
  await holdsEverything(reflector);
  expect(asked(watches).length).toBeGreaterThan(before);
  await oneWatchIsOpen();
});

test.each([
  ["a polite end", { clean: true }],
  ["a reset", {}],
  ["a cut in the middle of a line", { midLine: true }],
])("WCH-01: after %s the watch goes on from where it was", async (_, how) => {
  const { reflector, asked } = start();
  await reflector.synced();
  for (let round = 0; round < 3; round++) {
    await eventually(() => expect(proxy.cutWatches(watches, how)).toBe(1));
    await changeAll();
    await holdsEverything(reflector);
  }
  expect(asked(lists).length).toBe(1);
  expect(asked(watches).length).toBeLessThanOrEqual(4);
  await oneWatchIsOpen();
});

test("WCH-02, F11: away and back: few tries, one list, one watch, and what was deleted meanwhile is known", async () => {
  const { reflector, changes, asked } = start();
  await changeAll();
  await reflector.synced();
  await holdsEverything(reflector);
  await proxy.refuseAll();
  const { items } = await direct.list(type, { namespace, labelSelector: "app=reflector-test" });
  await changeAll();
  await direct.delete(type, items[0]!.metadata.name, { namespace });
  await eventually(() => expect(reflector.state.lastError?.code).toBe("Unavailable"));
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const before = asked(watches).length;
  await proxy.acceptAll();
  await holdsEverything(reflector);
  expect(changes).toContain(`default/${items[0]!.metadata.name} deleted`);
  await eventually(() => expect(reflector.state.lastError).toBeUndefined());
  await new Promise((resolve) => setTimeout(resolve, 2000));
  expect(asked(watches).length - before).toBe(1);
  expect(proxy.connections.open).toBeLessThanOrEqual(2);
  await oneWatchIsOpen();
});

test.each([
  ["inside a 200 answer", true],
  ["as the answer", false],
])("WCH-04: 410 %s leads to a new list, and a loop of them is backed off", async (_, inStream) => {
  const { reflector, asked } = start();
  await reflector.synced();
  proxy.expireWatch({ path: watches.path }, Number.POSITIVE_INFINITY, { inStream });
  proxy.cutWatches(watches);
  await changeAll();
  const before410 = asked(lists).length;
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect(asked(lists).length - before410).toBeLessThan(12);
  await eventually(() => expect(asked(lists).length).toBeGreaterThan(2));
  await eventually(() => expect(reflector.state.lastError?.code).toBe("Expired"));
  await holdsEverything(reflector);
  proxy.clear();
  await changeAll();
  await holdsEverything(reflector);
  await eventually(() => expect(reflector.state.lastError).toBeUndefined());
  await oneWatchIsOpen();
});

test.each([
  ["500", "ServerError", 500],
  ["503", "ServerError", 503],
  ["403", "Forbidden", 403],
  ["404", "NotFound", 404],
  ["429", "TooManyRequests", 429],
])("F4: %s on list and watch is shown, tried again, and over once it is over", async (_, code, status) => {
  const match = { path: "/configmaps" };
  proxy.fail(match, { status, times: Number.POSITIVE_INFINITY });
  const { reflector } = start();
  await eventually(() => expect(reflector.state.lastError?.code).toBe(code));
  expect(reflector.state.synced).toBe(false);
  await changeAll();
  proxy.clear();
  await reflector.synced();
  await holdsEverything(reflector);
  proxy.fail({ ...match, watch: true }, { status, times: 3 });
  proxy.cutWatches(watches);
  await changeAll();
  await holdsEverything(reflector);
  await eventually(() => expect(reflector.state.lastError).toBeUndefined());
  await oneWatchIsOpen();
});

test("who may not list is told so, and goes on once the permission is there", async () => {
  const jane = await connect({ kubeconfig: proxy.kubeconfigFor(controlPlane.janeToken) });
  const { reflector } = start({ client: jane });
  await eventually(() => expect(reflector.state.lastError?.code).toBe("Forbidden"));
  expect(reflector.state.lastError?.message).toContain("configmaps");
  await controlPlane.kubectlOk(["create", "clusterrole", "read", "--verb=list,watch", "--resource=configmaps"]);
  await controlPlane.kubectlOk(["create", "clusterrolebinding", "jane", "--clusterrole=read", "--user=jane"]);
  await reflector.synced();
  await holdsEverything(reflector);
  stop.abort();
  await ended;
  await jane.close();
});

test("a kind that is installed only later is found then", async () => {
  const widgets = { group: "example.org", version: "v1", plural: "widgets", kind: "Widget" };
  const { reflector } = start({ type: widgets, namespace: undefined, labelSelector: undefined });
  await eventually(() => expect(reflector.state.lastError?.code).toBe("NotFound"));
  await controlPlane.apply(widgetCrd);
  await reflector.synced();
  await controlPlane.apply("apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: one}\n");
  await eventually(() => expect(reflector.store.get("one")?.kind).toBe("Widget"));
});

test("F9: a collection larger than a page is held whole, by its metadata alone where that is asked for", async () => {
  const many = { app: "many" };
  const create = (index: number) =>
    direct.create(
      type,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `many-${index}`, labels: many } },
      { namespace },
    );
  for (let done = 0; done < 510; done += 30)
    await Promise.all(Array.from({ length: 30 }, (_, index) => create(done + index)));
  const { reflector, asked } = start({ labelSelector: "app=many", metadataOnly: true });
  await reflector.synced();
  expect(reflector.store.list()).toHaveLength(510);
  expect(asked(lists).length).toBe(2);
  const before = reflector.store.get("default/many-0");
  await direct.patch(type, "many-0", { data: { changed: "yes" } }, { namespace, type: "merge" });
  await eventually(() => expect(reflector.store.get("default/many-0")).not.toBe(before));
  expect(reflector.store.get("default/many-0")).toMatchObject({ kind: "PartialObjectMetadata" });
  expect(reflector.store.get("default/many-0")).not.toHaveProperty("data");
});

test("the API server restarted: no change missed, one watch", async () => {
  const { reflector } = start();
  await reflector.synced();
  await changeAll();
  await controlPlane.restartApiServer();
  await changeAll();
  await holdsEverything(reflector);
  await oneWatchIsOpen();
});

test("F5, F6: stopped while it watches, nothing is asked and nothing is told any more", async () => {
  const { reflector, changes, asked } = start();
  await reflector.synced();
  await changeAll();
  await holdsEverything(reflector);
  stop.abort();
  await ended;
  const [told, requests] = [changes.length, asked(watches).length];
  await changeAll();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect([changes.length, asked(watches).length]).toEqual([told, requests]);
  expect(proxy.cutWatches(watches)).toBe(0);
});

const widgetCrd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;
