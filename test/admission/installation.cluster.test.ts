/** The table of configurations through the Installation's CRD, and what else the CRD asks of an Installation. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { CONFIG_CASES, isCombination, ruleOf, wordsOf } from "./config-cases.ts";

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
});
afterAll(() => cluster?.stop());

const judge = (spec: object, name = "default") => {
  const installation = { apiVersion: "ipam-operator.io/v1alpha1", kind: "Installation", metadata: { name }, spec };
  const input = `${JSON.stringify(installation)}\n`;
  return cluster.kubectl(["create", "--dry-run=server", "--filename", "-"], { input });
};

describe.each(CONFIG_CASES)("$name", ({ spec, breaks, hiddenFromInstallation = [] }) => {
  it("is refused exactly for the rules that one Installation shows to be broken", async () => {
    const { code, stderr } = await judge({ managementPolicy: "Enforce", ipam: spec });
    const shown = breaks.filter((name) => !hiddenFromInstallation.includes(name));
    const bySchema = shown.filter((name) => !isCombination(name));
    // Rules between fields are asked only of values that each pass.
    const says =
      bySchema.length > 0 ? bySchema.map((name) => `spec.ipam.${ruleOf(name).fields[0]}`) : shown.map(wordsOf);
    for (const text of says) expect(stderr).toContain(text);
    expect(code).toBe(shown.length > 0 ? 1 : 0);
    if (shown.length === 0) expect(stderr).toBe("");
  });
});

it("a cap is accepted only beside strictAffinity: true in the same Installation", async () => {
  const { stderr } = await judge({
    managementPolicy: "Enforce",
    ipam: { maxBlocksPerHost: 4, autoAllocateBlocks: true },
  });
  expect(stderr).toContain(`spec.ipam.maxBlocksPerHost: Invalid value: ${wordsOf("CapNeedsStrictAffinity")}`);
});

it("only the name default is accepted", async () => {
  const { stderr } = await judge({ managementPolicy: "Observe" }, "other");
  expect(stderr).toContain("the only Installation is the one named default: set metadata.name: default");
});

it("managementPolicy is required and one of three", async () => {
  expect((await judge({})).stderr).toContain("spec.managementPolicy: Required value");
  expect((await judge({ managementPolicy: "enforce" })).stderr).toContain(
    'supported values: "Observe", "Enforce", "Paused"',
  );
});

it("CRD-05: a misspelt field is refused by name", async () => {
  const { code, stderr } = await judge({ managementPolicy: "Enforce", ipam: { strictaffinity: true } });
  expect(code).toBe(1);
  expect(stderr).toContain('unknown field "spec.ipam.strictaffinity"');
});
