/** Which data to work on, and why: said at every start, never guessed from the environment in silence. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { isInPod } from "../kube/cluster-choice.ts";
import { type OperatorOptions, UsageError } from "./options.ts";

export type Place =
  | { readonly kind: "cluster"; readonly why: string; readonly inPod: boolean }
  | { readonly kind: "embedded"; readonly path: string; readonly why: string };

/** Where the embedded store is when nothing else is said. */
export const DEFAULT_STORE = ".ipam/ipam.db";

type Choice = Pick<OperatorOptions, "kubeconfig" | "datastore"> & Partial<Pick<OperatorOptions, "metricsSecure">>;

/** @throws UsageError when something of a cluster is asked for and no cluster is named, or a store in no folder */
export function choosePlace(options: Choice, env: NodeJS.ProcessEnv = process.env, exists = existsSync): Place {
  const place = chosenPlace(options, env, exists);
  if (place.kind === "cluster" || !options.metricsSecure) return place;
  throw new UsageError(
    "--metrics-secure asks a cluster's API server who may scrape, and the embedded store has none: " +
      "leave it out, or name a cluster with --kubeconfig.",
  );
}

function chosenPlace(options: Choice, env: NodeJS.ProcessEnv, exists: (path: string) => boolean): Place {
  const { datastore, kubeconfig } = options;
  if (typeof datastore === "object") return embeddedAt(datastore.embedded, exists);
  if (kubeconfig !== undefined) return { kind: "cluster", inPod: false, why: "--kubeconfig names it" };
  if (isInPod({ env, exists })) {
    return { kind: "cluster", inPod: true, why: "this process runs in one of its pods" };
  }
  if (datastore !== "auto") {
    throw new UsageError(
      `--datastore ${datastore} is an API group of a cluster, and no cluster is named: add --kubeconfig.`,
    );
  }
  return { kind: "embedded", path: DEFAULT_STORE, why: "no --kubeconfig was given and this is not a pod" };
}

/** A folder that is not there is more likely a misspelt one than one to make: an empty store would answer for the real one. */
function embeddedAt(path: string, exists: (path: string) => boolean): Place {
  const folder = dirname(path);
  if (path === ":memory:" || exists(folder)) {
    return { kind: "embedded", path, why: `--datastore embedded:${path} says so` };
  }
  throw new UsageError(
    `--datastore embedded:${path}: the folder ${folder} does not exist: correct the path, or create it (mkdir -p ${folder}).`,
  );
}

/** Said of a store that is not there yet: whoever meant another one sees it. */
export function newStoreHint(place: Place & { kind: "embedded" }, exists = existsSync): string | undefined {
  if (exists(place.path)) return undefined;
  return place.path === ":memory:" ? "It is kept in memory and ends with this process." : "It is new and empty.";
}

/** A person with KUBECONFIG set may expect their cluster. */
export function kubeconfigHint(place: Place, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const { KUBECONFIG } = env;
  if (place.kind === "cluster" || !KUBECONFIG) return undefined;
  return `KUBECONFIG is set but not looked at. To work on that cluster: --kubeconfig ${KUBECONFIG}`;
}
