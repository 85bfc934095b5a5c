/** What the operator's chart renders, without a cluster: which objects for which values, and what stands in them. */
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { operatorObjects } from "../../rbac/generate.ts";
import { parseSubjects } from "../../rbac/subjects.ts";
import type { OperatorValues } from "../../scripts/chart/values.ts";
import { generatePolicies, policyPath } from "../../scripts/crd/policies.ts";
import { installationSpec } from "../../src/api/installation.ts";
import { CRDS_CHART, helm, helmOk, namesOf, OPERATOR_CHART, only, type Rendered, renderText } from "./helm.ts";
import { deploymentOf, optionsOf, rendered } from "./rendered.ts";
import { objectsOf, TOGGLES } from "./toggles.ts";

test("helm lint has nothing to say", async () => {
  for (const chart of [OPERATOR_CHART, CRDS_CHART]) {
    expect(await helmOk(["lint", "--strict", chart])).not.toMatch(/WARNING|ERROR/);
  }
});

test.each(Object.entries(TOGGLES))(
  "%s: renders exactly its objects, labelled, each where it belongs",
  async (_, toggle) => {
    const objects = await rendered(toggle.values);
    expect(namesOf(objects)).toEqual(objectsOf(toggle));
    for (const { kind, metadata } of objects) {
      if (!isLeftToTheOperator(kind, metadata)) expect(metadata.labels).toMatchObject(labelsOf(kind));
      const place = metadata.name.endsWith(":events") ? "default" : "ipam-operator";
      expect(metadata.namespace).toBe(isNamespaced(kind) ? place : undefined);
    }
  },
);

/** Hooks that only name what is the operator's or the user's. */
const isLeftToTheOperator = (kind: string, { labels }: Rendered["metadata"]) =>
  kind === "Lease" || kind === "Installation" || labels?.["app.kubernetes.io/managed-by"] === "ipam-operator";

const labelsOf = (kind: string) => ({
  "app.kubernetes.io/name": "ipam-operator",
  "app.kubernetes.io/instance": "ipam-operator",
  "app.kubernetes.io/version": expect.stringMatching(/^\d+\.\d+\.\d+/),
  "app.kubernetes.io/component": kind === "Pod" ? "test" : "operator",
  "app.kubernetes.io/part-of": "ipam-operator",
  "app.kubernetes.io/managed-by": "Helm",
  "helm.sh/chart": expect.stringMatching(/^ipam-operator-\d+\.\d+\.\d+/),
});

const isNamespaced = (kind: string) =>
  !kind.startsWith("Cluster") && !kind.startsWith("ValidatingAdmission") && kind !== "Installation";

test("the operator may do what rbac/operator.yaml lets it do, and nothing else", async () => {
  const objects = await rendered();
  const roles = (operatorObjects() as Rendered[]).filter(({ kind }) => /Role$/.test(kind));
  expect(roles).toHaveLength(3);
  for (const { kind, metadata, rules } of roles) {
    expect(only(objects, kind, metadata.name)["rules"]).toEqual(rules);
  }
  const bindings = objects.filter(({ kind }) => kind.endsWith("Binding") && !kind.startsWith("Validating"));
  expect(bindings).toHaveLength(3);
  for (const { kind, metadata, roleRef, subjects } of bindings) {
    expect(roleRef).toEqual({
      apiGroup: "rbac.authorization.k8s.io",
      kind: kind.replace("Binding", ""),
      name: metadata.name,
    });
    expect(subjects).toEqual([{ kind: "ServiceAccount", name: "ipam-operator", namespace: "ipam-operator" }]);
  }
});

test("somebody else's ServiceAccount is used and bound", async () => {
  const objects = await rendered({ serviceAccount: { create: false, name: "theirs" } });
  expect(only(objects, "Deployment")["spec"].template.spec.serviceAccountName).toBe("theirs");
  expect(only(objects, "ClusterRoleBinding")["subjects"][0].name).toBe("theirs");
});

