/** Which cluster a program works on where nothing names one: as kubectl chooses. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

/** What is looked at besides flags and options. */
export interface Environment {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly exists: (path: string) => boolean;
}

export interface ClusterRequest {
  readonly kubeconfig?: string | readonly string[] | undefined;
  readonly context?: string | undefined;
  readonly inCluster?: boolean | undefined;
}

/** A kubeconfig, of one file or several, or the ServiceAccount of this pod. */
export type ClusterChoice = { readonly kubeconfig: string | readonly string[] } | { readonly inCluster: true };

const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/**
 * In this order: what is asked for, KUBECONFIG, ~/.kube/config, the ServiceAccount of the pod. A context is one of a kubeconfig,
 * so that with a context the ServiceAccount is not used. Undefined: there is none of them. Empty text is not set, as for kubectl.
 */
export function chooseCluster(
  { kubeconfig, context, inCluster }: ClusterRequest,
  around: Environment = processEnvironment(),
): ClusterChoice | undefined {
  if (inCluster) return { inCluster: true };
  for (const named of [kubeconfig, around.env["KUBECONFIG"]]) {
    const [first, ...others] = filesOf(named);
    if (first !== undefined) return { kubeconfig: others.length === 0 ? first : [first, ...others] };
  }
  const usual = usualKubeconfig(around);
  if (around.exists(usual)) return { kubeconfig: usual };
  return !context && isInPod(around) ? { inCluster: true } : undefined;
}

/** The files of a list such as KUBECONFIG has. */
export function filesOf(named: string | readonly string[] | undefined): string[] {
  const lists = named === undefined ? [] : [named].flat();
  return lists.flatMap((list) => list.split(delimiter)).filter((path) => path !== "");
}

export const usualKubeconfig = ({ home }: Pick<Environment, "home">): string => join(home, ".kube", "config");

/** Whether this process runs in a pod with a ServiceAccount. */
export function isInPod({ env, exists }: Pick<Environment, "env" | "exists">): boolean {
  return Boolean(env["KUBERNETES_SERVICE_HOST"]) && exists(SERVICE_ACCOUNT_TOKEN);
}

export const processEnvironment = (): Environment => ({ env: process.env, home: homedir(), exists: existsSync });
