/**
 * The admission policy on a real API server: both generations, refusing and warning. The calls are dry runs of what
 * kubectl sends: through admission and no further.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Resource, resources } from "../../src/api/resources.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { CONFIG_CASES, type ConfigCase, isCombination, ruleOf, wordsOf } from "./config-cases.ts";

const { v1, v3 } = resources.IPAMConfiguration;
const GENERATIONS: readonly Resource[] = [v1, v3];
const BOTH_OFF = { strictAffinity: false, autoAllocateBlocks: false };
const LAX_CAP = { strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 4 };
const KEPT = { strictAffinity: true, autoAllocateBlocks: true };

let cluster: ControlPlane;
let dispatcher: Agent;

interface Verdict {
  readonly refused: boolean;
  /** The refusal, or the warnings; empty where nothing is objected to. */
  readonly says: string;
}
async function call(method: "GET" | "POST" | "PUT", path: string, body?: object) {
  const headers = { authorization: `Bearer ${cluster.adminToken}`, "content-type": "application/json" };
  const url = `${cluster.server}${path}`;
  const answer = await request(url, { method, headers, dispatcher, body: body ? JSON.stringify(body) : null });
  const object = (await answer.body.json()) as {
    message?: string;
    metadata: { resourceVersion: string };
    spec?: object;
  };
  return { status: answer.statusCode, object, warning: `${answer.headers["warning"] ?? ""}` };
}
const pathOf = ({ group, version, plural }: Resource) => `/apis/${group}/${version}/${plural}`;
const objectOf = ({ group, version, kind }: Resource, name: string, spec?: object, metadata = {}) => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name, ...metadata },
  ...(spec && { spec }),
});

const verdictOf = ({ status, object, warning }: Awaited<ReturnType<typeof call>>): Verdict => ({
  refused: status >= 400,
  says: status >= 400 ? object.message! : warning.replaceAll("\\", ""),
});
const judgeCreate = async (resource: Resource, object: object) =>
  verdictOf(await call("POST", `${pathOf(resource)}?dryRun=All`, object));
const judgeUpdate = async (resource: Resource, name: string, spec: object, annotations = {}) => {
  const path = `${pathOf(resource)}/${name}`;
  const { resourceVersion } = (await call("GET", path)).object.metadata;
  const update = objectOf(resource, name, spec, { resourceVersion, annotations });
  return verdictOf(await call("PUT", `${path}?dryRun=All`, update));
};
/** v1's schema requires both switches. */
const written = (resource: Resource, spec: object) =>
  resource === v1 ? { strictAffinity: false, autoAllocateBlocks: true, ...spec } : spec;

/** Applies a variant of the policy and waits until the API server has taken it up. */
async function activate(variant: "deny" | "warn"): Promise<void> {
  await cluster.apply(join(import.meta.dirname, `../../crds/admission/ipam-configuration-${variant}.yaml`));
  const probe = async (resource: Resource) =>
    expect(await judgeCreate(resource, objectOf(resource, "probe", BOTH_OFF))).toEqual({
      refused: variant === "deny",
      says: expect.stringContaining(wordsOf("AllocatesSomewhere")),
    });
  for (const resource of GENERATIONS) await vi.waitFor(() => probe(resource), { timeout: 15_000, interval: 100 });
}

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  dispatcher = new Agent({ connect: { ca: cluster.caData } });
  for (const resource of GENERATIONS) {
    for (const [name, spec] of Object.entries({ kept: KEPT, "both-off": BOTH_OFF, "lax-cap": LAX_CAP })) {
      expect((await call("POST", pathOf(resource), objectOf(resource, name, spec))).status).toBe(201);
    }
  }
});
afterAll(async () => {
  await dispatcher?.close();
  await cluster?.stop();
});

/** Fields that the generation's schema refuses before any policy is asked. */
const schemaObjections = ({ breaks, withinV1Schema }: ConfigCase, resource: Resource) =>
  resource === v1 && withinV1Schema
    ? []
    : breaks.filter((rule) => !isCombination(rule)).flatMap((rule) => ruleOf(rule).fields);

