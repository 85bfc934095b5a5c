/** A person's shell at the shared cluster: kubectl, helm, kind and docker mean this cluster and its engine. */
import { dirname, isAbsolute, join } from "node:path";
import type { ClusterAccess } from "../kind/cluster.ts";
import { run } from "../kind/processes.ts";
import { root } from "./page.ts";

/** The longest that a command may take; Helm's own waiting ends before. */
const timeout = 240_000;

export type Shell = (command: string) => Promise<string>;

/** Runs a line in the checkout's folder and returns what it printed; a failure is an error that ends with what it said. */
export function shellOf(access: ClusterAccess, helm: string): Shell {
  const env = { ...process.env, ...environment(access, helm) };
  return (command) => run("sh", ["-c", command], { env, cwd: root, timeout });
}

function environment({ name, kubeconfig, folder, programs, engine }: ClusterAccess, helm: string) {
  const folders = [helm, programs.kubectl, programs.kind].filter(isAbsolute).map((program) => dirname(program));
  return {
    ...engine,
    PATH: [...folders, process.env["PATH"]].join(":"),
    KUBECONFIG: kubeconfig,
    KIND_CLUSTER_NAME: name,
    // Nothing of the caller's own Helm.
    HELM_CONFIG_HOME: join(folder, "helm/config"),
    HELM_CACHE_HOME: join(folder, "helm/cache"),
    HELM_DATA_HOME: join(folder, "helm/data"),
  };
}
