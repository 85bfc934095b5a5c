/** What an API server serves, looked at cheaply: one small GET per group and version. */
import { isKubeError, type KubeClient, type RequestOptions } from "./types.ts";

interface ResourceList {
  readonly resources: readonly { readonly name: string }[];
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
  try {
    const list = (await client.getRaw(path, options)) as ResourceList;
    return new Set(list.resources.map(({ name }) => name));
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}
