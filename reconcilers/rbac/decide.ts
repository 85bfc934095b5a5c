/** The decision of the RBAC reconciler, apart from I/O: what is wanted and what was found, in; what to do, out. */
import { clusterRole, clusterRoleBinding, MANAGED_BY } from "../../rbac/objects.ts";
import { GRANTED_ROLES, type GrantedRole, PRODUCT, roleName } from "../../rbac/permissions.ts";
import type { Generation } from "../../rbac/rules.ts";
import type { RoleSubjects } from "../../rbac/subjects.ts";
import type { ObjectMeta } from "../../src/api/meta.ts";
import { differences, foreignAggregation, immutableDifferences, type RbacObject } from "./difference.ts";

/** One object of ours by its place, whether it is to be there (`wanted`) and is there (`found`). */
export interface Slot {
  readonly kind: "ClusterRole" | "ClusterRoleBinding";
  readonly name: string;
  readonly wanted: RbacObject | undefined;
}

export type Action =
  | { readonly do: "create"; readonly object: RbacObject; readonly because: string }
  | { readonly do: "update"; readonly object: RbacObject; readonly because: string }
  /** Delete what was found, then create. */
  | { readonly do: "replace"; readonly found: RbacObject; readonly object: RbacObject; readonly because: string }
  | { readonly do: "delete"; readonly found: RbacObject; readonly because: string }
  /** Somebody else's: not touched; `because` says whose and what to do. */
  | { readonly do: "leave"; readonly found: RbacObject; readonly because: string }
  /** Being deleted already, and held up by finalizers; `because` names them and what to do. */
  | { readonly do: "wait"; readonly found: RbacObject; readonly because: string };

/** Everything the operator keeps, roles first: a role for each, a binding for each that somebody is to have. */
export function slots(served: readonly Generation[], subjects: RoleSubjects): readonly Slot[] {
  const roles = GRANTED_ROLES.map((role) => slot("ClusterRole", role, clusterRole(role, served)));
  const bindings = GRANTED_ROLES.map((role) => {
    const given = subjects.get(role);
    return slot("ClusterRoleBinding", role, given?.length ? clusterRoleBinding(role, given) : undefined);
  });
  return [...roles, ...bindings];
}

const slot = (kind: Slot["kind"], role: GrantedRole, wanted: RbacObject | undefined): Slot => ({
  kind,
  name: roleName(role),
  wanted,
});

/** @returns undefined when all is as it should be */
export function decide(wanted: RbacObject | undefined, found: RbacObject | undefined): Action | undefined {
  if (wanted === undefined) return found && whose(found) === undefined ? (held(found) ?? removal(found)) : undefined;
  if (found === undefined) return { do: "create", object: wanted, because: "was missing" };
  const immutable = immutableDifferences(found, wanted);
  const because = [...immutable, ...differences(found, wanted)].join("; ");
  if (because === "") return undefined;
  const owner = whose(found);
  if (owner !== undefined) return { do: "leave", found, because: owner };
  if (immutable.length > 0) return held(found) ?? { do: "replace", found, object: wanted, because };
  return { do: "update", object: mended(found, wanted), because };
}

const removal = (found: RbacObject): Action => ({
  do: "delete",
  found,
  because: "the subjects file grants this role to no subject",
});

/** Deleting once more would change nothing: whoever set the finalizers, or a person, has to take them out. */
function held(found: RbacObject): Action | undefined {
  const {
    name,
    deletionTimestamp,
    finalizers = [],
  } = found.metadata as { finalizers?: readonly string[] } & ObjectMeta;
  if (deletionTimestamp === undefined) return undefined;
  const because =
    `is to be deleted, but its finalizers block the deletion: ${finalizers.join(", ")}. Until then it stays in force. Let their ` +
    `controller finish, or remove them: kubectl patch ${found.kind.toLowerCase()} ${name} --type=merge ` +
    `-p '{"metadata":{"finalizers":null}}'`;
  return { do: "wait", found, because };
}

/** What was found with our part put right; labels and annotations of others stay. */
function mended(found: RbacObject, wanted: RbacObject): RbacObject {
  const foreign = foreignAggregation(found, wanted);
  const kept = Object.entries(found.metadata.labels ?? {}).filter(([label]) => !foreign.includes(label));
  const labels = { ...Object.fromEntries(kept), ...wanted.metadata.labels };
  return { ...found, ...wanted, metadata: { ...found.metadata, labels } };
}

const OTHER_KEEPERS = [
  ["annotations", "argocd.argoproj.io/tracking-id", "Argo CD"],
  ["labels", "kustomize.toolkit.fluxcd.io/name", "Flux"],
] as const;

/** Why an object is not ours to change, and what to do; undefined when it is ours. */
function whose({ metadata }: RbacObject): string | undefined {
  const manager = metadata.labels?.[MANAGED_BY];
  if (manager !== PRODUCT) {
    const has = manager === undefined ? "no such label" : `"${manager}"`;
    return (
      `is not this operator's (label ${MANAGED_BY}: ${PRODUCT} expected, found ${has}) and was not changed. ` +
      "Rename or delete it, or add that label to let this operator manage it."
    );
  }
  const keeper = OTHER_KEEPERS.find(([where, key]) => metadata[where]?.[key] !== undefined);
  return (
    keeper &&
    `is managed by ${keeper[2]} (${keeper[1]}) and was not changed. Remove it there to let this operator manage it.`
  );
}
