/** The end of docs/install.md, from its text: how the product is uninstalled, and what is left then. */
import { beforeAll, expect, it } from "vitest";
import { GRANTED_ROLES, roleName } from "../../rbac/permissions.ts";
import { everything } from "../helm/everything.ts";
import { userOf } from "../installation/user.ts";
import { e2eCluster, e2eShell } from "./cluster.ts";
import { installPage } from "./page.ts";
import { foundBefore, PRODUCT } from "./product.ts";
import { installedWithSubjects } from "./subjects.ts";

const cluster = e2eCluster();
const shell = e2eShell();
const user = userOf(cluster, "v3");
beforeAll(async () => {
  await installedWithSubjects(user);
  expect(await user.wait("Ready")).toMatchObject({ code: 0 });
}, 600_000);

it.each(installPage("Uninstall"))("%s", async (command) => {
  expect(await shell(command)).not.toBe("");
});

it("leaves the Installation, the configuration, the CRDs and the roles, and nothing else", async () => {
  const before = foundBefore();
  // A kubelet makes its lease some time after it has joined a new cluster.
  const isOfNode = (name: string) => name.startsWith("Lease kube-node-lease/");
  const left = async () => (await everything(cluster)).filter((name) => !before.has(name) && !isOfNode(name));
  const crds = ["ipamblocks", "blockaffinities", "ipamhandles", "ipamconfigurations", "ippools", "ipreservations"];
  const roles = GRANTED_ROLES.map(roleName);
  const expected = [
    ...["APIService v1alpha1.ipam-operator.io", "APIService v3.projectcalico.org"],
    ...crds.map((crd) => `CustomResourceDefinition ${crd}.projectcalico.org`),
    "CustomResourceDefinition ipaminstallations.ipam-operator.io",
    ...roles.flatMap((role) => [`ClusterRole ${role}`, `ClusterRoleBinding ${role}`]),
    ...["IPAMConfiguration default", "Installation default"],
    ...[`ConfigMap ${PRODUCT}/kube-root-ca.crt`, `Namespace ${PRODUCT}`, `ServiceAccount ${PRODUCT}/default`],
  ];
  await expect.poll(left).toEqual(expected.sort());
});
