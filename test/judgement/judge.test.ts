import { describe, expect, it } from "vitest";
import { CODES } from "../../src/judgement/codes.ts";
import { judge } from "../../src/judgement/judge.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { NOW, sound } from "../cli/sound.ts";
import { DAMAGES } from "./damage.ts";

const found = (snapshot: Snapshot) => judge(snapshot, { now: NOW });
const codesOf = (snapshot: Snapshot) => [...new Set(found(snapshot).map(({ code }) => code))];

describe("every code", () => {
  it("has a data set that shows it", () => {
    expect(new Set(DAMAGES.map(([code]) => code))).toEqual(new Set(Object.keys(CODES)));
  });

  it("is not shown by a cluster that is as it should be", () => {
    expect(found(sound)).toEqual([]);
  });

  it.each(DAMAGES)("%s: %s shows exactly it", (code, _what, damaged) => {
    expect(codesOf({ ...sound, ...damaged })).toEqual([code]);
  });
});
