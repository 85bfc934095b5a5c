/** From the table of permissions to RBAC rules: each grant in the API groups that are served, merged and in one order. */
import { installationResource, resources } from "../src/api/resources.ts";
import { GRANTED_ROLES, type Grant, permissions, type Role, type Target, type Verb } from "./permissions.ts";

/** One rule as `rbac.authorization.k8s.io/v1` has it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The two generations of Calico's API groups. */
export type Generation = "v1" | "v3";
export const GENERATIONS: readonly Generation[] = ["v1", "v3"];

/** The smallest piece of permission: one verb on one resource (with its subresource), all objects or those named. */
export interface Permission {
  readonly group: string;
  readonly resource: string;
  readonly verb: Verb;
  readonly names: readonly string[] | undefined;
}

const CALICO_GROUP = { v1: "crd.projectcalico.org", v3: "projectcalico.org" } as const;
const VERBS: readonly Verb[] = ["get", "list", "watch", "create", "update", "patch", "delete"];

type GroupResource = Pick<Permission, "group" | "resource">;

function resolve(target: Target, served: readonly Generation[]): readonly GroupResource[] {
  if (typeof target === "object") {
    if ("group" in target) return [target];
    return served.map((generation) => ({ group: CALICO_GROUP[generation], resource: target.calico }));
  }
  if (target === "Installation" || target === "Installation/status") {
    const { group, plural } = installationResource;
    return [{ group, resource: target === "Installation" ? plural : `${plural}/status` }];
  }
  return served.map((generation) => {
    const { group, plural } = resources[target][generation];
    return { group, resource: plural };
  });
}

/** One grant as permissions. */
export function expand(grant: Grant, served: readonly Generation[] = GENERATIONS): readonly Permission[] {
  return grant.on
    .flatMap((target) => resolve(target, served))
    .flatMap((on) => grant.verbs.map((verb) => ({ ...on, verb, names: grant.names })));
}

const clusterWide = (role: Role): readonly Grant[] => permissions[role].filter((grant) => !grant.namespace);

/**
 * What a role holds cluster-wide. The operator holds everything that it grants too, in both groups: the API server
 * lets nobody grant what they do not hold, and without that it would need `escalate` and `bind`.
 */
export function permissionsOf(role: Role, served: readonly Generation[] = GENERATIONS): readonly Permission[] {
  const roles: readonly Role[] = role === "operator" ? ["operator", ...GRANTED_ROLES] : [role];
  return roles.flatMap(clusterWide).flatMap((grant) => expand(grant, served));
}

/** The rules of a role's ClusterRole. */
export function rulesOf(role: Role, served: readonly Generation[] = GENERATIONS): PolicyRule[] {
  return toRules(permissionsOf(role, served));
}

/** The rules of the operator's Role in one namespace. */
export function namespacedRules(namespace: "own" | "default"): PolicyRule[] {
  const grants = permissions.operator.filter((grant) => grant.namespace === namespace);
  return toRules(grants.flatMap((grant) => expand(grant)));
}

/** Merges permissions: first the verbs of one resource, then the resources of one group that have the same verbs. */
export function toRules(held: readonly Permission[]): PolicyRule[] {
  const perResource = grouped(held, ({ group, resource, names }) => [group, resource, names]).map((same) => ({
    ...same[0]!,
    verbs: VERBS.filter((verb) => same.some((one) => one.verb === verb)),
  }));
  return grouped(perResource, ({ group, names, verbs }) => [group, names, verbs]).map((same) => ({
    apiGroups: [same[0]!.group],
    resources: same.map(({ resource }) => resource).sort(),
    ...(same[0]!.names ? { resourceNames: same[0]!.names } : {}),
    verbs: same[0]!.verbs,
  }));
}

const grouped = <T>(items: readonly T[], keyOf: (item: T) => unknown): T[][] => [
  ...Map.groupBy(items, (item) => JSON.stringify(keyOf(item))).values(),
];
