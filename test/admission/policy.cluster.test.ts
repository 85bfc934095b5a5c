/** The admission policy on a real API server, as kubectl's users meet it: both generations, refusing and warning. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { CONFIG_CASES, type ConfigCase, isCombination, ruleOf, wordsOf } from "./config-cases.ts";

const GENERATIONS = [
  {
    name: "v1",
    apiVersion: "crd.projectcalico.org/v1",
    kind: "IPAMConfig",
    resource: "ipamconfigs.v1.crd.projectcalico.org",
  },
  {
    name: "v3",
    apiVersion: "projectcalico.org/v3",
    kind: "IPAMConfiguration",
    resource: "ipamconfigurations.v3.projectcalico.org",
  },
] as const;
type Generation = (typeof GENERATIONS)[number];
const BOTH_OFF = { strictAffinity: false, autoAllocateBlocks: false };
const LAX_CAP = { strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 4 };
const KEPT = { strictAffinity: true, autoAllocateBlocks: true };

let cluster: ControlPlane;
const body = ({ apiVersion, kind }: Generation, name: string, spec: object, annotations = {}) =>
  `${JSON.stringify({ apiVersion, kind, metadata: { name, annotations }, spec })}\n`;
const send = (verb: "create" | "replace", input: string, ...flags: string[]) =>
  cluster.kubectl([verb, ...flags, "--filename", "-"], { input });
/** Through admission and no further. */
const judge = (verb: "create" | "replace", input: string) => send(verb, input, "--dry-run=server");
/** v1's schema requires both switches. */
const written = ({ name }: Generation, spec: object) =>
  name === "v1" ? { strictAffinity: false, autoAllocateBlocks: true, ...spec } : spec;

/** Applies a variant of the policy and waits until the API server has taken it up. */
async function activate(variant: "deny" | "warn"): Promise<void> {
  await cluster.apply(join(import.meta.dirname, `../../crds/admission/ipam-configuration-${variant}.yaml`));
  const answer = variant === "deny" ? "denied request" : "Warning: Validation failed";
  for (const generation of GENERATIONS) {
    const probe = async () => (await judge("create", body(generation, "probe", BOTH_OFF))).stderr;
    await vi.waitFor(async () => expect(await probe()).toContain(answer), { timeout: 15_000, interval: 200 });
  }
}

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  for (const generation of GENERATIONS) {
    for (const [name, spec] of Object.entries({ kept: KEPT, "both-off": BOTH_OFF, "lax-cap": LAX_CAP })) {
      expect((await send("create", body(generation, name, spec))).stderr).toBe("");
    }
  }
});
afterAll(() => cluster?.stop());

/** Fields that the generation's schema refuses before any policy is asked. */
const schemaObjections = ({ breaks, withinV1Schema }: ConfigCase, { name }: Generation) =>
  name === "v1" && withinV1Schema
    ? []
    : breaks.filter((rule) => !isCombination(rule)).flatMap((rule) => ruleOf(rule).fields);

function expectVerdict(
  answer: { code: number; stderr: string },
  one: ConfigCase,
  generation: Generation,
  denies: boolean,
) {
  const bySchema = schemaObjections(one, generation);
  const words = bySchema.length > 0 ? [] : one.breaks.filter(isCombination).map(wordsOf);
  for (const field of bySchema) expect(answer.stderr).toContain(`spec.${field}`);
  for (const text of words) expect(answer.stderr).toContain(text);
  const refused = bySchema.length > 0 || (denies && words.length > 0);
  expect(answer.code).toBe(refused ? 1 : 0);
  if (bySchema.length + words.length === 0) expect(answer.stderr).toBe("");
}

describe.each(["deny", "warn"] as const)("%s", (variant) => {
  beforeAll(() => activate(variant));
  const denies = variant === "deny";

  describe.each(GENERATIONS)("$name", (generation) => {
    it.each(CONFIG_CASES)("create: $name", async (one) => {
      const answer = await judge("create", body(generation, "new", written(generation, one.spec)));
      expectVerdict(answer, one, generation, denies);
    });

    it.each(CONFIG_CASES)("update of one that kept the rules: $name", async (one) => {
      const answer = await judge("replace", body(generation, "kept", written(generation, one.spec)));
      expectVerdict(answer, one, generation, denies);
    });

    it.each([
      ["its annotations", "both-off", BOTH_OFF],
      ["another field", "both-off", { ...BOTH_OFF, ipCooldownSeconds: 60 }],
      ["towards the rule", "both-off", KEPT],
      ["the value at fault, still at fault", "lax-cap", { ...LAX_CAP, maxBlocksPerHost: 8 }],
    ])("update of one that breaks a rule already passes: %s", async (_, name, spec) => {
      expect(await judge("replace", body(generation, name, spec, { touched: "yes" }))).toMatchObject({
        code: 0,
        stderr: "",
      });
    });

    it("update of one that breaks a rule already is held to the other rule", async () => {
      const answer = await judge("replace", body(generation, "both-off", { ...BOTH_OFF, maxBlocksPerHost: 3 }));
      expect(answer.code).toBe(denies ? 1 : 0);
      expect(answer.stderr).toContain(
        `${wordsOf("CapNeedsStrictAffinity")} (found maxBlocksPerHost: 3, strictAffinity: false)`,
      );
      expect(answer.stderr).not.toContain(wordsOf("AllocatesSomewhere"));
    });

    it("lets pass what Calico's own writers write", async () => {
      const recorded = JSON.parse(
        readFileSync(join(import.meta.dirname, `../golden/ipamconfig.${generation.name}.json`), "utf8"),
      ).table as { accepted: boolean; bodies: string[] }[];
      const bodies = [...new Set(recorded.filter(({ accepted }) => accepted).flatMap(({ bodies }) => bodies))];
      expect(bodies.length).toBeGreaterThan(8);
      for (const recordedBody of bodies) {
        expect(await judge("create", recordedBody), recordedBody).toMatchObject({ code: 0, stderr: "" });
      }
    });
  });
});

describe("beside an older CRD, without defaults and required fields", () => {
  const generation = GENERATIONS[1];
  beforeAll(async () => {
    await activate("deny");
    const older = JSON.parse(
      await cluster.kubectlOk(["get", "crd", "ipamconfigurations.projectcalico.org", "--output", "json"]),
    );
    const { openAPIV3Schema } = older.spec.versions[0].schema;
    const { spec } = openAPIV3Schema.properties;
    openAPIV3Schema.required = ["metadata"];
    delete spec.required;
    for (const field of Object.values(spec.properties) as { default?: unknown }[]) delete field.default;
    await cluster.kubectlOk(["replace", "--filename", "-"], { input: JSON.stringify(older) });
    const stored = async () =>
      (await send("create", body(generation, "bare", {}), "--dry-run=server", "--output=json")).stdout;
    const undefaulted = async () => expect(await stored()).not.toContain("autoAllocateBlocks");
    await vi.waitFor(undefaulted, { timeout: 15_000, interval: 200 });
  });

  it.each(CONFIG_CASES)("create: $name", async (one) => {
    expectVerdict(await judge("create", body(generation, "bare", one.spec)), one, generation, true);
  });

  it("an absent spec breaks nothing", async () => {
    const { apiVersion, kind } = generation;
    const input = `${JSON.stringify({ apiVersion, kind, metadata: { name: "bare" } })}\n`;
    expect(await judge("create", input)).toMatchObject({ code: 0, stderr: "" });
  });
});
