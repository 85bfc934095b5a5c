/** From a kubeconfig to a datastore: connects, finds out where the cluster keeps its IPAM data, and opens that. */
import { chooseCluster } from "../kube/cluster-choice.ts";
import { type Credentials, loadCredentials } from "../kube/credentials.ts";
import { createKubeClient } from "../kube/rest.ts";
import { createTransport } from "../kube/transport.ts";
import { isKubeError, KubeError } from "../kube/types.ts";
import { isUntrusted } from "../kube/unreachable.ts";
import { chooseApiGroup } from "./api-group.ts";
import { type Datastore, DatastoreError, isDatastoreError } from "./datastore.ts";
import type { Flavour } from "./flavours.ts";
import { openKubernetes } from "./kubernetes.ts";
import { datastoreCode } from "./kubernetes-errors.ts";

/** Which cluster, with whose rights, and where its data is. */
export interface ConnectOptions {
  /**
   * Path of a kubeconfig; several, as a list or joined by `path.delimiter`, are merged as kubectl merges them. Default: those
   * that KUBECONFIG names, else `~/.kube/config` if it exists, else, in a pod, its ServiceAccount. Empty text is the same as none.
   */
  readonly kubeconfig?: string | readonly string[] | undefined;
  /** Context of the kubeconfig. Default: its current one. */
  readonly context?: string | undefined;
  /** True: use the ServiceAccount of this pod, and no kubeconfig. Default false. */
  readonly inCluster?: boolean | undefined;
  /**
   * API group of the data. Default `auto`: CALICO_API_GROUP, a finished migration, then what is served and holds data. A group that
   * is named is not looked for: opening then sends no request.
   */
  readonly apiGroup?: "auto" | Flavour | undefined;
  /** Cancels the opening, which then rejects with the signal's reason; what is open stays open. */
  readonly signal?: AbortSignal | undefined;
  /** Most milliseconds that each request of the opening may take. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 10_000;
const NO_CLUSTER =
  "no cluster is named: pass kubeconfig, set KUBECONFIG, or create ~/.kube/config; in a pod, mount its ServiceAccount's token";

/**
 * Opens the datastore of a cluster; closing it closes the connections.
 * @throws DatastoreError NoCluster, KubeconfigNotFound, KubeconfigInvalid, ContextNotFound: nothing was sent; Unavailable: no
 * connection or no answer; UntrustedCertificate; Unauthorized, with `status` 401 (who asks is not known) or 403 (a permission
 * is missing); NotServed: Calico's CRDs are not installed
 */
export async function connectKubernetes(options: ConnectOptions = {}): Promise<Datastore> {
  const { apiGroup, signal, timeoutMs = TIMEOUT_MS } = options;
  const credentials = await credentialsFor(options);
  const client = createKubeClient(createTransport(credentials));
  try {
    const { flavour } = await chooseApiGroup(client, {
      flag: apiGroup,
      env: process.env,
      timeoutMs,
      ...(signal && { signal }),
    });
    return openKubernetes({ client, flavour, release: () => client.close() });
  } catch (error) {
    await client.close();
    throw openingError(error, credentials.description);
  }
}

async function credentialsFor(options: ConnectOptions): Promise<Credentials> {
  const choice = chooseCluster(options);
  try {
    if (choice === undefined) throw new KubeError("NoCluster", NO_CLUSTER);
    return await loadCredentials({ ...choice, context: options.context || undefined });
  } catch (error) {
    if (!isKubeError(error)) throw error;
    throw new DatastoreError(datastoreCode(error), "kubeconfig", "", error.message, { cause: error });
  }
}

/** Whoever opens a cluster asked for no kind: the error is about the cluster. */
function openingError(error: unknown, cluster: string): unknown {
  if (!isDatastoreError(error)) return error;
  const { cause, message } = error;
  const untrusted = isKubeError(cause, "Unavailable") && isUntrusted(cause.cause);
  const text = `cannot open ${cluster}: ${message}${advice(error)}`;
  return new DatastoreError(untrusted ? "UntrustedCertificate" : error.code, "cluster", "", text, { cause });
}

/** A refusal to list a kind says by itself what to grant. */
function advice({ status, message }: DatastoreError): string {
  if (status !== 403 || message.includes("Grant this user")) return "";
  return ". Grant this user the ClusterRole system:discovery, or name the API group (apiGroup: v1 or v3)";
}