function expectVerdict({ refused, says }: Verdict, one: ConfigCase, resource: Resource, denies: boolean) {
  const bySchema = schemaObjections(one, resource);
  const words = bySchema.length > 0 ? [] : one.breaks.filter(isCombination).map(wordsOf);
  for (const field of bySchema) expect(says).toContain(`spec.${field}`);
  for (const text of words) expect(says).toContain(text);
  expect(refused).toBe(bySchema.length > 0 || (denies && words.length > 0));
  if (bySchema.length + words.length === 0) expect(says).toBe("");
}

const passes = { refused: false, says: "" };

describe.each(["deny", "warn"] as const)("%s", (variant) => {
  beforeAll(() => activate(variant));
  const denies = variant === "deny";

  describe.each(GENERATIONS)("$kind", (resource) => {
    it.each(CONFIG_CASES)("create: $name", async (one) => {
      const verdict = await judgeCreate(resource, objectOf(resource, "new", written(resource, one.spec)));
      expectVerdict(verdict, one, resource, denies);
    });

    it.each(CONFIG_CASES)("update of one that kept the rules: $name", async (one) => {
      expectVerdict(await judgeUpdate(resource, "kept", written(resource, one.spec)), one, resource, denies);
    });

    it.each([
      ["its annotations", "both-off", BOTH_OFF],
      ["another field", "both-off", { ...BOTH_OFF, ipCooldownSeconds: 60 }],
      ["towards the rule", "both-off", KEPT],
      ["the value at fault, still at fault", "lax-cap", { ...LAX_CAP, maxBlocksPerHost: 8 }],
    ])("update of one that breaks a rule already passes: %s", async (_, name, spec) => {
      expect(await judgeUpdate(resource, name, spec, { touched: "yes" })).toEqual(passes);
    });

    it("update of one that breaks a rule already is held to the other rule", async () => {
      const { refused, says } = await judgeUpdate(resource, "both-off", { ...BOTH_OFF, maxBlocksPerHost: 3 });
      expect(refused).toBe(denies);
      expect(says).toContain(`${wordsOf("CapNeedsStrictAffinity")} (found maxBlocksPerHost: 3, strictAffinity: false)`);
      expect(says).not.toContain(wordsOf("AllocatesSomewhere"));
    });

    it("lets pass what Calico's own writers write", async () => {
      const file = join(import.meta.dirname, `../golden/ipamconfig.${resource.version}.json`);
      const { table } = JSON.parse(readFileSync(file, "utf8")) as { table: { accepted: boolean; bodies: string[] }[] };
      const bodies = [...new Set(table.filter(({ accepted }) => accepted).flatMap(({ bodies }) => bodies))];
      expect(bodies.length).toBeGreaterThan(8);
      for (const body of bodies) expect(await judgeCreate(resource, JSON.parse(body)), body).toEqual(passes);
    });
  });
});

describe("beside an older CRD, without defaults and required fields", () => {
  beforeAll(async () => {
    await activate("deny");
    const crd = ["get", "crd", "ipamconfigurations.projectcalico.org", "--output", "json"];
    const older = JSON.parse(await cluster.kubectlOk(crd));
    const { openAPIV3Schema } = older.spec.versions[0].schema;
    const { spec } = openAPIV3Schema.properties;
    openAPIV3Schema.required = ["metadata"];
    delete spec.required;
    for (const field of Object.values(spec.properties) as { default?: unknown }[]) delete field.default;
    await cluster.kubectlOk(["replace", "--filename", "-"], { input: JSON.stringify(older) });
    const undefaulted = async () => {
      const { object } = await call("POST", `${pathOf(v3)}?dryRun=All`, objectOf(v3, "bare", {}));
      expect(object.spec).toEqual({});
    };
    await vi.waitFor(undefaulted, { timeout: 15_000, interval: 100 });
  });

  it.each(CONFIG_CASES)("create: $name", async (one) => {
    expectVerdict(await judgeCreate(v3, objectOf(v3, "bare", one.spec)), one, v3, true);
  });

  it("an absent spec breaks nothing", async () => {
    expect(await judgeCreate(v3, objectOf(v3, "bare"))).toEqual(passes);
  });
});
