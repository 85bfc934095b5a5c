/** What the operator runs as, from rbac/permissions.ts: the same rules as in rbac/operator.yaml. */
import { RBAC_GROUP } from "../../rbac/objects.ts";
import { GRANTED_ROLES, PRODUCT, roleName } from "../../rbac/permissions.ts";
import { namespacedRules, rulesOf } from "../../rbac/rules.ts";
import { document, documents, GENERATED, metadata } from "./template.ts";

const v1 = `${RBAC_GROUP}/v1`;
const OWN = "{{ .Release.Namespace | quote }}";
const subjects = [
  "subjects:",
  "  - kind: ServiceAccount",
  "    name: {{ .Values.serviceAccount.name | quote }}",
  `    namespace: ${OWN}`,
  "",
].join("\n");

/** templates/rbac.yaml */
export function rbacTemplate(): string {
  return documents(".Values.rbac.create", [
    document(v1, "ClusterRole", named("operator"), { rules: rulesOf("operator") }),
    binding("ClusterRole", named("operator"), "operator"),
    ...inNamespace("leases", OWN, "own"),
    ...inNamespace("events", "default", "default"),
  ]);
}

function inNamespace(what: string, namespace: string, grants: "own" | "default"): string[] {
  const place = named(what, `  namespace: ${namespace}`);
  return [document(v1, "Role", place, { rules: namespacedRules(grants) }), binding("Role", place, what)];
}

function binding(kind: "ClusterRole" | "Role", place: string, name: string): string {
  const roleRef = { apiGroup: RBAC_GROUP, kind, name: `${PRODUCT}:${name}` };
  return document(v1, `${kind}Binding`, place, { roleRef }) + subjects;
}

const named = (what: string, ...more: readonly string[]) => metadata(PRODUCT, `${PRODUCT}:${what}`, ...more);

/** templates/_granted.tpl: the names of the roles that the operator keeps, and of their bindings. */
export function grantedTemplate(): string {
  const names = GRANTED_ROLES.map(roleName).join(" ");
  return `${GENERATED}{{- define "ipam-operator.grantedRoles" -}}\n${names}\n{{- end }}\n`;
}
