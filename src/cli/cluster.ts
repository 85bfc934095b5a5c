/** Connects to the cluster that the user points at, and finds out where it keeps its IPAM data. */
import { chooseApiGroup } from "../datastore/api-group.ts";
import type { Flavour } from "../datastore/flavours.ts";
import { connect } from "../kube/rest.ts";
import { isKubeError, type KubeClient, type KubeError } from "../kube/types.ts";
import type { ClusterPlace } from "./place.ts";

export interface OpenCluster {
  readonly client: KubeClient;
  readonly flavour: Flavour;
  /** How the API group was chosen. */
  readonly chosenBy: string;
}

/** What connecting depends on besides the place. */
export interface ConnectCall {
  /** Where CALICO_API_GROUP is looked up. */
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** Somebody waits: what cannot be reached is said within two seconds, of which a timer may be half a second late. */
const IPAMCTL = { fieldManager: "ipamctl", userAgent: "ipamctl", failFast: true, connectTimeoutMs: 1400 } as const;

/** @throws KubeError where the kubeconfig is no good; DatastoreError NotServed where no IPAM kinds are installed */
export async function openCluster(place: ClusterPlace, { env, signal }: ConnectCall): Promise<OpenCluster> {
  const { kubeconfig, context, inCluster, apiGroup } = place;
  const client = await connect({ kubeconfig, context, inCluster, ...IPAMCTL });
  try {
    const { flavour, chosenBy } = await chooseApiGroup(client, { flag: apiGroup, env, signal });
    return { client, flavour, chosenBy };
  } catch (error) {
    await client.close();
    throw advised(error, place, client.server);
  }
}

/** What to look at where the server gave no answer, or does not know the user: what it said by itself does not say. */
function advised(error: unknown, { kubeconfig, context }: ClusterPlace, server: string): unknown {
  const cause = error instanceof Error && isKubeError(error.cause) ? error.cause : error;
  if (!isKubeError(cause)) return error;
  const file = `the kubeconfig ${[kubeconfig].flat().join(", ")}${context ? `, context ${context}` : ""}`;
  const advice = adviceFor(cause, server, kubeconfig === undefined ? "the pod's ServiceAccount" : file);
  if (advice === undefined) return error;
  const isAbout = ["Unauthorized", "Forbidden"].includes(cause.code); // the advice says all: what was asked for has no part in it
  return new Error(isAbout ? advice : `${cause.message}. ${advice}`, { cause: error });
}

function adviceFor({ code, message }: KubeError, server: string, where: string): string | undefined {
  if (code === "Unauthorized")
    return `${server} does not accept the credentials of ${where}: they are missing, wrong or expired (401). Log in again`;
  if (code === "Forbidden" && message.includes("system:anonymous"))
    return `${server} was given no credentials: ${where} has none for it. Log in`;
  if (code !== "Unavailable" && code !== "Timeout") return undefined;
  return `The address is that of ${where}`;
}
