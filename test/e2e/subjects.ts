/** Who has the product's roles in these tests. All of them at once: each change of the subjects replaces the operator's pods. */
import { GRANTED_ROLES, type GrantedRole } from "../../rbac/permissions.ts";
import type { User } from "../installation/user.ts";
import { installed, upgraded } from "./product.ts";
import { ACCOUNT, NAMESPACE } from "./workload/manifests.ts";

/** The group that has a role. */
export const groupOf = (role: GrantedRole) => `e2e-${role}`;
/** What the workload's pods run as: a CNI plugin. */
const WORKLOAD = { kind: "ServiceAccount", namespace: NAMESPACE, name: ACCOUNT };

const subjectsOf = (role: GrantedRole) => [
  { kind: "Group", name: groupOf(role) },
  ...(role === "cni-plugin" ? [WORKLOAD] : []),
];
const SUBJECTS = Object.fromEntries(GRANTED_ROLES.map((role) => [role, subjectsOf(role)]));

let bound: Promise<unknown> | undefined;
const bind = () => upgraded(`--set admissionPolicy=Deny --set-json 'rbac.subjects=${JSON.stringify(SUBJECTS)}'`);

/** The product is there as its chart has it, its roles are bound, and the user's Installation enforces. */
export async function installedWithSubjects(user: User): Promise<void> {
  await installed();
  await user.reset();
  await user.enforce({ strictAffinity: true });
  bound ??= bind();
  await bound;
}
