/**
 * Chooses the API group that holds a cluster's IPAM data. The two are never mixed, and a failed look at the cluster is an
 * error: a guess could start a second, empty set of books beside the real one.
 */
import { installAdvice } from "../api/crd-advice.ts";
import type { KubeObject } from "../api/meta.ts";
import { resources } from "../api/resources.ts";
import { preferredVersion, servedResources } from "../kube/discovery.ts";
import { isKubeError, type KubeClient, type RequestOptions, type ResourceType } from "../kube/types.ts";
import { DatastoreError } from "./datastore.ts";
import { apiGroups, type Flavour } from "./flavours.ts";
import { dataOf, dataText, isEmpty } from "./group-data.ts";
import { datastoreError } from "./kubernetes-errors.ts";

export interface GroupRequest extends Pick<RequestOptions, "signal" | "timeoutMs"> {
  /** What the user's flag says. Default `auto`. */
  readonly flag?: "auto" | Flavour | undefined;
  /** Where CALICO_API_GROUP is looked up. Default: nowhere. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface ApiGroupChoice {
  readonly flavour: Flavour;
  /** `projectcalico.org/v3` or `crd.projectcalico.org/v1`. */
  readonly apiGroup: string;
  /** What decided: a person, a finished migration, or what is served and stored. */
  readonly by: "flag" | "migration" | "discovery";
  /** How it was chosen: Flag, Migration or Discovery, and the reason. */
  readonly chosenBy: string;
}

const CONFIGURATION = resources.IPAMConfiguration;
/** Calico's object that moves the data; its version is the one of Calico v3.32. */
export const MIGRATION: ResourceType = {
  group: "migration.projectcalico.org",
  version: "v1beta1",
  plural: "datastoremigrations",
  kind: "DatastoreMigration",
};
/** Calico's name for this migration, and the one of its design. */
const MIGRATIONS_TO_V3 = ["APIServerToCRDs", "V1ToV3"];

/**
 * From Converged on everything is in v3, which is unlocked, while v1 stays locked and the migration can no longer be
 * taken back: Calico's own operator reads v3 from then on. Complete: its node agents do so too.
 */
const MOVED = ["Converged", "Complete"];

interface Migration extends KubeObject {
  readonly spec?: { readonly type?: string };
  readonly status?: { readonly phase?: string };
}

/** @throws DatastoreError NotServed where neither group is installed, or what kept us from looking */
export async function chooseApiGroup(client: KubeClient, request: GroupRequest = {}): Promise<ApiGroupChoice> {
  const asked = askedFor(request);
  if (asked !== undefined) return asked;
  const { flag: _flag, env: _env, ...call } = request;
  try {
    const phase = await migrated(client, call);
    if (phase !== undefined)
      return choice("v3", "migration", `Migration: Calico's DatastoreMigration to v3 is ${phase}`);
    return await discovered(client, call);
  } catch (error) {
    throw datastoreError(error, CONFIGURATION.v3, "");
  }
}

/** A group that a person named. Any text in the variable but the one for v3 means v1, as Calico reads it. */
function askedFor({ flag = "auto", env = {} }: GroupRequest): ApiGroupChoice | undefined {
  if (flag !== "auto") return choice(flag, "flag", `Flag: --datastore ${flag}`);
  const text = env["CALICO_API_GROUP"];
  if (!text) return undefined;
  const flavour = text.toLowerCase() === apiGroups.v3 ? "v3" : "v1";
  return choice(flavour, "flag", `Flag: the environment variable CALICO_API_GROUP is "${text}"`);
}

async function discovered(client: KubeClient, call: RequestOptions): Promise<ApiGroupChoice> {
  const [v1, v3] = [await servedIn(client, "v1", call), await servedIn(client, "v3", call)];
  if (v1 && v3) return v3.has(resources.IPAMBlock.v3.plural) ? byData(client, call) : aggregated();
  if (v1 || v3)
    return choice(v1 ? "v1" : "v3", "discovery", "Discovery: the only one of the two groups that is served");
  const { kind, plural } = CONFIGURATION.v3;
  const message =
    `neither ${apiGroups.v3} nor ${apiGroups.v1} is served by the cluster. Install the CRDs of one of them: ` +
    installAdvice("v3");
  throw new DatastoreError("NotServed", kind, plural, message);
}

/** Calico's API server serves no blocks: it is another view of what is in v1. */
const aggregated = () =>
  choice("v1", "discovery", `Discovery: ${apiGroups.v3} is served by Calico's API server, over the data in v1`);

/** Both groups have CRDs. An empty group is never chosen over one that holds blocks or pools. */
async function byData(client: KubeClient, call: RequestOptions): Promise<ApiGroupChoice> {
  const v1 = await dataOf(client, "v1", call);
  // Who works on v1 may be someone who must not look at v3: then v1 is right without it.
  const v3 = await dataOf(client, "v3", call).catch((error: unknown) => {
    if (!isEmpty(v1) && isKubeError(error, "Forbidden")) return undefined;
    throw error;
  });
  const both = `Discovery: both groups are served; ${apiGroups.v1} holds ${dataText(v1)}`;
  if (v3 === undefined) return choice("v1", "discovery", `${both}; ${apiGroups.v3} may not be listed`);
  const flavour = isEmpty(v1) && !isEmpty(v3) ? "v3" : "v1";
  return choice(flavour, "discovery", `${both}, ${apiGroups.v3} ${dataText(v3)}`);
}

/** The phase in which Calico has moved the data to v3; v1 may then still be served, with what it held before. */
async function migrated(client: KubeClient, call: RequestOptions): Promise<string | undefined> {
  const version = await preferredVersion(client, MIGRATION.group, call);
  if (version === undefined) return undefined;
  const { items } = await client.list<Migration>({ ...MIGRATION, version }, call);
  const toV3 = items.filter(({ spec }) => MIGRATIONS_TO_V3.includes(spec?.type ?? ""));
  return toV3.map(({ status }) => status?.phase ?? "").find((phase) => MOVED.includes(phase));
}

/** The plural names of a group that serves the configuration; undefined where it does not. */
async function servedIn(client: KubeClient, flavour: Flavour, call: RequestOptions) {
  const { group, version, plural } = CONFIGURATION[flavour];
  const served = await servedResources(client, group, version, call);
  return served?.has(plural) ? served : undefined;
}

function choice(flavour: Flavour, by: ApiGroupChoice["by"], chosenBy: string): ApiGroupChoice {
  return { flavour, apiGroup: apiGroups[flavour], by, chosenBy };
}
