/** What an API server's audit log tells about permissions: what was denied, what was used, and what never was. */
import { permissions, ROLES, type Role } from "../../rbac/permissions.ts";
import { expand } from "../../rbac/rules.ts";
import type { AuditEvent } from "../control-plane/control-plane.ts";

/** The operator's user when it runs with the generated manifests. */
export const OPERATOR_USER = "system:serviceaccount:ipam-operator:ipam-operator";

/** Role by user name. */
export type RoleOfUser = Readonly<Record<string, Role>>;
/** Per role the permissions that were used, as `permissionText` has them. */
export type Usage = ReadonlyMap<Role, ReadonlySet<string>>;

/** One permission as text: `get ipamblocks.projectcalico.org`, `update ipaminstallations/status.ipam-operator.io`. */
export const permissionText = (verb: string, group: string, resource: string): string =>
  `${verb} ${resource}${group && `.${group}`}`;

const textOf = ({ verb, objectRef = {} }: AuditEvent): string => {
  const subresource = objectRef.subresource ? `/${objectRef.subresource}` : "";
  return permissionText(verb, objectRef.apiGroup ?? "", `${objectRef.resource ?? ""}${subresource}`);
};

/** Authorization's no, and that of RBAC's escalation check; an admission policy's no is not about permissions. */
const wasDenied = ({ annotations, responseStatus }: AuditEvent): boolean =>
  annotations?.["authorization.k8s.io/decision"] === "forbid" ||
  (responseStatus?.code === 403 && !/denied (the )?request/.test(responseStatus.message ?? ""));

/** Each thing that was refused to a user, once, in order: permission, and the object where one was named. */
export function denied(events: readonly AuditEvent[], username: string): string[] {
  const refused = events.filter((event) => event.user.username === username && wasDenied(event));
  return [...new Set(refused.map((event) => [textOf(event), event.objectRef?.name].filter(Boolean).join(" ")))].sort();
}

/** The permissions a user made use of. A watch counts when it has ended. */
export function used(events: readonly AuditEvent[], username: string): ReadonlySet<string> {
  const allowed = events.filter((event) => event.user.username === username && !wasDenied(event));
  return new Set(allowed.filter((event) => event.objectRef).map(textOf));
}

/** Per role what its users made use of. */
export function usageOf(events: readonly AuditEvent[], roles: RoleOfUser): Usage {
  const texts = Object.entries(roles).flatMap(([user, role]) =>
    [...used(events, user)].map((text) => ({ role, text })),
  );
  const perRole = Map.groupBy(texts, ({ role }) => role);
  return new Map([...perRole].map(([role, same]) => [role, new Set(same.map(({ text }) => text))]));
}

/**
 * Verbs that the table grants a role itself on our kinds, that nobody with the role used, and that have no
 * `unusedBecause`. What the operator holds only so that it may grant it counts for the role it is granted to.
 */
export function unusedGrants(usage: Usage): string[] {
  return ROLES.flatMap((role) => {
    const ours = permissions[role].filter((grant) => grant.unusedBecause === undefined).flatMap(onOurKinds);
    const unused = ours.filter((text) => !usage.get(role)?.has(text));
    return [...new Set(unused)].map((text) => `${role}: ${text}`);
  });
}

const onOurKinds = (grant: (typeof permissions)[Role][number]): string[] =>
  expand({ ...grant, on: grant.on.filter((target) => typeof target === "string") }).map(({ verb, group, resource }) =>
    permissionText(verb, group, resource),
  );
