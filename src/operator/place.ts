/** Which data to work on, and why: said at every start, never guessed from the environment in silence. */
import { existsSync } from "node:fs";
import { type OperatorOptions, UsageError } from "./options.ts";

export type Place =
  | { readonly kind: "cluster"; readonly why: string; readonly inPod: boolean }
  | { readonly kind: "embedded"; readonly path: string; readonly why: string };

/** Where the embedded store is when nothing else is said. */
export const DEFAULT_STORE = ".ipam/ipam.db";
const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

type Choice = Pick<OperatorOptions, "kubeconfig" | "datastore"> & Partial<Pick<OperatorOptions, "metricsSecure">>;

/** @throws UsageError when something of a cluster is asked for and no cluster is named */
export function choosePlace(options: Choice, env: NodeJS.ProcessEnv = process.env, tokenExists = existsSync): Place {
  const place = chosenPlace(options, env, tokenExists);
  if (place.kind === "cluster" || !options.metricsSecure) return place;
  throw new UsageError(
    "--metrics-secure asks a cluster's API server who may scrape, and the embedded store has none: " +
      "leave it out, or name a cluster with --kubeconfig.",
  );
}

function chosenPlace(options: Choice, env: NodeJS.ProcessEnv, tokenExists: (path: string) => boolean): Place {
  const { datastore, kubeconfig } = options;
  if (typeof datastore === "object") {
    return { kind: "embedded", path: datastore.embedded, why: `--datastore embedded:${datastore.embedded} says so` };
  }
  if (kubeconfig !== undefined) return { kind: "cluster", inPod: false, why: "--kubeconfig names it" };
  if (env["KUBERNETES_SERVICE_HOST"] && tokenExists(SERVICE_ACCOUNT_TOKEN)) {
    return { kind: "cluster", inPod: true, why: "this process runs in one of its pods" };
  }
  if (datastore !== "auto") {
    throw new UsageError(
      `--datastore ${datastore} is an API group of a cluster, and no cluster is named: add --kubeconfig.`,
    );
  }
  return { kind: "embedded", path: DEFAULT_STORE, why: "no --kubeconfig was given and this is not a pod" };
}

/** A person with KUBECONFIG set may expect their cluster. */
export function kubeconfigHint(place: Place, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const { KUBECONFIG } = env;
  if (place.kind === "cluster" || !KUBECONFIG) return undefined;
  return `KUBECONFIG is set but not looked at. To work on that cluster: --kubeconfig ${KUBECONFIG}`;
}
