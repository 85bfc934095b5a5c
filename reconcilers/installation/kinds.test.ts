/** TRY-42: conditions and events name the configuration as the cluster's API group does. */
import { describe, expect, it } from "vitest";
import { aConfiguration, anInstallation, heldBy, NOW, theSurroundings } from "../../test/support/installations.ts";
import { decide } from "./decide.ts";
import { outcomeOfFailure, UnreadableConfiguration } from "./failure.ts";

describe.each([
  ["crd.projectcalico.org/v1", "IPAMConfig default"],
  ["projectcalico.org/v3", "IPAMConfiguration default"],
  ["embedded", "IPAMConfiguration default"],
])("%s", (apiGroup, name) => {
  const surroundings = theSurroundings({ datastore: { apiGroup, chosenBy: "test" } });
  const wanted = anInstallation({ maxBlocksPerHost: 9 });

  it("one that another owner keeps", () => {
    const stored = aConfiguration(
      { strictAffinity: true },
      { managedFields: [heldBy("argocd", "Apply", ["maxBlocksPerHost"])] },
    );
    const { outcome } = decide({ installation: wanted, stored, surroundings, now: NOW });
    expect(outcome.message).toMatch(new RegExp(`^${name} is managed by `));
  });

  it("one that breaks a rule", () => {
    const stored = aConfiguration({ strictAffinity: false });
    const { outcome } = decide({ installation: wanted, stored, surroundings, now: NOW });
    expect(outcome).toMatchObject({
      reason: "InvalidSpec",
      message: expect.stringContaining(`at fault in the stored ${name}:`),
    });
  });

  it("one that cannot be read", () => {
    const outcome = outcomeOfFailure(new UnreadableConfiguration("spec is missing"), surroundings);
    expect(outcome?.message).toMatch(new RegExp(`^${name} cannot be read: spec is missing`));
  });
});
