/** Helm 3, which many still have, renders what Helm 4 renders, and refuses what Helm 4 refuses. */
import { expect, test } from "vitest";
import { ensureHelm3 } from "../tools/helm.ts";
import { CRDS_CHART, helmOk, OPERATOR_CHART, objectsIn, only, type Rendered, refusal, renderText } from "./helm.ts";
import { rendered } from "./rendered.ts";
import { TOGGLES } from "./toggles.ts";

const helm3 = await ensureHelm3();

/** The two put some kinds into another order. */
const sorted = (objects: readonly Rendered[]) =>
  objects.toSorted((a, b) => `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`));

/** The pod of `helm test`, but for when it is deleted. */
const withoutPolicy = (objects: readonly Rendered[]) =>
  objects.map(({ metadata, ...object }) => {
    const { [POLICY]: _policy, ...annotations } = metadata.annotations ?? {};
    return {
      ...object,
      metadata: { ...metadata, annotations: object["kind"] === "Pod" ? annotations : metadata.annotations },
    };
  });
const POLICY = "helm.sh/hook-delete-policy";

test("is Helm 3, and its lint has nothing to say", async () => {
  expect(await helmOk(["version", "--short"], { program: helm3 })).toMatch(/^v3\./);
  for (const chart of [OPERATOR_CHART, CRDS_CHART]) {
    const said = await helmOk(["lint", "--strict", "--kube-version=1.36.0", chart], { program: helm3 });
    expect(said).not.toMatch(/WARNING|ERROR/);
  }
});

test.each(Object.entries(TOGGLES))("%s: the same objects", async (_name, { values }) => {
  const objects = objectsIn(await renderText(OPERATOR_CHART, values, helm3));
  expect(withoutPolicy(sorted(objects))).toEqual(withoutPolicy(sorted(await rendered(values))));
});

test("the pod of `helm test` goes once it has succeeded, but not with Helm 3, which reads its log after that", async () => {
  const policyIn = (objects: readonly Rendered[]) => only(objects, "Pod").metadata.annotations?.[POLICY];
  expect(policyIn(await rendered())).toBe("before-hook-creation,hook-succeeded");
  expect(policyIn(objectsIn(await renderText(OPERATOR_CHART, {}, helm3)))).toBe("before-hook-creation");
});

test("the CRDs: the same objects", async () => {
  const values = { ipamCRDs: "v3" };
  const [ours, theirs] = await Promise.all([renderText(CRDS_CHART, values), renderText(CRDS_CHART, values, helm3)]);
  expect(sorted(objectsIn(theirs))).toEqual(sorted(objectsIn(ours)));
});

test("what the schema refuses, and what the templates refuse", async () => {
  expect(await refusal(OPERATOR_CHART, { replicaCount: 3 }, helm3)).toContain("'replicaCount' not allowed");
  expect(await refusal(OPERATOR_CHART, { metrics: { secure: false, certSecret: "a" } }, helm3)).toContain(
    "metrics.certSecret is only used with metrics.secure",
  );
});
