import { expect, test } from "vitest";
import { keyOf, ObjectStore } from "./store.ts";

const object = (name: string, resourceVersion: string, uid = name) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, resourceVersion, uid },
  data: { list: [1n] },
});

test("replace finds what was added, updated, made anew and deleted while nobody looked", () => {
  const store = new ObjectStore();
  store.replace([object("same", "1"), object("changed", "2"), object("gone", "3"), object("anew", "4")]);
  const changes = store.replace([
    object("same", "1"),
    object("changed", "5"),
    object("anew", "4", "x"),
    object("new", "6"),
  ]);
  expect(Object.fromEntries(changes)).toEqual({ changed: "updated", anew: "updated", new: "added", gone: "deleted" });
  expect(store.list().map(keyOf).sort()).toEqual(["anew", "changed", "new", "same"]);
});

test("an event that a resumed watch repeats is no change", () => {
  const store = new ObjectStore();
  expect([store.put(object("a", "1")), store.put(object("a", "1")), store.put(object("a", "2"))]).toEqual([
    "added",
    undefined,
    "updated",
  ]);
  expect([store.drop("a"), store.drop("a")]).toEqual(["deleted", undefined]);
});

test("what it holds cannot be changed", () => {
  const store = new ObjectStore<ReturnType<typeof object>>();
  store.put(object("a", "1"));
  expect(() => store.get("a")!.data.list.push(2n)).toThrow(TypeError);
});

test("a namespaced object's key carries its namespace", () => {
  expect(keyOf({ apiVersion: "v1", kind: "Pod", metadata: { name: "a", namespace: "b" } })).toBe("b/a");
});
