/**
 * Manifests and reference page from the table of permissions. `kubectl apply -f rbac/` with the result is all the
 * operator needs to run as ServiceAccount `ipam-operator` in namespace `ipam-operator`.
 */
import { stringify } from "yaml";
import type { KubeObject } from "../src/api/meta.ts";
import { clusterRole, clusterRoleBinding, labelsOf, RBAC_GROUP, type Subject } from "./objects.ts";
import { GRANTED_ROLES, PRODUCT } from "./permissions.ts";
import { permissionsPage } from "./reference.ts";
import { namespacedRules } from "./rules.ts";

const HEADER = "# Generated from rbac/permissions.ts by `npm run generate`: edit that table, not this file.\n";
const labels = labelsOf("operator");
const operator: Subject = { kind: "ServiceAccount", name: PRODUCT, namespace: PRODUCT };

/** Every generated file of this folder and its reference page: path from the repository's root, and content. */
export function generateRbac(): Map<string, string> {
  return new Map([
    ...GRANTED_ROLES.map((role) => [`rbac/${role}.yaml`, manifest([clusterRole(role)])] as const),
    ["rbac/operator.yaml", manifest(operatorObjects())],
    ["docs/reference/permissions.md", permissionsPage()],
  ]);
}

/** What the operator runs as, in the order in which `kubectl apply` needs it. */
export function operatorObjects(): readonly object[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: PRODUCT, labels } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: PRODUCT, namespace: PRODUCT, labels } },
    clusterRole("operator"),
    clusterRoleBinding("operator", [operator]),
    ...inNamespace("leases", PRODUCT, "own"),
    ...inNamespace("events", "default", "default"),
  ];
}

function inNamespace(what: string, namespace: string, grants: "own" | "default"): readonly KubeObject[] {
  const apiVersion = `${RBAC_GROUP}/v1`;
  const metadata = { name: `${PRODUCT}:${what}`, namespace, labels };
  const roleRef = { apiGroup: RBAC_GROUP, kind: "Role", name: metadata.name };
  return [
    { apiVersion, kind: "Role", metadata, rules: namespacedRules(grants) } as KubeObject,
    { apiVersion, kind: "RoleBinding", metadata, roleRef, subjects: [operator] } as KubeObject,
  ];
}

const manifest = (objects: readonly object[]): string =>
  HEADER + objects.map((object) => stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 })).join("---\n");
