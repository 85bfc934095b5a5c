import { describe, expect, it } from "vitest";
import type { Installation } from "../../src/api/installation.ts";
import type { IPAMConfiguration } from "../../src/api/v3.ts";
import { FILE_ANNOTATION } from "../../src/operator/manifest-origin.ts";
import { aConfiguration, anInstallation, heldBy, NOW } from "../../test/support/installations.ts";
import { type DriftEntry, describeDrift, judgeDrift } from "./drift.ts";

const field = "maxBlocksPerHost" as const;
const stored = (value: number) =>
  aConfiguration(
    { strictAffinity: true, maxBlocksPerHost: value },
    { managedFields: [heldBy("ipam-operator", "Update", [field]), heldBy("kubectl-edit", "Update", [field])] },
  );
const minutes = (n: number) => new Date(NOW.getTime() + n * 60_000);

function installed(drift: DriftEntry[] = [], more: { generation?: number; applied?: string } = {}): Installation {
  const { generation = 1, applied = "8" } = more;
  const status = { observedGeneration: 1, applied: [{ name: field, value: applied }], drift };
  return anInstallation({ maxBlocksPerHost: 8 }, { generation, status });
}
const judge = (installation: Installation, found: number, now = NOW) =>
  judgeDrift(installation, [{ field, found, wanted: 8 }], stored(found), now);

/** Another writer changes the field every `every` minutes; returns what became of the last of `times` changes. */
function fightFor(times: number, every: number) {
  let drift: DriftEntry[] = [];
  for (let i = 0; i < times; i++) {
    const { corrected, suspended } = judge(installed(drift), 3, minutes(i * every));
    drift = [...corrected, ...suspended];
  }
  return drift[0];
}

describe("drift", () => {
  it("is a change of a value that was in force by our hand, and names who made it", () => {
    const { corrected } = judge(installed(), 3);
    expect(corrected).toMatchObject([{ name: field, found: "3", wanted: "8", manager: "kubectl-edit" }]);
  });

  it("is not a value that was never in force", () => {
    expect(judge(installed([], { applied: "7" }), 3)).toEqual({ corrected: [], suspended: [] });
  });

  it("names nobody where no trace was left", () => {
    const object = aConfiguration({ strictAffinity: true });
    const { corrected } = judgeDrift(installed(), [{ field, found: 0, wanted: 8 }], object, NOW);
    expect(corrected[0]?.manager).toBe("an unknown writer");
  });

  it("names the manifest where the store keeps no managers, and a deletion as what it is", () => {
    const annotations = { [FILE_ANNOTATION]: "../examples/config.yaml" };
    const fromManifest = aConfiguration({ strictAffinity: true }, { annotations });
    const difference = { field, found: 0, wanted: 8 } as const;
    const says = (object: IPAMConfiguration | undefined) =>
      judgeDrift(installed(), [difference], object, NOW).corrected.map(describeDrift);
    expect(says(fromManifest)).toEqual([
      expect.stringMatching(/changed to 0 by its manifest config\.yaml or another program; reverted to 8/),
    ]);
    expect(says(undefined)).toEqual([expect.stringMatching(/changed to 0 by its deletion; reverted to 8/)]);
  });

  it("is corrected three times within ten minutes and then no more", () => {
    expect(fightFor(3, 2)).toMatchObject({ corrections: { length: 3 } });
    expect(fightFor(3, 2)?.suspended).toBeUndefined();
    expect(fightFor(4, 2)).toMatchObject({ suspended: true, found: "3" });
  });

  it("is corrected for ever when it is rare", () => {
    expect(fightFor(12, 4)?.suspended).toBeUndefined();
  });

  it("stays suspended for as long as neither the spec nor the field changes", () => {
    const suspended = fightFor(4, 2) as DriftEntry;
    expect(judge(installed([suspended]), 3, minutes(600)).suspended).toEqual([suspended]);
  });

  it("is corrected again once the field changes", () => {
    const suspended = fightFor(4, 2) as DriftEntry;
    const { corrected } = judge(installed([suspended]), 5);
    expect(corrected).toMatchObject([{ found: "5", corrections: { length: 1 } }]);
  });

  it("is corrected again, with a fresh count, once the spec changes", () => {
    const suspended = fightFor(4, 2) as DriftEntry;
    const { corrected } = judge(installed([suspended], { generation: 2 }), 3);
    expect(corrected).toMatchObject([{ found: "3", corrections: { length: 1 } }]);
    expect(corrected[0]?.suspended).toBeUndefined();
  });
});
