/** The page of reasons and events lists every event that the reconcilers record. */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { OTHER_EVENTS } from "./other-events.ts";
import { REASONS } from "./reasons.ts";

const sources = globSync(["reconcilers/installation/{announce,warnings}.ts", "reconcilers/rbac/report.ts"]);
/** Words after `type` of an event, `reason:` of a message and `type:` of a warning. */
const RECORDED = /tell\("(?:Normal|Warning)", "(\w+)"|\breason: "(\w+)"|^ +type: "(?!Normal|Warning)(\w+)",$/gm;

it("has each event beside the reasons, with meaning and fix", () => {
  const recorded = sources.flatMap((path) =>
    [...readFileSync(path, "utf8").matchAll(RECORDED)].map(([, ...names]) => names.find((name) => name !== undefined)),
  );
  expect(sources).toHaveLength(3);
  expect([...new Set(recorded)].sort()).toEqual(Object.keys(OTHER_EVENTS).sort());
});

it("says of each reason and event what it means, in sentences", () => {
  for (const { meaning, action } of [...Object.values(REASONS), ...Object.values(OTHER_EVENTS)]) {
    expect(meaning).toMatch(/^[A-Za-z].*\.$/);
    expect(action).toMatch(/^[a-z].*[^.]$/);
  }
});
