/** Orders of news that only chance brings about with a real store: answers that come after what happened next. */
import { beforeEach, describe, expect, test } from "vitest";
import { KindCache } from "./cached-kind.ts";
import { poolOf } from "./contract/objects.ts";
import { names } from "./contract/store.ts";
import type { Stored } from "./datastore.ts";

const pool = (uid: string, revision: number): Stored<"IPPool"> => {
  const object = poolOf("pool-a", "10.0.0.0/16") as Stored<"IPPool">;
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion: String(revision) } };
};

let cache: KindCache<"IPPool">;
beforeEach(() => {
  cache = new KindCache();
  cache.replace({ items: [pool("first", 3)], malformed: [], revision: "5" });
});
const listed = () => ({ whole: cache.isWhole, names: names(cache.list({}).items) });

describe("an answer that was overtaken", () => {
  test("by the object's deletion does not bring it back", () => {
    cache.doubt("pool-a");
    const question = cache.ask("pool-a");
    cache.take({ type: "Deleted", object: pool("first", 6) });
    cache.answer(question, pool("first", 3));
    expect(cache.read("pool-a")).toBeUndefined();
    expect(listed()).toEqual({ whole: true, names: [] });
  });

  test("by a newer state does not replace it", () => {
    const question = cache.ask("pool-a");
    cache.take({ type: "Modified", object: pool("first", 6) });
    cache.answer(question, pool("first", 3));
    expect(cache.read("pool-a")?.metadata.resourceVersion).toBe("6");
  });

  test("by another object of the name does not remove that", () => {
    const question = cache.ask("pool-a");
    cache.put(pool("second", 7));
    cache.answer(question, undefined);
    expect(cache.read("pool-a")?.metadata.uid).toBe("second");
  });

  test("by another doubt does not settle that", () => {
    cache.doubt("pool-a");
    const question = cache.ask("pool-a");
    cache.doubt("pool-a");
    cache.answer(question, pool("first", 3));
    expect(cache.read("pool-a")).toBeUndefined();
  });
});

describe("a list to go on from", () => {
  test("keeps what is newer than it, and says so", () => {
    cache.put(pool("first", 9));
    cache.replace({ items: [pool("first", 3)], malformed: [], revision: "8" });
    expect(cache.read("pool-a")?.metadata.resourceVersion).toBe("9");
    expect(cache.isWhole).toBe(false);
    cache.take({ type: "Modified", object: pool("first", 9) });
    expect(listed()).toEqual({ whole: true, names: ["pool-a"] });
  });

  test("does not bring back what was deleted after it was read", () => {
    cache.drop(pool("first", 3));
    cache.replace({ items: [pool("first", 3)], malformed: [], revision: "5" });
    expect(cache.read("pool-a")).toBeUndefined();
    cache.replace({ items: [], malformed: [], revision: "7" });
    expect(listed()).toEqual({ whole: true, names: [] });
  });
});
