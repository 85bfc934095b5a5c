/** Which data a verb works on: what the flags name, else what kubectl would take. Never a silent guess. */
import { chooseCluster, type Environment, processEnvironment, usualKubeconfig } from "../kube/cluster-choice.ts";
import { UsageError } from "./usage-error.ts";

export interface ClusterPlace {
  readonly kind: "cluster";
  /** Several are read as one. */
  readonly kubeconfig?: string | readonly string[] | undefined;
  readonly context?: string | undefined;
  readonly inCluster?: boolean;
  readonly apiGroup: "auto" | "v1" | "v3";
}
export type Place =
  | ClusterPlace
  | { readonly kind: "embedded"; readonly path: string }
  | { readonly kind: "bundle"; readonly path: string };

/** The flags that say where. */
export interface PlaceOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** `auto`, `v1`, `v3` or `embedded:FILE`. */
  readonly datastore?: string | undefined;
  readonly bundle?: string | undefined;
}

const EMBEDDED = "embedded:";

/** @throws UsageError where flags exclude each other, or nothing names a place */
export function choosePlace(options: PlaceOptions, surroundings: Partial<Environment> = {}): Place {
  const around = { ...processEnvironment(), ...surroundings };
  const { kubeconfig, context, bundle, datastore = "auto" } = options;
  const cluster = kubeconfig ?? context;
  if (bundle !== undefined) {
    if (cluster !== undefined || datastore !== "auto") throw exclusive("--bundle");
    return { kind: "bundle", path: bundle };
  }
  if (datastore.startsWith(EMBEDDED)) {
    if (cluster !== undefined) throw exclusive("--datastore embedded:FILE");
    return embedded(datastore.slice(EMBEDDED.length), around);
  }
  return { kind: "cluster", context, apiGroup: apiGroupOf(datastore), ...clusterOf({ kubeconfig, context }, around) };
}

function exclusive(flag: string): UsageError {
  return new UsageError(`${flag} says where the data is: leave out the other flags that name a place.`);
}

/** A store is made where there is none; looking at one must not do that. */
function embedded(path: string, { exists }: Environment): Place {
  if (path === "") throw new UsageError("--datastore embedded: needs the store's file: embedded:FILE.");
  if (exists(path)) return { kind: "embedded", path };
  throw new UsageError(`--datastore embedded:${path}: there is no such file.`);
}

function apiGroupOf(text: string): ClusterPlace["apiGroup"] {
  if (text === "auto" || text === "v1" || text === "v3") return text;
  throw new UsageError(`--datastore '${text}' is none of auto, v1, v3 and embedded:FILE.`);
}

function clusterOf(flags: Pick<PlaceOptions, "kubeconfig" | "context">, around: Environment) {
  const choice = chooseCluster(flags, around);
  if (choice !== undefined) return choice;
  throw new UsageError(
    `no cluster is named: give --kubeconfig FILE, set KUBECONFIG, or make ${usualKubeconfig(around)}. ` +
      "For data that is no cluster's: --datastore embedded:FILE, or --bundle FILE.",
  );
}
