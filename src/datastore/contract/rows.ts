/** The contract of one row, for every kind: identity, revisions, compare-and-swap. */
import { describe, expect, test } from "vitest";
import type { Kind } from "../datastore.ts";
import { samples } from "./objects.ts";
import { type Current, code, withSpec } from "./store.ts";

export function describeRows(at: Current): void {
  const kinds = Object.keys(samples) as Kind[];

  describe.each(kinds)("%s", (kind) => {
    const { object, change } = samples[kind];
    const { name } = object.metadata;

    test("is read as it was created, with identity and revision", async () => {
      const created = await at.datastore.create(object);
      expect(created.metadata).toMatchObject({
        name,
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        resourceVersion: expect.any(String),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        generation: 1,
      });
      expect(created.spec).toMatchObject(object.spec);
      expect(await at.datastore.get(kind, name)).toEqual(created);
      expect((await at.datastore.list(kind)).items).toEqual([created]);
    });

    test("is created once", async () => {
      await at.datastore.create(object);
      await expect(at.datastore.create(object)).rejects.toEqual(code("AlreadyExists"));
    });

    test("is created although it carries the identity of an earlier one", async () => {
      const first = await at.datastore.create(object);
      await at.datastore.delete(first);
      const second = await at.datastore.create(first);
      expect(second.metadata.uid).not.toBe(first.metadata.uid);
    });

    test("is not found while there is none", async () => {
      await expect(at.datastore.get(kind, name)).rejects.toEqual(code("NotFound"));
      expect(await at.datastore.list(kind)).toMatchObject({ items: [], malformed: [] });
    });

    test("changes by update: another revision, the next generation, the same identity", async () => {
      const created = await at.datastore.create(object);
      const updated = await at.datastore.update(withSpec(created, change));
      expect(updated.spec).toMatchObject(change);
      expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion);
      expect(updated.metadata).toMatchObject({ uid: created.metadata.uid, generation: 2 });
      expect(await at.datastore.get(kind, name)).toEqual(updated);
    });

    test("keeps its revision when an update changes nothing", async () => {
      const created = await at.datastore.create(object);
      const same = await at.datastore.update(created);
      expect(same.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    });

    test("keeps its generation when only metadata changes", async () => {
      const created = await at.datastore.create(object);
      const annotated = { ...created, metadata: { ...created.metadata, annotations: { "a/b": "c" } } };
      const updated = await at.datastore.update(annotated as typeof created);
      expect(updated.metadata).toMatchObject({ generation: 1, annotations: { "a/b": "c" } });
      expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion);
    });

    test("refuses a write at a stale revision", async () => {
      const created = await at.datastore.create(object);
      const updated = await at.datastore.update(withSpec(created, change));
      await expect(at.datastore.update(created)).rejects.toEqual(code("Conflict"));
      await expect(at.datastore.delete(created)).rejects.toEqual(code("Conflict"));
      expect(await at.datastore.get(kind, name)).toEqual(updated);
    });

    test("refuses a write without a revision", async () => {
      const created = await at.datastore.create(object);
      const { resourceVersion: _revision, ...metadata } = created.metadata;
      const unread = { ...created, metadata } as typeof created;
      await expect(at.datastore.update(unread)).rejects.toEqual(code("Invalid"));
      await expect(at.datastore.delete(unread)).rejects.toEqual(code("Invalid"));
      expect(await at.datastore.get(kind, name)).toEqual(created);
    });

    test("is gone for the holder of another UID", async () => {
      const first = await at.datastore.create(object);
      await at.datastore.delete(first);
      const second = await at.datastore.create(object);
      const { resourceVersion } = second.metadata;
      const mixed = { ...first, metadata: { ...first.metadata, resourceVersion } } as typeof first;
      await expect(at.datastore.update(withSpec(mixed, change))).rejects.toEqual(code("NotFound"));
      await expect(at.datastore.delete(mixed)).rejects.toEqual(code("NotFound"));
      expect(await at.datastore.get(kind, name)).toEqual(second);
    });

    test("is gone after delete", async () => {
      const created = await at.datastore.create(object);
      await at.datastore.delete(created);
      await expect(at.datastore.get(kind, name)).rejects.toEqual(code("NotFound"));
      await expect(at.datastore.update(created)).rejects.toEqual(code("NotFound"));
      await expect(at.datastore.delete(created)).rejects.toEqual(code("NotFound"));
    });

    test("leaves the caller's object alone", async () => {
      const before = structuredClone(object);
      const created = await at.datastore.create(object);
      const read = structuredClone(created);
      await at.datastore.update(withSpec(created, change));
      expect(object).toEqual(before);
      expect(created).toEqual(read);
    });

    test("of two writers at one revision, one wins", async () => {
      const created = await at.datastore.create(object);
      const label = (value: string) =>
        ({ ...created, metadata: { ...created.metadata, annotations: { writer: value } } }) as typeof created;
      const results = await Promise.allSettled(["a", "b", "c", "d"].map((w) => at.datastore.update(label(w))));
      const lost = results.filter((result) => result.status === "rejected");
      expect(lost.map(({ reason }) => reason)).toEqual([code("Conflict"), code("Conflict"), code("Conflict")]);
    });
  });
}
