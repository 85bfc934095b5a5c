/** Both charts inside another chart, which may switch each of them off by the condition of its dependency. */
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { stringify } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { CRDS_CHART, namesOf, OPERATOR_CHART, objectsIn, only, refusal, renderText, type Values } from "./helm.ts";

const CHARTS = [OPERATOR_CHART, CRDS_CHART];
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

/** A chart that contains both; with conditions it names `enabled` of each, with an alias it calls them otherwise. */
async function umbrella({ conditions = false, alias = "" } = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "umbrella-"));
  folders.push(folder);
  const dependencies = CHARTS.map((chart) => {
    const name = basename(chart);
    const condition = conditions && { condition: `${name}.enabled` };
    return { name, version: manifest.version, ...condition, ...(alias && { alias: `${alias}-${name}` }) };
  });
  await mkdir(join(folder, "charts"));
  await writeFile(
    join(folder, "Chart.yaml"),
    stringify({ apiVersion: "v2", name: "umbrella", version: "0.1.0", dependencies }),
  );
  for (const chart of CHARTS) await cp(chart, join(folder, "charts", basename(chart)), { recursive: true });
  return folder;
}

it("takes their values under their names, and Helm's `global`", async () => {
  const global = { team: "network", imageRegistry: "mirror.example" };
  const values = { global, "ipam-operator": { replicas: 3 } };
  const objects = objectsIn(await renderText(await umbrella(), values));
  expect(only(objects, "Deployment")["spec"].template.spec.containers[0].image).toMatch(/^mirror\.example\//);
  expect(only(objects, "Deployment")["spec"].replicas).toBe(3);
  expect(namesOf(objects)).toContain("CustomResourceDefinition ipaminstallations.ipam-operator.io");
});

it("renders each where its condition is left out or holds, and not where it does not", async () => {
  const chart = await umbrella({ conditions: true });
  const kinds = async (values: Values) => objectsIn(await renderText(chart, values)).map(({ kind }) => kind);
  expect(await kinds({})).toEqual(expect.arrayContaining(["Deployment", "CustomResourceDefinition"]));
  const withoutCrds = await kinds({ "ipam-operator": { enabled: true }, "ipam-operator-crds": { enabled: false } });
  expect(withoutCrds).toContain("Deployment");
  expect(withoutCrds).not.toContain("CustomResourceDefinition");
  expect(await kinds({ "ipam-operator": { enabled: false } })).toEqual(["CustomResourceDefinition"]);
});

it("says so where nothing reads `enabled: false`", async () => {
  const chart = await umbrella();
  const words = "enabled is false, and no condition reads it";
  for (const name of ["ipam-operator", "ipam-operator-crds"])
    expect(await refusal(chart, { [name]: { enabled: false } })).toContain(words);
  for (const alone of CHARTS) expect(await refusal(alone, { enabled: false })).toContain(words);
  const renamed = await umbrella({ alias: "our" });
  expect(await refusal(renamed, { "our-ipam-operator": { enabled: false } })).toContain(
    "(condition: our-ipam-operator.enabled)",
  );
});

it("goes on without it in a release that kept the values of one from before (--reuse-values)", async () => {
  for (const alone of CHARTS) {
    const usual = await renderText(alone, { enabled: true });
    expect(await renderText(alone, { enabled: null, global: null })).toBe(usual);
    expect(await renderText(alone, { global: { imageRegistry: null, imagePullSecrets: null } })).toBe(usual);
  }
});
