/** The roles that the operator keeps for others: who may do what, by `kubectl auth can-i`, and that they come back. */
import { beforeAll, describe, expect, it } from "vitest";
import { GRANTED_ROLES, type GrantedRole, roleName } from "../../rbac/permissions.ts";
import { permissionsOf } from "../../rbac/rules.ts";
import { userOf } from "../installation/user.ts";
import { canI } from "./can-i.ts";
import { e2eCluster } from "./cluster.ts";
import { groupOf, installedWithSubjects } from "./subjects.ts";

const cluster = e2eCluster();
const user = userOf(cluster, "v3");
beforeAll(() => installedWithSubjects(user), 600_000);

/** Verb, resource and group of all that a role holds with the v3 API, which is the one that this cluster serves. */
const granted = (role: GrantedRole) =>
  new Set(permissionsOf(role, ["v3"]).map(({ verb, resource, group }) => `${verb} ${resource}${group && `.${group}`}`));
const OURS = /\.(ipam-operator\.io|projectcalico\.org)$/;
/** One object a call: kubectl gives up at once where two of those it waits for are missing. */
const found = (what: string) => cluster.kubectlOk(["wait", "--for=create", what, "--timeout=60s"]);

describe.each(GRANTED_ROLES)("%s", (role) => {
  it("may do what its table says, and nothing else", async () => {
    await found(`clusterrolebinding/${roleName(role)}`);
    await expect.poll(() => canI(cluster, ["--as=jane", `--as-group=${groupOf(role)}`])).toEqual(granted(role));
  });

  it("is created again after it and its binding were deleted", async () => {
    const name = roleName(role);
    const both = [`clusterrole/${name}`, `clusterrolebinding/${name}`];
    await cluster.kubectlOk(["delete", ...both]);
    for (const one of both) await found(one);
    await expect.poll(() => canI(cluster, ["--as=jane", `--as-group=${groupOf(role)}`])).toEqual(granted(role));
  });
});

it("an event names the roles that were corrected", async () => {
  await expect.poll(user.events).toContainEqual(expect.stringMatching(/ipam-operator:viewer/));
});

it("who may only `view` may look at addresses, and at nothing of ours more than that", async () => {
  const binding = ["clusterrolebinding", "e2e-view"];
  await cluster.kubectlOk(["create", ...binding, "--clusterrole=view", "--group=e2e-readers"]);
  try {
    const ofOurs = (all: Iterable<string>) => new Set([...all].filter((one) => OURS.test(one)));
    const may = async () => ofOurs(await canI(cluster, ["--as=jane", "--as-group=e2e-readers"]));
    await expect.poll(may).toEqual(ofOurs(granted("viewer")));
  } finally {
    await cluster.kubectlOk(["delete", ...binding]);
  }
});
