/** Which data a verb works on: what the flags name, else what kubectl would take. Never a silent guess. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
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

/** What is looked at besides the flags. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly exists: (path: string) => boolean;
}

const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";
const EMBEDDED = "embedded:";

/** @throws UsageError where flags exclude each other, or nothing names a place */
export function choosePlace(options: PlaceOptions, surroundings: Partial<Surroundings> = {}): Place {
  const around = { env: process.env, home: homedir(), exists: existsSync, ...surroundings };
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
  return { kind: "cluster", context, apiGroup: apiGroupOf(datastore), ...clusterOf(kubeconfig, around) };
}

function exclusive(flag: string): UsageError {
  return new UsageError(`${flag} says where the data is: leave out the other flags that name a place.`);
}

/** A store is made where there is none; looking at one must not do that. */
function embedded(path: string, { exists }: Surroundings): Place {
  if (path === "") throw new UsageError("--datastore embedded: needs the store's file: embedded:FILE.");
  if (exists(path)) return { kind: "embedded", path };
  throw new UsageError(`--datastore embedded:${path}: there is no such file.`);
}

function apiGroupOf(text: string): ClusterPlace["apiGroup"] {
  if (text === "auto" || text === "v1" || text === "v3") return text;
  throw new UsageError(`--datastore '${text}' is none of auto, v1, v3 and embedded:FILE.`);
}

/** As kubectl chooses: the flag, KUBECONFIG, the pod it runs in, the file in the home folder. */
function clusterOf(
  flag: string | undefined,
  { env, home, exists }: Surroundings,
): Omit<ClusterPlace, "kind" | "apiGroup"> {
  if (flag !== undefined) return { kubeconfig: flag };
  const named = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  if (named.length > 1) return { kubeconfig: named };
  if (named[0] !== undefined) return { kubeconfig: named[0] };
  const usual = join(home, ".kube", "config");
  if (exists(usual)) return { kubeconfig: usual };
  if (env["KUBERNETES_SERVICE_HOST"] && exists(SERVICE_ACCOUNT_TOKEN)) return { inCluster: true };
  throw new UsageError(
    `no cluster is named: give --kubeconfig FILE, set KUBECONFIG, or make ${usual}. ` +
      "For data that is no cluster's: --datastore embedded:FILE, or --bundle FILE.",
  );
}
