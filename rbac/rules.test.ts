import { describe, expect, it } from "vitest";
import { GRANTED_ROLES, permissions, ROLES } from "./permissions.ts";
import { expand, GENERATIONS, namespacedRules, type Permission, permissionsOf, rulesOf, toRules } from "./rules.ts";

/** Every single permission that rules give, as text. */
const texts = (rules: ReturnType<typeof rulesOf>): string[] =>
  rules.flatMap(({ apiGroups, resources, verbs, resourceNames = ["*"] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) => resourceNames.map((name) => `${verb} ${resource}.${group} ${name}`)),
      ),
    ),
  );

describe("laws of the table", () => {
  it.each(ROLES)("%s has no wildcard, and neither escalate nor bind nor impersonate", (role) => {
    const rules = [...rulesOf(role), ...namespacedRules("own"), ...namespacedRules("default")];
    const words = rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs]);
    expect(words.filter((word) => /\*|escalate|bind$|impersonate|deletecollection/.test(word))).toEqual([]);
  });

  it.each(GRANTED_ROLES)("the operator holds all of %s, in both groups and in each alone", (role) => {
    const held = new Set(texts(rulesOf("operator")));
    for (const served of [GENERATIONS, ["v1"], ["v3"], []] as const) {
      expect(texts(rulesOf(role, served)).filter((text) => !held.has(text))).toEqual([]);
    }
  });

  it.each(ROLES)("%s has in one group what it has in the other, under that group's plural", (role) => {
    const on = (group: string) => texts(rulesOf(role).filter(({ apiGroups }) => apiGroups[0] === group));
    const asV1 = (text: string) =>
      text.replace("ipamconfigurations", "ipamconfigs").replace(".projectcalico.org", ".crd.projectcalico.org");
    expect(on("projectcalico.org").map(asV1).sort()).toEqual(on("crd.projectcalico.org").sort());
    expect(on("projectcalico.org")).not.toEqual([]);
  });

  it.each(ROLES)("%s with one group served has nothing on the other", (role) => {
    const groups = (served: "v1" | "v3") => rulesOf(role, [served]).flatMap((rule) => rule.apiGroups);
    expect(groups("v1")).not.toContain("projectcalico.org");
    expect(groups("v3")).not.toContain("crd.projectcalico.org");
  });

  it("only the operator and the editor write the configuration, and nobody but the operator the status", () => {
    const writers = (resource: string) =>
      ROLES.filter((role) =>
        permissions[role]
          .flatMap((grant) => expand(grant))
          .some((one) => one.resource === resource && !["get", "list", "watch"].includes(one.verb)),
      );
    expect(writers("ipamconfigs")).toEqual(["operator", "editor"]);
    expect(writers("ipamconfigurations")).toEqual(["operator", "editor"]);
    expect(writers("ipaminstallations")).toEqual(["editor"]);
    expect(writers("ipaminstallations/status")).toEqual(["operator"]);
    expect(writers("clusterroles")).toEqual(["operator"]);
  });

  it("nobody may read secrets or config maps", () => {
    const read = ROLES.flatMap((role) => permissionsOf(role).map((one) => one.resource));
    expect(read).not.toContain("secrets");
    expect(read).not.toContain("configmaps");
  });

  it("limits by name whatever the operator changes of RBAC", () => {
    const unlimited = permissionsOf("operator").filter(
      (one) => one.group.startsWith("rbac") && one.names === undefined,
    );
    expect([...new Set(unlimited.map((one) => one.verb))].sort()).toEqual(["create", "list", "watch"]);
    const named = permissionsOf("operator").flatMap((one) => (one.group.startsWith("rbac") ? (one.names ?? []) : []));
    expect(named).not.toContain("ipam-operator:operator");
  });

  it("gives a reason for each grant", () => {
    for (const role of ROLES) for (const { why } of permissions[role]) expect(why).toMatch(/^[A-Z].{15,}\.$/);
  });
});

describe("toRules", () => {
  const one = (resource: string, verb: Permission["verb"], names?: readonly string[]): Permission => ({
    group: "g",
    resource,
    verb,
    names,
  });

  it("merges resources with equal verbs, and keeps named objects apart", () => {
    expect(
      toRules([one("b", "list"), one("a", "get"), one("b", "get"), one("a", "list"), one("a", "update", ["x"])]),
    ).toEqual([
      { apiGroups: ["g"], resources: ["a", "b"], verbs: ["get", "list"] },
      { apiGroups: ["g"], resources: ["a"], resourceNames: ["x"], verbs: ["update"] },
    ]);
  });

  it("gives each permission once", () => {
    expect(toRules([one("a", "get"), one("a", "get")])).toEqual([
      { apiGroups: ["g"], resources: ["a"], verbs: ["get"] },
    ]);
  });
});
