/**
 * Configurations as people really write them (inputs 05 and 06), applied with kubectl where the CRDs and the admission
 * policy stand at the door. What the operator makes of them is tested with the operator.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { wordsOf } from "./config-cases.ts";

const V1 = "ipamconfigs.v1.crd.projectcalico.org";
const V3 = "ipamconfigurations.v3.projectcalico.org";
const documents = (file: string): string[] =>
  parseAllDocuments(readFileSync(join(import.meta.dirname, "../cases/inputs", file), "utf8")).map((document) =>
    stringify(document.toJS()),
  );
const inTheWild = documents("06-ipamconfiguration-in-the-wild.yaml");
const [a, b, c, d, e, f, g] = inTheWild as [string, string, string, string, string, string, string];

let cluster: ControlPlane;
const apply = (input: string, ...flags: string[]) => cluster.kubectl(["apply", ...flags, "--filename", "-"], { input });
const stored = async (resource: string, name = "default") =>
  JSON.parse(await cluster.kubectlOk(["get", resource, name, "--output", "json"])).spec;

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  await cluster.apply(join(import.meta.dirname, "../../crds/admission/ipam-configuration-deny.yaml"));
  const refused = async () => expect((await apply(c, "--dry-run=server")).stderr).toContain("denied request");
  await vi.waitFor(refused, { timeout: 15_000, interval: 200 });
});
beforeEach(() => cluster.kubectlOk(["delete", V1, "--all"]));
beforeEach(() => cluster.kubectlOk(["delete", V3, "--all"]));
afterAll(() => cluster?.stop());

describe("CFG-03: autoAllocateBlocks left out (input 06 a)", () => {
  it("means true in v3", async () => {
    expect((await apply(a)).code).toBe(0);
    expect(await stored(V3)).toEqual({ strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 4 });
  });

  it("is refused in v1, whose schema requires it", async () => {
    const inV1 = a
      .replace("projectcalico.org/v3", "crd.projectcalico.org/v1")
      .replace("IPAMConfiguration", "IPAMConfig");
    expect((await apply(inV1)).stderr).toContain("spec.autoAllocateBlocks: Required value");
  });
});

describe("CFG-04: what breaks a rule between fields is refused with the rule's words", () => {
  it.each([
    ["b, a cap without strict affinity", b, wordsOf("CapNeedsStrictAffinity")],
    ["c, both off", c, wordsOf("AllocatesSomewhere")],
  ])("input 06 %s", async (_, input, words) => {
    const { code, stderr } = await apply(input);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
    expect(await cluster.kubectlOk(["get", V3])).toBe("");
  });
});

describe("input 06: what the schema refuses, by field", () => {
  it("d: text where switches and numbers belong", async () => {
    const { stderr } = await apply(d);
    expect(stderr).toContain("spec.strictAffinity in body must be of type boolean");
    expect(stderr).toContain("spec.autoAllocateBlocks in body must be of type boolean");
    expect(stderr).toContain("spec.maxBlocksPerHost in body must be of type integer");
  });

  it("f: the v1 kind in the v3 group", async () => {
    expect((await apply(f)).stderr).toContain('no matches for kind "IPAMConfig" in version "projectcalico.org/v3"');
  });

  it("g: numbers out of bounds", async () => {
    const { stderr } = await apply(g);
    expect(stderr).toContain("spec.maxBlocksPerHost in body should be greater than or equal to 0");
    expect(stderr).toContain("spec.ipCooldownSeconds in body should be less than or equal to 1200");
  });
});

describe("CRD-05: a misspelt field (input 06 e)", () => {
  const named = e.replace("name: Default", "name: default");

  it("is refused by name, and so is the name in capitals", async () => {
    const { stderr } = await apply(e);
    expect(stderr).toContain('unknown field "spec.StrictAffinity", unknown field "spec.maxblocksperhost"');
    expect((await apply(e, "--validate=ignore")).stderr).toContain('metadata.name: Invalid value: "Default"');
  });

  it("is named in a warning where the user asks for warnings only, and not stored", async () => {
    const { code, stderr } = await apply(named, "--validate=warn");
    expect(code).toBe(0);
    expect(stderr).toContain('Warning: unknown field "spec.StrictAffinity"');
    expect(await stored(V3)).toEqual({ strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 0 });
  });
});

it("input 05: a wrong name and another owner's object are Calico's to accept", async () => {
  for (const input of documents("05-ipamconfig-wrong-name-and-helm-owned.yaml")) {
    expect(await apply(input)).toMatchObject({ code: 0, stderr: "" });
  }
  expect(await stored(V1, "distro-config")).toEqual({ autoAllocateBlocks: true, strictAffinity: true });
  const helm = JSON.parse(await cluster.kubectlOk(["get", V1, "default", "--output", "json"])).metadata;
  expect(helm.labels).toEqual({ "app.kubernetes.io/managed-by": "Helm" });
});
