/** Releases on a real API server where no kubelet is: pods stay an intention, and Helm does not wait for them. */
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { deleteCrds } from "../support/delete-crds.ts";
import { CRDS_CHART, type HelmResult, helm, helmOk, OPERATOR_CHART, RELEASE, type Values } from "./helm.ts";

export interface Releases {
  /** `helm install` or `helm upgrade` of the operator's chart, as the admin. */
  operator(verb: "install" | "upgrade", values?: Values, chart?: string): Promise<string>;
  /** The same of the CRDs' chart. */
  crds(verb: "install" | "upgrade", values?: Values, chart?: string): Promise<string>;
  /** Any other helm command in the releases' namespace. */
  helm(args: readonly string[], values?: Values): Promise<HelmResult>;
  helmOk(args: readonly string[], values?: Values): Promise<string>;
}

export const CRDS_RELEASE = "ipam-operator-crds";

export function releasesOn({ kubeconfig }: ControlPlane): Releases {
  // First, so that a test may name another one.
  const inNamespace = (args: readonly string[]) => ["--namespace", RELEASE, ...args];
  const change = (verb: string, release: string, chart: string, values: Values) => {
    const create = verb === "install" ? ["--create-namespace"] : [];
    return helmOk(inNamespace([verb, release, chart, ...create]), { values, kubeconfig });
  };
  return {
    operator: (verb, values = {}, chart = OPERATOR_CHART) => change(verb, RELEASE, chart, values),
    crds: (verb, values = {}, chart = CRDS_CHART) => change(verb, CRDS_RELEASE, chart, values),
    helm: (args, values) => helm(inNamespace(args), { values, kubeconfig }),
    helmOk: (args, values) => helmOk(inNamespace(args), { values, kubeconfig }),
  };
}

/** A cluster as it was before any release, but for its namespaces: nobody would empty those. */
export async function wipe({ kubectlOk, kubectl }: ControlPlane, releases: Releases): Promise<void> {
  for (const release of [RELEASE, CRDS_RELEASE]) await releases.helm(["uninstall", release, "--ignore-not-found"]);
  const roles = (await kubectlOk(["get", "clusterroles,clusterrolebindings", "-o", "name"])).split("\n");
  const ours = roles.filter((name) => name.includes("/ipam-operator:"));
  if (ours.length > 0) await kubectlOk(["delete", ...ours]);
  await kubectl(["delete", "lease", "ipam-operator", "-n", RELEASE]);
  await deleteCrds({ kubectl, kubectlOk });
}
