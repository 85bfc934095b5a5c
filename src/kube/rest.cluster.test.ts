/** The REST client against a real API server: what it sends is taken, what comes back is what is stored. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import type { KubeObject } from "../api/meta.ts";
import { servedResources } from "./discovery.ts";
import type { RequestRecord } from "./exchange.ts";
import { connect } from "./rest.ts";
import type { KubeClient, KubeWatchEvent, ResourceType } from "./types.ts";

const widgets: ResourceType = { group: "test.example.org", version: "v1", plural: "widgets", kind: "Widget" };
const configMaps: ResourceType = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};
const widgetCrd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.example.org}
spec:
  group: test.example.org
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {sequence: {type: integer, format: int64}, size: {type: integer, maximum: 10}, note: {type: string}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`;
interface Widget extends KubeObject {
  readonly spec?: { readonly sequence?: number | bigint; readonly size?: number; readonly note?: string };
  readonly status?: Record<string, unknown>;
}
const widget = (name: string, spec: Widget["spec"] = {}): Widget => ({
  apiVersion: "test.example.org/v1",
  kind: "Widget",
  metadata: { name },
  spec,
});
const configMap = (name: string): KubeObject & { data: object } => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { a: "1" },
});

let cluster: ControlPlane;
let client: KubeClient;
const records: RequestRecord[] = [];

beforeAll(async () => {
  cluster = await startControlPlane();
  await cluster.apply(widgetCrd);
  await cluster.kubectlOk(["wait", "--for=condition=Established", "crd/widgets.test.example.org", "--timeout=30s"]);
  const onRequest = (record: RequestRecord) => records.push(record);
  client = await connect({
    kubeconfig: cluster.kubeconfig,
    fieldManager: "test-manager",
    onRequest,
    userAgent: "test/1",
  });
});
afterAll(async () => {
  await client?.close();
  await cluster?.stop();
});

async function withClient<T>(path: string, use: (client: KubeClient) => Promise<T>): Promise<T> {
  const other = await connect({ kubeconfig: path });
  try {
    return await use(other);
  } finally {
    await other.close();
  }
}
const listAll = (other: KubeClient) => other.list(widgets);

describe("objects", () => {
  it("creates, reads, updates and deletes, each write named in managedFields", async () => {
    const created = await client.create(widgets, widget("life", { note: "a" }));
    expect(created.metadata.managedFields).toMatchObject([{ manager: "test-manager", operation: "Update" }]);
    expect(await client.get<Widget>(widgets, "life")).toEqual(created);
    const updated = await client.update(widgets, { ...created, spec: { note: "b" } }, { fieldManager: "other" });
    expect(updated.metadata.managedFields?.map(({ manager }) => manager)).toContain("other");
    const { uid, resourceVersion } = updated.metadata;
    await client.delete(widgets, "life", { uid: uid!, resourceVersion: resourceVersion! });
    await expect(client.get(widgets, "life")).rejects.toMatchObject({ code: "NotFound", status: 404 });
  });

  it.each([1767323045678900000n, 9223372036854775807n, -9223372036854775808n, 9007199254740993n, 1767323045678900001n])(
    "keeps %s bit for bit through create, read, update, list and watch",
    async (sequence) => {
      const name = `long${sequence}`.replace("-", "minus");
      const created = await client.create(widgets, widget(name, { sequence }));
      expect(created.spec?.sequence).toBe(sequence);
      const { stdout } = await cluster.kubectl(["get", "widget", name, "-o", "jsonpath={.spec.sequence}"]);
      expect(stdout).toBe(String(sequence));
      const read = await client.get<Widget>(widgets, name);
      const updated = await client.update(widgets, { ...read, spec: { ...read.spec, note: "touched" } });
      expect(updated.spec).toEqual({ sequence, note: "touched" });
      const { items } = await client.list<Widget>(widgets, { fieldSelector: `metadata.name=${name}` });
      expect(items.map((item) => item.spec?.sequence)).toEqual([sequence]);
      const events = watchFrom(created.metadata.resourceVersion!, name);
      expect((await events.next()).value).toMatchObject({ type: "MODIFIED", object: { spec: { sequence } } });
      await events.return();
    },
  );

  it("does not read a long number inside a string as one", async () => {
    const note = '{"sequence":1767323045678900000}';
    const sequence = 1767323045678900000n;
    expect((await client.create(widgets, widget("text", { note, sequence }))).spec).toEqual({ note, sequence });
  });

  it("F15: times are the server's strings, for built-in and custom kinds alike", async () => {
    const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
    const custom = await client.create(widgets, widget("times"));
    const builtIn = await client.create(configMaps, configMap("times"), { namespace: "default" });
    expect(custom.metadata.creationTimestamp).toMatch(time);
    expect(builtIn.metadata.creationTimestamp).toMatch(time);
  });

  it("asks for a dry run when told so", async () => {
    await client.create(widgets, widget("dry"), { dryRun: true });
    await expect(client.get(widgets, "dry")).rejects.toMatchObject({ code: "NotFound" });
  });

  it("deletes only the object it was told", async () => {
    const first = await client.create(widgets, widget("guarded"));
    const second = await client.update(widgets, { ...first, spec: { note: "newer" } });
    const stale = { uid: first.metadata.uid!, resourceVersion: first.metadata.resourceVersion! };
    await expect(client.delete(widgets, "guarded", stale)).rejects.toMatchObject({ code: "Conflict" });
    const uid = "00000000-0000-0000-0000-000000000000";
    await expect(client.delete(widgets, "guarded", { uid })).rejects.toMatchObject({ code: "Conflict" });
    await client.delete(widgets, "guarded", { resourceVersion: second.metadata.resourceVersion! });
  });
});

describe("F13, WCH-08: each patch goes with its content type (else the server answers 415)", () => {
  const name = "patched";
  beforeAll(() => client.create(widgets, widget(name, { note: "a", size: 1 })));

  it("merge", async () => {
    const patched = await client.patch<Widget>(widgets, name, { spec: { note: null, size: 2 } }, { type: "merge" });
    expect(patched.spec).toEqual({ size: 2 });
  });

  it("json", async () => {
    const patch = [{ op: "add", path: "/spec/sequence", value: 1767323045678900000n }];
    const patched = await client.patch<Widget>(widgets, name, patch, { type: "json" });
    expect(patched.spec).toEqual({ size: 2, sequence: 1767323045678900000n });
  });

  it("apply, refused where another manager holds the field, unless forced", async () => {
    const apply = (force: boolean) =>
      client.patch<Widget>(widgets, name, widget(name, { size: 5 }), { type: "apply", fieldManager: "applier", force });
    await expect(apply(false)).rejects.toMatchObject({
      code: "Conflict",
      details: { causes: [{ field: ".spec.size" }] },
    });
    const { metadata, spec } = await apply(true);
    expect(spec?.size).toBe(5);
    expect(metadata.managedFields).toContainEqual(expect.objectContaining({ manager: "applier", operation: "Apply" }));
  });

  it.each(["merge", "apply"] as const)("%s of the status subresource leaves the spec alone", async (type) => {
    const body = { ...widget(name), spec: { size: 9 }, status: { [type]: true } };
    const patched = await client.patch<Widget>(widgets, name, body, { type, subresource: "status", force: true });
    expect(patched.status).toMatchObject({ [type]: true });
    expect(patched.spec?.size).toBe(5);
  });

  it("json of the status subresource", async () => {
    const patch = [{ op: "replace", path: "/status", value: { json: true } }];
    const patched = await client.patch<Widget>(widgets, name, patch, { type: "json", subresource: "status" });
    expect(patched.status).toEqual({ json: true });
  });

  it("updateStatus writes the status only", async () => {
    const read = await client.get<Widget>(widgets, name);
    const written = await client.updateStatus(widgets, { ...read, spec: { size: 1 }, status: { phase: "x" } });
    expect(written).toMatchObject({ spec: { size: 5 }, status: { phase: "x" } });
  });
});

describe("F12: errors are typed, short, and in the server's words", () => {
  it("AlreadyExists and Conflict are told apart", async () => {
    const created = await client.create(widgets, widget("twice"));
    await expect(client.create(widgets, widget("twice"))).rejects.toMatchObject({
      code: "AlreadyExists",
      status: 409,
      message: 'cannot create Widget "twice": widgets.test.example.org "twice" already exists',
    });
    await client.update(widgets, { ...created, spec: { note: "newer" } });
    const error: Error = await client.update(widgets, { ...created, spec: { note: "late" } }).catch((reason) => reason);
    expect(error).toMatchObject({ code: "Conflict", reason: "Conflict" });
    expect(error.message.length).toBeLessThan(300);
  });

  it("Invalid names the fields", async () => {
    await expect(client.create(widgets, widget("big", { size: 11 }))).rejects.toMatchObject({
      code: "Invalid",
      status: 422,
      details: { causes: [{ field: "spec.size", reason: "FieldValueInvalid" }] },
    });
  });

  it("Forbidden says who may not do what, and no token is in any error", async () => {
    const error = await withClient(cluster.kubeconfigFor(cluster.janeToken), listAll).catch((reason) => reason);
    expect(error).toMatchObject({ code: "Forbidden", message: expect.stringContaining('User "jane" cannot list') });
    expect(JSON.stringify({ ...error, message: error.message, stack: error.stack })).not.toContain(cluster.janeToken);
  });

  it("Unauthorized where the token is wrong", async () => {
    const error = await withClient(cluster.kubeconfigFor("wr0ng-token"), listAll).catch((reason) => reason);
    expect(error).toMatchObject({ code: "Unauthorized", status: 401 });
    expect(error.message).not.toContain("wr0ng-token");
  });

  it("Expired where the revision of a watch is too old for the server", async () => {
    await expect(watchFrom("1", "x").next()).rejects.toMatchObject({ code: "Expired" });
  });
});

describe("lists and watches", () => {
  it("F17: pages of the wanted size are one list, at one revision, with others' turns in between", async () => {
    for (const name of ["p1", "p2", "p3", "p4", "p5"]) {
      await client.create(
        configMaps,
        { ...configMap(name), metadata: { name, labels: { pages: "yes" } } },
        { namespace: "default" },
      );
    }
    let turns = 0;
    const ticking = setInterval(() => turns++, 0);
    const before = records.length;
    const options = { labelSelector: "pages=yes", limit: 2, namespace: "default" };
    const { items, resourceVersion } = await client.list(configMaps, options);
    clearInterval(ticking);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["p1", "p2", "p3", "p4", "p5"]);
    expect(items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
    expect(Number(resourceVersion)).toBeGreaterThan(0);
    expect(records.length - before).toBe(3);
    expect(turns).toBeGreaterThan(0);
    const transform = ({ metadata, kind }: KubeObject) => `${kind} ${metadata.name}`;
    const named = await client.list(configMaps, { ...options, transform });
    expect(named.items).toEqual(["p1", "p2", "p3", "p4", "p5"].map((name) => `ConfigMap ${name}`));
  });

  it("lists and watches metadata alone", async () => {
    await client.create(widgets, widget("slim", { note: "not wanted" }));
    const selected = { fieldSelector: "metadata.name=slim", metadataOnly: true };
    const { items, resourceVersion } = await client.list<Widget>(widgets, selected);
    expect(items).toMatchObject([{ metadata: { name: "slim" } }]);
    expect(items[0]).not.toHaveProperty("spec");
    const { signal } = new AbortController();
    const events = client.watch<Widget>(widgets, { ...selected, resourceVersion, signal })[Symbol.asyncIterator]();
    const next = events.next();
    await client.patch(widgets, "slim", { metadata: { labels: { a: "b" } } }, { type: "merge" });
    const { value } = await next;
    expect(value).toMatchObject({ type: "MODIFIED", object: { metadata: { name: "slim", labels: { a: "b" } } } });
    expect(value.object).not.toHaveProperty("spec");
    await events.return?.();
  });

  it("tells what is served, and undefined for what is not", async () => {
    expect(await servedResources(client, "test.example.org", "v1")).toEqual(new Set(["widgets", "widgets/status"]));
    expect(await servedResources(client, "test.example.org", "v2")).toBeUndefined();
    expect(await servedResources(client, "no.example.org", "v1")).toBeUndefined();
    expect((await servedResources(client, "", "v1"))?.has("nodes")).toBe(true);
  });

  it("reads what is not JSON as text", async () => {
    expect(await client.getRaw("/readyz")).toBe("ok");
  });
});

it("counts each exchange, by method, host and code", async () => {
  const before = records.length;
  await client.get(widgets, "absent").catch(() => undefined);
  expect(records.slice(before)).toEqual([
    { method: "GET", host: new URL(cluster.server).host, code: "404", seconds: expect.any(Number) },
  ]);
  const isOurs = ({ requestURI }: { requestURI?: string }) => requestURI?.endsWith("/widgets/absent");
  // An exchange is logged once its answer is complete, which the client may see first.
  const seen = async () => (await cluster.auditLog()).filter(isOurs).map(({ userAgent }) => userAgent);
  await expect.poll(seen).toEqual(["test/1"]);
});

function watchFrom(resourceVersion: string, name: string): AsyncGenerator<KubeWatchEvent<Widget>, void> {
  const { signal } = new AbortController();
  const options = { resourceVersion, signal, fieldSelector: `metadata.name=${name}` };
  return client.watch<Widget>(widgets, options) as AsyncGenerator<KubeWatchEvent<Widget>, void>;
}
