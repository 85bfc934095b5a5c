/** Values and names that a chart may trip over although they are right: each arrives as it was given. */
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { OperatorValues } from "../../scripts/chart/values.ts";
import { CRDS_CHART, helmOk, OPERATOR_CHART, only, type Rendered } from "./helm.ts";
import { deploymentOf, podOf } from "./rendered.ts";

/** As a strict reader has it: a key that stands twice is an error, and not the last one's. */
async function objectsOf(chart: string, values: OperatorValues, release: string, namespace: string) {
  const args = ["template", release, chart, "--namespace", namespace, "--kube-version=1.36.0"];
  const documents = parseAllDocuments(await helmOk(args, { values: values as Record<string, unknown> }));
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return documents.flatMap((document) => (document.toJS() as Rendered | null) ?? []);
}

/** What of an object is a text wherever it stands. */
function textsIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (["labels", "annotations", "matchLabels"].includes(key)) return Object.values(inner as object);
    const named = ["name", "namespace", "serviceAccountName", "secretName", "priorityClassName", "image"].includes(key);
    return named ? [inner] : textsIn(inner);
  });
}

const EVERYTHING: OperatorValues = {
  serviceAccount: { name: "0123" },
  priorityClassName: "1000",
  rbac: { deleteOnUninstall: true },
  metrics: {
    secure: true,
    certSecret: "456",
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboard: { enabled: true },
  },
  networkPolicy: { enabled: true },
  installation: { create: true },
};

test.each(["123", "1e3", "true", "null"])("a release and a namespace may be called %s", async (name) => {
  const charts = { [OPERATOR_CHART]: EVERYTHING, [CRDS_CHART]: {} };
  for (const [chart, values] of Object.entries(charts)) {
    const objects = await objectsOf(chart, values, name, name);
    const texts = objects.flatMap((object) =>
      textsIn({ ...object, spec: object.kind.startsWith("Custom") ? {} : object["spec"] }),
    );
    expect(texts.length).toBeGreaterThan(5);
    expect(texts.filter((text) => typeof text !== "string")).toEqual([]);
    expect(texts).toContain(name);
  }
});

test("names of digits arrive as texts", async () => {
  const objects = await objectsOf(OPERATOR_CHART, EVERYTHING, "a", "b");
  const pod = only(objects, "Deployment")["spec"].template.spec;
  expect(pod).toMatchObject({ serviceAccountName: "0123", priorityClassName: "1000" });
  expect(pod.volumes[0].secret.secretName).toBe("456");
  expect(only(objects, "ClusterRoleBinding", "ipam-operator:operator")["subjects"][0].name).toBe("0123");
});

test("a number as a values file has it is an integer, however large", async () => {
  const { spec } = (await deploymentOf({ terminationGracePeriodSeconds: 2_000_000 }))["spec"].template;
  expect(spec.terminationGracePeriodSeconds).toBe(2_000_000);
});

test("a spread constraint keeps what it says, and each key stands once", async () => {
  const own = { maxSkew: 1, topologyKey: "rack", whenUnsatisfiable: "ScheduleAnyway" };
  const selector = (await podOf()).topologySpreadConstraints[0].labelSelector;
  const given = [
    { ...own, labelSelector: {} },
    { ...own, labelSelector: null },
    { ...own, matchLabelKeys: ["team"] },
    { ...own, labelSelector: { matchExpressions: [{ key: "a", operator: "Exists" }] } },
  ];
  const objects = await objectsOf(
    OPERATOR_CHART,
    { topologySpreadConstraints: given },
    "ipam-operator",
    "ipam-operator",
  );
  expect(only(objects, "Deployment")["spec"].template.spec.topologySpreadConstraints).toEqual([
    given[0],
    { ...own, labelSelector: selector, matchLabelKeys: ["pod-template-hash"] },
    { ...own, labelSelector: selector, matchLabelKeys: ["team"] },
    given[3],
  ]);
});
