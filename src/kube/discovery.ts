/** What an API server serves, looked at cheaply: one small GET per group and version. */
import { printJson } from "./json.ts";
import { isKubeError, type KubeClient, KubeError, type RequestOptions } from "./types.ts";

interface ResourceList {
  readonly resources: readonly { readonly name: string }[];
}

interface Group {
  readonly preferredVersion: { readonly version: string };
}

/**
 * Plural names (`ippools`, subresources as `ippools/status`) that are served under a group and version; undefined when
 * that group and version is not served. Any failure but 404 is thrown: absence is never guessed.
 */
export async function servedResources(
  client: KubeClient,
  group: string,
  version: string,
  options?: RequestOptions,
): Promise<ReadonlySet<string> | undefined> {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const list = await discover(client, path, isResourceList, options);
  return list && new Set(list.resources.map(({ name }) => name));
}

/** The version of a group that the server prefers; undefined when the group is not served. */
export async function preferredVersion(
  client: KubeClient,
  group: string,
  options?: RequestOptions,
): Promise<string | undefined> {
  return (await discover(client, `/apis/${group}`, isGroup, options))?.preferredVersion.version;
}

/** A proxy in between may answer 200 with anything. */
async function discover<T>(
  client: KubeClient,
  path: string,
  isExpected: (answer: unknown) => answer is T,
  options: RequestOptions | undefined,
): Promise<T | undefined> {
  const answer = await unlessNotFound(client.getRaw(path, options));
  if (answer === undefined || isExpected(answer)) return answer;
  const from = `the answer from ${client.server} is not one of an API server`;
  throw new KubeError("ServerError", `cannot read what is served: ${from}: GET ${path} gave ${beginning(answer)}`);
}

async function unlessNotFound(read: Promise<unknown>): Promise<unknown> {
  try {
    return await read;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

function isResourceList(answer: unknown): answer is ResourceList {
  const { resources } = Object(answer) as { resources?: unknown };
  return Array.isArray(resources) && resources.every((resource) => typeof resource?.name === "string");
}

function isGroup(answer: unknown): answer is Group {
  const { preferredVersion } = Object(answer) as { preferredVersion?: { version?: unknown } | null };
  return typeof preferredVersion?.version === "string";
}

const SHOWN_BYTES = 60;

/** The first bytes of an answer, in ASCII without control characters. */
function beginning(answer: unknown): string {
  const isText = typeof answer === "string";
  const bytes = Buffer.from(isText ? answer : printJson(answer));
  const shown = bytes.subarray(0, SHOWN_BYTES).toString() + (bytes.length > SHOWN_BYTES ? "…" : "");
  return (isText ? JSON.stringify(shown) : shown).replace(/[^ -~…]/g, escaped);
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