test("a pod has a token because it asks for one, and the test's pod has none", async () => {
  const objects = await rendered();
  expect(only(objects, "ServiceAccount")["automountServiceAccountToken"]).toBe(false);
  expect(only(objects, "Deployment")["spec"].template.spec.automountServiceAccountToken).toBe(true);
  expect(only(objects, "Pod")["spec"].automountServiceAccountToken).toBe(false);
});

test("who gets which role: the file is what the operator reads, and a change of it starts new pods", async () => {
  const subjects = { viewer: [{ kind: "Group" as const, name: "on-call" }] };
  const objects = await rendered({ rbac: { subjects } });
  const { metadata, data } = only(objects, "ConfigMap");
  expect(Object.fromEntries(parseSubjects(data["subjects.yaml"], "the chart"))).toEqual(subjects);
  const { containers, volumes } = only(objects, "Deployment")["spec"].template.spec;
  expect(volumes).toEqual([{ name: "rbac-subjects", configMap: { name: metadata.name } }]);
  const { rbacSubjects } = await optionsOf({ rbac: { subjects } });
  expect(rbacSubjects).toBe(`${containers[0].volumeMounts[0].mountPath}/subjects.yaml`);
  const checksum = async (name: string) =>
    (await deploymentOf({ rbac: { subjects: { viewer: [{ kind: "Group", name }] } } }))["spec"].template.metadata
      .annotations["ipam-operator.io/subjects-checksum"];
  expect(await checksum("on-call")).not.toBe(await checksum("everybody"));
});

test("the first Installation observes unless told otherwise, and is what the operator takes", async () => {
  const first = async (values: OperatorValues["installation"]) =>
    installationSpec.parse(only(await rendered({ installation: { create: true, ...values } }), "Installation")["spec"]);
  expect(await first({})).toEqual({ managementPolicy: "Observe" });
  const ipam = { strictAffinity: true, maxBlocksPerHost: 8 };
  expect(await first({ managementPolicy: "Enforce", ipam })).toEqual({ managementPolicy: "Enforce", ipam });
});

test("the first Installation is a hook that Helm never deletes before it creates it", async () => {
  const { metadata } = only(await rendered({ installation: { create: true } }), "Installation");
  expect(metadata.annotations).toEqual({
    "helm.sh/hook": "post-install,post-upgrade",
    "helm.sh/hook-delete-policy": "hook-failed",
  });
});

describe.each([
  ["ipam-configuration", "admissionPolicy"],
  ["ipam-block-size", "blockSizePolicy"],
] as const)("the policy %s", (policy, value) => {
  test.each(["Deny", "Warn"] as const)("with %s is that of crds/admission", async (action) => {
    const objects = await rendered({ [value]: action });
    const manifests = generatePolicies().get(policyPath(policy, action))!;
    for (const manifest of manifests.split("---\n").map((text) => parse(text) as Rendered)) {
      expect(only(objects, manifest.kind, manifest.metadata.name)["spec"]).toEqual(manifest["spec"]);
    }
  });

  test("off is off however YAML reads it", async () => {
    expect(await renderText(OPERATOR_CHART, { [value]: false })).not.toContain(`name: ${policy}`);
  });
});

test("the policy for block sizes is off by default, and is refused for Kubernetes 1.30", async () => {
  expect(namesOf(await rendered()).join()).not.toContain("ipam-block-size");
  const render = (version: string, blockSizePolicy: OperatorValues["blockSizePolicy"]) =>
    helm(["template", "a", OPERATOR_CHART, `--kube-version=${version}`], { values: { blockSizePolicy } });
  const words =
    "blockSizePolicy is Deny and needs Kubernetes 1.31 or later, for CEL's cidr(); this is v1.30.9-gke.1: set it to off";
  expect(await render("1.30.9-gke.1", "Deny")).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
  expect(await render("1.30.9-gke.1", "off")).toMatchObject({ code: 0 });
  expect(await render("1.31.0-eks-1", "Deny")).toMatchObject({ code: 0 });
});
