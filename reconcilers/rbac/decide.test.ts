import { describe, expect, it } from "vitest";
import { type ClusterRole, type ClusterRoleBinding, clusterRole, clusterRoleBinding } from "../../rbac/objects.ts";
import type { RoleSubjects } from "../../rbac/subjects.ts";
import { type Action, decide, slots } from "./decide.ts";
import type { RbacObject } from "./difference.ts";

const subjects = [{ kind: "ServiceAccount", namespace: "kube-system", name: "cni" }] as const;
const role = clusterRole("cni-plugin", ["v1"]);
const binding = clusterRoleBinding("cni-plugin", subjects);
const viewer = clusterRole("viewer");

/** As the API server returns an object. */
const stored = <T extends RbacObject>(object: T, change: Partial<T> = {}): T => ({
  ...object,
  ...change,
  metadata: { ...object.metadata, uid: "u", resourceVersion: "7", ...change.metadata },
});
const withLabels = (object: RbacObject, labels: Record<string, string>): RbacObject =>
  stored(object, { metadata: { name: object.metadata.name, labels: { ...object.metadata.labels, ...labels } } });
const without = (object: RbacObject, label: string): RbacObject => {
  const labels = Object.entries(object.metadata.labels!).filter(([key]) => key !== label);
  return stored(object, { metadata: { name: object.metadata.name, labels: Object.fromEntries(labels) } });
};
const extraRule = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
const managedBy = "app.kubernetes.io/managed-by";

interface Case {
  readonly what: string;
  readonly wanted: RbacObject | undefined;
  readonly found: RbacObject | undefined;
  readonly does: Action["do"] | "nothing";
  readonly because?: RegExp;
}

const dying = <T extends RbacObject>(object: T): T =>
  stored(object, {
    metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/keep"] },
  } as object as Partial<T>);

const cases: readonly Case[] = [
  {
    what: "a role to make anew whose deletion hangs",
    wanted: role,
    found: dying({ ...role, aggregationRule: {} }),
    does: "wait",
    because: /finalizers block the deletion: example\.com\/keep.*kubectl patch clusterrole ipam-operator:cni-plugin/,
  },
  { what: "a binding nobody is to have whose deletion hangs", wanted: undefined, found: dying(binding), does: "wait" },
  { what: "a role as wanted that somebody deletes", wanted: role, found: dying(role), does: "nothing" },
  { what: "a missing role", wanted: role, found: undefined, does: "create", because: /missing/ },
  { what: "a missing binding", wanted: binding, found: undefined, does: "create", because: /missing/ },
  { what: "neither wanted nor there", wanted: undefined, found: undefined, does: "nothing" },
  { what: "a role as wanted", wanted: role, found: stored(role), does: "nothing" },
  { what: "a binding as wanted", wanted: binding, found: stored(binding), does: "nothing" },
  {
    what: "the same rules in another order and cut",
    wanted: role,
    found: stored(role, {
      rules: [...role.rules!].reverse().flatMap((rule) => rule.verbs.map((verb) => ({ ...rule, verbs: [verb] }))),
    }),
    does: "nothing",
  },
  { what: "labels of others", wanted: role, found: withLabels(role, { team: "network" }), does: "nothing" },
  {
    what: "a rule too many",
    wanted: role,
    found: stored(role, { rules: [...role.rules!, extraRule] }),
    does: "update",
    because: /also had the permissions get secrets$/,
  },
  {
    what: "a rule too few",
    wanted: role,
    found: stored(role, { rules: role.rules!.slice(1) }),
    does: "update",
    because: /lacked the permissions get .*\.crd\.projectcalico\.org, .* and \d+ more$/,
  },
  {
    what: "a rule narrowed to names",
    wanted: role,
    found: stored(role, { rules: role.rules!.map((rule) => ({ ...rule, resourceNames: ["a"] })) }),
    does: "update",
    because: /lacked .*; also had the permissions .* "a"/,
  },
  {
    what: "a rule on paths",
    wanted: role,
    found: stored(role, {
      rules: [...role.rules!, { nonResourceURLs: ["/metrics"], verbs: ["get"] } as never],
    } as Partial<ClusterRole>),
    does: "update",
    because: /also had the permissions get \/metrics/,
  },
  { what: "no rules", wanted: role, found: stored(role, { rules: null }), does: "update", because: /lacked/ },
  {
    what: "an edited label",
    wanted: role,
    found: withLabels(role, { "app.kubernetes.io/component": "x" }),
    does: "update",
    because: /component was "x"/,
  },
  {
    what: "a missing label",
    wanted: viewer,
    found: without(viewer, "rbac.authorization.k8s.io/aggregate-to-view"),
    does: "update",
    because: /aggregate-to-view was missing/,
  },
  {
    what: "an aggregation that is not ours",
    wanted: role,
    found: withLabels(role, { "rbac.authorization.k8s.io/aggregate-to-edit": "true" }),
    does: "update",
    because: /had label .*aggregate-to-edit/,
  },
  {
    what: "an aggregation rule",
    wanted: role,
    found: stored(role, { aggregationRule: { clusterRoleSelectors: [] } }),
    does: "replace",
    because: /aggregation rule/,
  },
  {
    what: "another subject",
    wanted: binding,
    found: stored(binding, { subjects: [{ kind: "User", name: "mallory" }] }),
    does: "update",
    because: /lacked the subjects ServiceAccount kube-system\/cni; also had the subjects User mallory/,
  },
  {
    what: "another roleRef",
    wanted: binding,
    found: stored(binding, { roleRef: { ...binding.roleRef, name: "cluster-admin" } }),
    does: "replace",
    because: /bound ClusterRole cluster-admin instead of ClusterRole ipam-operator:cni-plugin/,
  },
  {
    what: "a binding nobody asks for",
    wanted: undefined,
    found: stored(binding),
    does: "delete",
    because: /to no subject/,
  },
  { what: "a foreign binding nobody asks for", wanted: undefined, found: without(binding, managedBy), does: "nothing" },
  {
    what: "a role without our label",
    wanted: role,
    found: without(role, managedBy),
    does: "leave",
    because: /managed-by: ipam-operator expected, found no such label.*Rename or delete/,
  },
  {
    what: "a role that Helm manages",
    wanted: role,
    found: withLabels(role, { [managedBy]: "Helm" }),
    does: "leave",
    because: /found "Helm"/,
  },
  {
    what: "a foreign binding to another role",
    wanted: binding,
    found: stored(without(binding, managedBy) as ClusterRoleBinding, {
      roleRef: { ...binding.roleRef, name: "x" },
    }),
    does: "leave",
  },
  {
    what: "our role kept otherwise by Argo CD",
    wanted: role,
    found: stored(role, {
      rules: [],
      metadata: { ...role.metadata, annotations: { "argocd.argoproj.io/tracking-id": "a:b" } },
    }),
    does: "leave",
    because: /managed by Argo CD/,
  },
  {
    what: "our role kept as wanted by Flux",
    wanted: role,
    found: withLabels(role, { "kustomize.toolkit.fluxcd.io/name": "a" }),
    does: "nothing",
  },
];

