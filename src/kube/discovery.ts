/** What an API server serves, looked at cheaply: one small GET per group and version. */
import { beginningOfJson, beginningOfText, wrongAnswer } from "./answers.ts";
import { printJson } from "./json.ts";
import { isKubeError, type KubeClient, type RequestOptions } from "./types.ts";

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

/** The server's version, such as `v1.34.1`. */
export async function serverVersion(client: KubeClient, options?: RequestOptions): Promise<string> {
  const path = "/version";
  return expected(client, path, await client.getRaw(path, options), isVersion).gitVersion;
}

/** A proxy in between may answer 200 with anything. */
async function discover<T>(
  client: KubeClient,
  path: string,
  isExpected: (answer: unknown) => answer is T,
  options: RequestOptions | undefined,
): Promise<T | undefined> {
  const answer = await unlessNotFound(client.getRaw(path, options));
  return answer === undefined ? undefined : expected(client, path, answer, isExpected);
}

function expected<T>(
  { server }: KubeClient,
  path: string,
  answer: unknown,
  isExpected: (answer: unknown) => answer is T,
): T {
  if (isExpected(answer)) return answer;
  const question = { action: "read what is served", method: "GET", path, server };
  const shown = typeof answer === "string" ? beginningOfText(answer) : beginningOfJson(printJson(answer));
  throw wrongAnswer(question, "is not one of an API server", shown);
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

function isVersion(answer: unknown): answer is { readonly gitVersion: string } {
  return typeof (Object(answer) as { gitVersion?: unknown }).gitVersion === "string";
}
