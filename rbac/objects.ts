/** The RBAC objects of the product, as the generated manifests and the running operator both have them. */
import type { KubeObject } from "../src/api/meta.ts";
import { PRODUCT, type Role, roleName } from "./permissions.ts";
import { GENERATIONS, type Generation, type PolicyRule, rulesOf } from "./rules.ts";

export const RBAC_GROUP = "rbac.authorization.k8s.io";
const apiVersion = `${RBAC_GROUP}/v1`;

/** Says that an object is this product's: one without it is somebody else's, whatever its name. */
export const MANAGED_BY = "app.kubernetes.io/managed-by";
/** Prefix of the labels by which a role joins view, edit or admin. */
export const AGGREGATE_PREFIX = `${RBAC_GROUP}/aggregate-to-`;

export interface Subject {
  readonly kind: "ServiceAccount" | "User" | "Group";
  readonly name: string;
  readonly namespace?: string;
  readonly apiGroup?: string;
}
export interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}
export interface ClusterRole extends KubeObject {
  readonly rules?: readonly PolicyRule[] | null;
  readonly aggregationRule?: unknown;
}
export interface ClusterRoleBinding extends KubeObject {
  readonly roleRef: RoleRef;
  readonly subjects?: readonly Subject[];
}

/** The labels of every object that belongs to a role. */
export const labelsOf = (role: Role): Record<string, string> => ({
  "app.kubernetes.io/component": role,
  [MANAGED_BY]: PRODUCT,
  "app.kubernetes.io/name": PRODUCT,
  "app.kubernetes.io/part-of": PRODUCT,
});

/** A role with its rules for the served groups. Only the viewer aggregates: whoever may view may view addresses. */
export function clusterRole(role: Role, served: readonly Generation[] = GENERATIONS): ClusterRole {
  const aggregate: Record<string, string> = role === "viewer" ? { [`${AGGREGATE_PREFIX}view`]: "true" } : {};
  const metadata = { name: roleName(role), labels: { ...labelsOf(role), ...aggregate } };
  return { apiVersion, kind: "ClusterRole", metadata, rules: rulesOf(role, served) };
}

export function clusterRoleBinding(role: Role, subjects: readonly Subject[]): ClusterRoleBinding {
  return {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: roleName(role), labels: labelsOf(role) },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: roleName(role) },
    subjects: subjects.map(withGroup),
  };
}

/** The API server fills in the group of users and groups; written here too, so that both compare equal. */
const withGroup = (subject: Subject): Subject =>
  subject.kind === "ServiceAccount" ? subject : { apiGroup: RBAC_GROUP, kind: subject.kind, name: subject.name };