describe("decide", () => {
  it.each(cases)("$what: $does", ({ wanted, found, does, because = /^/ }) => {
    const action = decide(wanted, found);
    expect(action?.do ?? "nothing").toBe(does);
    if (action) expect(action.because).toMatch(because);
  });

  it.each(cases.filter(({ does }) => does === "update"))("$what: after the update nothing is left to do", (one) => {
    const action = decide(one.wanted, one.found);
    if (action?.do !== "update") throw new Error("no update");
    expect(decide(one.wanted, action.object)).toBeUndefined();
    expect(action.object.metadata).toMatchObject({ uid: "u", resourceVersion: "7" });
  });

  it("keeps the labels and annotations of others in an update", () => {
    const found = stored(role, {
      rules: [],
      metadata: { ...role.metadata, labels: { ...role.metadata.labels, team: "net" }, annotations: { note: "x" } },
    });
    const action = decide(role, found);
    expect(action).toMatchObject({
      do: "update",
      object: { metadata: { labels: { team: "net" }, annotations: { note: "x" } } },
    });
  });
});

describe("slots", () => {
  const given: RoleSubjects = new Map([["cni-plugin", subjects]]);

  it("wants every role, roles first, and a binding only where somebody is named", () => {
    const all = slots(["v1", "v3"], given).map(({ kind, name, wanted }) => `${kind} ${name} ${wanted ? "+" : "-"}`);
    expect(all).toEqual([
      "ClusterRole ipam-operator:cni-plugin +",
      "ClusterRole ipam-operator:node-agent +",
      "ClusterRole ipam-operator:controllers +",
      "ClusterRole ipam-operator:viewer +",
      "ClusterRole ipam-operator:editor +",
      "ClusterRoleBinding ipam-operator:cni-plugin +",
      "ClusterRoleBinding ipam-operator:node-agent -",
      "ClusterRoleBinding ipam-operator:controllers -",
      "ClusterRoleBinding ipam-operator:viewer -",
      "ClusterRoleBinding ipam-operator:editor -",
    ]);
  });

  it.each([
    [["v1"], "crd.projectcalico.org", "projectcalico.org"],
    [["v3"], "projectcalico.org", "crd.projectcalico.org"],
  ] as const)("with %j grants on %s and not on %s", (served, granted, other) => {
    for (const { wanted } of slots(served, given).filter(({ kind }) => kind === "ClusterRole")) {
      const groups = (wanted as ClusterRole).rules!.flatMap((rule) => rule.apiGroups);
      expect(groups).toContain(granted);
      expect(groups).not.toContain(other);
    }
  });
});
