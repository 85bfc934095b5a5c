/** TRY-27, the servers' half: the words in the table are those of API servers of both groups. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { CREATES, EDITS, nameOf, words, wordsInV1 } from "./refusals.ts";
import { serverWithOldPools, verdictOnCreate, verdictOnEdit } from "./servers.ts";

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane();
  await serverWithOldPools(cluster);
});
afterAll(() => cluster?.stop());

describe.each(["v1", "v3"] as const)("an API server of %s", (group) => {
  const expected = group === "v1" ? { ...words, ...wordsInV1 } : words;

  it("refuses each object of the table in its words", async () => {
    const said = await Promise.all(
      CREATES.map(async (one) => [nameOf(one), await verdictOnCreate(cluster, group, one)]),
    );
    expect(Object.fromEntries(said)).toEqual(
      Object.fromEntries(CREATES.map((one) => [nameOf(one), expected[nameOf(one)]])),
    );
  });

  it("refuses each edit of the table in its words, and takes the others", async () => {
    const said = await Promise.all(EDITS.map(async (one) => [nameOf(one), await verdictOnEdit(cluster, group, one)]));
    expect(Object.fromEntries(said)).toEqual(
      Object.fromEntries(EDITS.map((one) => [nameOf(one), expected[nameOf(one)]])),
    );
  });
});
