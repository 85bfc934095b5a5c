/** The reference page of permissions: the table for people, with the reason of each grant. */
import { resources } from "../src/api/resources.ts";
import { type Grant, permissions, ROLES, type Role, roleName, type Target } from "./permissions.ts";

const WHO: Readonly<Record<Role, string>> = {
  operator:
    "The operator itself. Besides what follows it holds everything that it grants to the roles below, in both API groups: " +
    "the API server lets nobody grant what they do not hold, and so it needs neither `escalate` nor `bind`.",
  "cni-plugin": "A CNI plugin on a node, which asks for a pod's address and gives it back.",
  "node-agent": "The agent on a node, which allocates tunnel addresses and makes routes from blocks.",
  controllers: "Controllers in the cluster, which collect leaked addresses and serve load balancers.",
  viewer: "People who look. It is part of `view`: who may view may see this too.",
  editor: "People who administer addresses. It is part of no other role: bind it to those you mean.",
};

const INTRODUCTION = `<!-- Generated from rbac/permissions.ts by \`npm run generate\`: edit that table, not this file. -->
# Permissions

One table says who may do what. The manifests in \`rbac/\` come from it, and so do the roles that a running operator keeps
on the cluster: there it grants only what is on API groups that are served, restores a role or binding of ours that
was edited or removed, and leaves alone whatever has one of our names without the label
\`app.kubernetes.io/managed-by: ipam-operator\`. An Installation with \`managementPolicy: Paused\` or \`Observe\` stops that.

No role holds \`escalate\` or \`bind\`, and none has a wildcard. Who gets a role is told to the operator in a file
(\`--rbac-subjects\`), never in the Installation: whoever edits that must not be able to grant:

\`\`\`yaml
cni-plugin: [{kind: ServiceAccount, namespace: kube-system, name: calico-cni-plugin}]
viewer: [{kind: Group, name: network-team}, {kind: User, name: jane}]
\`\`\`

A role that is not listed gets no binding, and a binding of the operator's that is no longer listed is deleted.

The IPAM kinds below are these resources:

| kind | in \`crd.projectcalico.org\` | in \`projectcalico.org\` |
|---|---|---|
${Object.entries(resources)
  .map(([kind, { v1, v3 }]) => `| ${kind} | \`${v1.plural}\` | \`${v3.plural}\` |`)
  .join("\n")}
`;

export function permissionsPage(): string {
  return [INTRODUCTION, ...ROLES.map(section)].join("\n");
}

function section(role: Role): string {
  const rows = permissions[role].map(
    (grant) => `| ${resourcesCell(grant)} | ${grant.verbs.join(", ")} | ${reasonCell(grant)} |`,
  );
  return `## \`${roleName(role)}\`

${WHO[role]}

| on | may | because |
|---|---|---|
${rows.join("\n")}
`;
}

function resourcesCell({ on, names, namespace }: Grant): string {
  const named = names ? ` named ${names.map((name) => `\`${name}\``).join(", ")}` : "";
  const where = { own: " in its own namespace", default: " in namespace `default`" };
  return `${on.map(targetText).join(", ")}${named}${namespace ? where[namespace] : ""}`;
}

function targetText(target: Target): string {
  if (typeof target === "string") return target;
  if ("calico" in target) return `\`${target.calico}\` of both groups`;
  return `\`${target.resource}${target.group && `.${target.group}`}\``;
}

const reasonCell = ({ why, unusedBecause }: Grant): string =>
  unusedBecause ? `${why} No test uses it: ${unusedBecause}` : why;
