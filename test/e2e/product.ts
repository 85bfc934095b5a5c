/** The product on the shared cluster, installed by the text of docs/install.md. */
import type { KubeObject } from "../../src/api/meta.ts";
import { everything } from "../helm/everything.ts";
import type { Cluster } from "../kind/cluster.ts";
import { deleteCrds } from "../support/delete-crds.ts";
import { e2eCluster, e2eShell } from "./cluster.ts";
import { installPage } from "./page.ts";
import type { Shell } from "./shell.ts";

/** Namespace and release, as the page has them. */
export const PRODUCT = "ipam-operator";
/** A namespace that says that this cluster is for these tests, so that all that is theirs may be deleted. */
const MARK = "ipam-operator-e2e";
const GROUPS = ["ipam-operator.io", "projectcalico.org", "operator.tigera.io"];

const done = new Map<string, Promise<string>>();

/** Runs a command of the page that is dear, and need not be run twice: the image is built and loaded once a run. */
export function onceARun(command: string): Promise<string> {
  const running = done.get(command) ?? e2eShell()(command);
  done.set(command, running);
  return running;
}

/** Makes sure that the product is there, as the page's installation leaves it or as an earlier test file did. */
export async function installed(): Promise<void> {
  const shell = e2eShell();
  for (const command of installPage("The image")) await onceARun(command);
  if ((await shell(`helm list --namespace ${PRODUCT} --deployed --short`)).split("\n").includes(PRODUCT)) return;
  await withoutProduct();
  for (const command of installPage("Install")) await shell(command);
}

let before: ReadonlySet<string> = new Set();

/** A cluster that has nothing of the product; what it has is noted. */
export async function withoutProduct(): Promise<void> {
  await removeProduct(e2eCluster(), e2eShell());
  before = new Set(await everything(e2eCluster()));
}

/** What the cluster had before the product was installed. */
export const foundBefore = () => before;

/** Upgrades the release with more values (`--set a=b`), and waits until its pods are there. */
export const upgraded = (flags: string): Promise<string> =>
  e2eShell()(
    `helm upgrade ${PRODUCT} helm/ipam-operator --namespace ${PRODUCT} --reset-then-reuse-values ${flags} --wait --timeout 3m`,
  );

/** Names of the operator's pods that are not on their way out. */
export async function operatorPods(): Promise<string[]> {
  const selected = ["--namespace", PRODUCT, "--selector", "app.kubernetes.io/component=operator"];
  const { items } = JSON.parse(await e2eCluster().kubectlOk(["get", "pods", ...selected, "--output", "json"]));
  return (items as KubeObject[])
    .filter(({ metadata }) => !metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name);
}

/** The pod that holds the lease; undefined while none does. */
export async function leader(): Promise<string | undefined> {
  const lease = ["lease", PRODUCT, "--namespace", PRODUCT, "--ignore-not-found"];
  const holder = await e2eCluster().kubectlOk(["get", ...lease, "--output", "jsonpath={.spec.holderIdentity}"]);
  return (await operatorPods()).find((pod) => holder.startsWith(pod));
}

/** Refuses a cluster that has what these tests would delete, and removes what an earlier run left on one of theirs. */
export async function claimCluster(cluster: Cluster, shell: Shell): Promise<void> {
  const isOurs = (await cluster.kubectl(["get", "namespace", MARK])).code === 0;
  if (isOurs) return removeProduct(cluster, shell);
  const there = await crdsOfOurs(cluster);
  if (there.length > 0) {
    throw new Error(
      `The cluster ${cluster.access.name} has ${there.join(", ")}. These tests install and delete such CRDs, and all ` +
        "that is stored in them: use a cluster that has none of them.",
    );
  }
  await cluster.kubectlOk(["create", "namespace", MARK]);
}

/** Leaves a cluster as it was before `claimCluster`, but for images in its nodes. */
export async function leaveCluster(cluster: Cluster, shell: Shell): Promise<void> {
  await removeProduct(cluster, shell);
  await cluster.kubectlOk(["delete", "namespace", MARK]);
}

/** Removes all that the page installs, and all that its last section says is left. */
export async function removeProduct(cluster: Cluster, shell: Shell): Promise<void> {
  await removeReleases(cluster, shell);
  await cluster.kubectlOk(["delete", "namespace", PRODUCT, "--ignore-not-found"]);
}

/** The same but for the namespace. */
export async function removeReleases(cluster: Cluster, shell: Shell): Promise<void> {
  await shell(`helm uninstall ${PRODUCT} ${PRODUCT}-crds --namespace ${PRODUCT} --ignore-not-found --wait`);
  const roles = ["clusterroles,clusterrolebindings", "--selector", `app.kubernetes.io/managed-by=${PRODUCT}`];
  await cluster.kubectlOk(["delete", ...roles]);
  const crds = await crdsOfOurs(cluster);
  if (crds.length > 0) await deleteCrds(cluster, crds);
}

async function crdsOfOurs({ kubectlOk }: Cluster): Promise<string[]> {
  const names = (await kubectlOk(["get", "crds", "--output", "jsonpath={.items[*].metadata.name}"])).split(" ");
  return names.filter((name) => GROUPS.some((group) => name.endsWith(`.${group}`)));
}
