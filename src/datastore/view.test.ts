import { describe, expect, test } from "vitest";
import { handleOf } from "./contract/objects.ts";
import type { Stored } from "./datastore.ts";
import { marked } from "./rows.ts";
import { View } from "./view.ts";

const at = (name: string, resourceVersion: string): Stored<"IPAMHandle"> => {
  const handle = handleOf(name) as Stored<"IPAMHandle">;
  return { ...handle, metadata: { ...handle.metadata, resourceVersion } };
};
const gone = (name: string, resourceVersion: string) => marked<"IPAMHandle">(at(name, resourceVersion));
const shown = (events: readonly ({ type: string; object: Stored<"IPAMHandle"> } | undefined)[]) =>
  events.map((event) => event && `${event.type} ${event.object.metadata.name}`);

describe("a view that goes on from the caller's list", () => {
  test.each([
    ["a change of a row", "MODIFIED", at("a", "2"), "Modified a"],
    ["a new row", "ADDED", at("a", "2"), "Added a"],
    ["a removed row", "DELETED", at("a", "2"), "Deleted a"],
    ["a mark", "MODIFIED", gone("a", "2"), "Deleted a"],
    ["the removal of a row that was marked already", "DELETED", gone("a", "2"), undefined],
    ["a row that is born marked", "ADDED", gone("a", "2"), undefined],
  ] as const)("%s", (_what, type, object, expected) => {
    expect(shown([new View<"IPAMHandle">().take(type, object)])).toEqual([expected]);
  });
});

test("a mark is shown once, its removal and further changes of the marked row are not, a new row is", () => {
  const view = new View<"IPAMHandle">();
  const events = [
    view.take("ADDED", at("a", "1")),
    view.take("MODIFIED", gone("a", "2")),
    view.take("MODIFIED", gone("a", "3")),
    view.take("DELETED", gone("a", "4")),
    view.take("ADDED", at("a", "5")),
  ];
  expect(shown(events)).toEqual(["Added a", "Deleted a", undefined, undefined, "Added a"]);
});

test("a mark that is taken back shows the row again", () => {
  const view = new View<"IPAMHandle">();
  view.take("ADDED", gone("a", "1"));
  expect(shown([view.take("MODIFIED", at("a", "2"))])).toEqual(["Added a"]);
});

describe("the difference between two lists", () => {
  const view = () => {
    const made = new View<"IPAMHandle">();
    made.replace([at("a", "1"), at("b", "1"), at("c", "1")]);
    return made;
  };

  test("shows what went, what changed and what came, and not what stayed", () => {
    const events = view().replace([at("a", "1"), at("b", "2"), at("d", "3")]);
    expect(shown(events)).toEqual(["Deleted c", "Modified b", "Added d"]);
  });

  test("shows a row that was marked meanwhile as deleted", () => {
    expect(shown(view().replace([at("a", "1"), at("b", "1"), gone("c", "2")]))).toEqual(["Deleted c"]);
  });

  test("an object that cannot be read is not taken for gone", () => {
    expect(shown(view().replace([at("a", "1"), at("b", "1")], [{ name: "c" }]))).toEqual([]);
  });
});

test("a removed row that cannot be read is shown as it was last known, if it was", () => {
  const view = new View<"IPAMHandle">();
  view.take("ADDED", at("a", "1"));
  expect(shown([view.drop("a"), view.drop("a"), view.drop("b")])).toEqual(["Deleted a", undefined, undefined]);
});
