import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { generateRbac } from "./generate.ts";
import { ROLES } from "./permissions.ts";

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; labels: Record<string, string> };
}
const read = (path: string): Manifest[] =>
  parseAllDocuments(generateRbac().get(path)!).map((document) => document.toJS());

describe("generateRbac", () => {
  it("writes a file for each role and the reference page, the same each time", () => {
    expect([...generateRbac().keys()].sort()).toEqual(
      ["docs/reference/permissions.md", ...ROLES.map((role) => `rbac/${role}.yaml`)].sort(),
    );
    expect(generateRbac()).toEqual(generateRbac());
  });

  it.each(ROLES)("labels everything of %s, and only the viewer aggregates, to view", (role) => {
    for (const { metadata } of read(`rbac/${role}.yaml`)) {
      const aggregate = role === "viewer" ? { "rbac.authorization.k8s.io/aggregate-to-view": "true" } : {};
      expect(metadata.labels).toEqual({
        "app.kubernetes.io/name": "ipam-operator",
        "app.kubernetes.io/part-of": "ipam-operator",
        "app.kubernetes.io/managed-by": "ipam-operator",
        "app.kubernetes.io/component": role,
        ...aggregate,
      });
    }
  });

  it("gives the operator a namespace, an account, its role, and lease and event roles in one namespace each", () => {
    const objects = read("rbac/operator.yaml").map(
      ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`,
    );
    expect(objects).toEqual([
      "Namespace /ipam-operator",
      "ServiceAccount ipam-operator/ipam-operator",
      "ClusterRole /ipam-operator:operator",
      "ClusterRoleBinding /ipam-operator:operator",
      "Role ipam-operator/ipam-operator:leases",
      "RoleBinding ipam-operator/ipam-operator:leases",
      "Role default/ipam-operator:events",
      "RoleBinding default/ipam-operator:events",
    ]);
  });

  it("explains every role on the reference page", () => {
    const page = generateRbac().get("docs/reference/permissions.md")!;
    for (const role of ROLES) expect(page).toContain(`## \`ipam-operator:${role}\``);
  });
});
