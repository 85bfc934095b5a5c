import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../api/meta.ts";
import { datastoreLocked, nodeFacts, servedAttributes, servedFields, slimNode } from "./facts.ts";

const object = (kind: string, more: Partial<KubeObject>): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "n" },
  ...more,
});
const node = (labels: Record<string, string>, status: unknown) =>
  object("Node", { metadata: { name: "n", labels, resourceVersion: "7", annotations: { big: "x" } }, status });

describe("nodes", () => {
  test.each([
    ["by label", { "kubernetes.io/os": "windows" }, {}, true],
    ["by node info", {}, { nodeInfo: { operatingSystem: "windows" } }, true],
    ["the label wins", { "kubernetes.io/os": "linux" }, { nodeInfo: { operatingSystem: "windows" } }, false],
    ["unknown", {}, {}, false],
  ])("windows %s", (_, labels, status, windows) => {
    expect(nodeFacts(node(labels, status)).windows).toBe(windows);
  });

  test.each([
    ["110", 110],
    [110, 110],
    [undefined, undefined],
    ["many", undefined],
  ])("pod capacity %j is %j", (pods, capacity) => {
    expect(nodeFacts(node({}, { capacity: { pods } })).podCapacity).toBe(capacity);
  });

  test("slimming keeps the facts and drops the rest", () => {
    const full = node(
      { a: "b" },
      { capacity: { pods: "5", memory: "1Gi" }, images: ["big"], nodeInfo: { kernel: "x" } },
    );
    const slim = slimNode(full);
    expect(nodeFacts(slim)).toEqual(nodeFacts(full));
    expect(JSON.stringify(slim)).not.toMatch(/images|memory|kernel|big/);
    expect(slim.metadata.resourceVersion).toBe("7");
  });
});

test.each([
  [undefined, false],
  [object("ClusterInformation", {}), false],
  [object("ClusterInformation", { spec: { datastoreReady: true } }), false],
  [object("ClusterInformation", { spec: { datastoreReady: false } }), true],
])("datastore lock of %j", (information, locked) => {
  expect(datastoreLocked(information)).toBe(locked);
});

describe("served fields", () => {
  const definition = (spec: unknown) =>
    object("CustomResourceDefinition", {
      spec: { versions: [{ name: "v1", schema: { openAPIV3Schema: { properties: { spec } } } }] },
    });
  test("are the properties of the version's spec", () => {
    const found = servedFields(definition({ properties: { a: {}, b: {} } }), "v1");
    expect([...(found ?? [])]).toEqual(["a", "b"]);
  });
  test.each([
    ["another version", definition({ properties: { a: {} } }), "v2"],
    ["anything is kept", definition({ properties: {}, "x-kubernetes-preserve-unknown-fields": true }), "v1"],
    ["no schema", object("CustomResourceDefinition", {}), "v1"],
  ])("cannot be seen: %s", (_, crd, version) => {
    expect(servedFields(crd, version)).toBeUndefined();
  });
  test("of a block's entries are those of spec.attributes[]", () => {
    const entries = { type: "array", items: { properties: { handle_id: {}, secondary: {} } } };
    const found = servedAttributes(definition({ properties: { attributes: entries } }), "v1");
    expect([...(found ?? [])]).toEqual(["handle_id", "secondary"]);
  });
  test.each([
    ["no entries", { properties: {} }],
    [
      "entries keep anything",
      { properties: { attributes: { items: { "x-kubernetes-preserve-unknown-fields": true } } } },
    ],
    ["blocks keep anything", { "x-kubernetes-preserve-unknown-fields": true }],
  ])("of a block's entries cannot be seen: %s", (_, spec) => {
    expect(servedAttributes(definition(spec), "v1")).toBeUndefined();
  });
});

test.each([undefined, null, "x", { versions: {} }, { versions: [null, { name: "v3", schema: null }] }])(
  "a definition with the spec %j tells of no field",
  (spec) => {
    const definition = object("CustomResourceDefinition", { spec });
    expect([servedFields(definition, "v3"), servedAttributes(definition, "v3")]).toEqual([undefined, undefined]);
  },
);
