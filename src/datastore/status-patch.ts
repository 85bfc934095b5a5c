/** Writes a status over exactly the one that it was computed from, whatever else of the object was edited meanwhile. */
import type { Installation } from "../api/installation.ts";
import type { KubeObject } from "../api/meta.ts";
import { isKubeError, type KubeClient, KubeError, type RequestOptions, type ResourceType } from "../kube/types.ts";

/**
 * The API server applies it to the newest revision, so edits of metadata and spec never win against it.
 * @throws KubeError Conflict where the object or its status is another one
 */
export async function patchStatus(
  client: KubeClient,
  type: ResourceType,
  { metadata, status }: Installation,
  before: Installation["status"],
  options?: RequestOptions,
): Promise<KubeObject> {
  const patch = [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    { op: "test", path: "/status", value: before ?? null },
    { op: "add", path: "/status", value: status ?? {} },
  ];
  try {
    return await client.patch(type, metadata.name, patch, { ...options, type: "json", subresource: "status" });
  } catch (error) {
    if (!isFailedTest(error)) throw error;
    const message = `the status of ${type.kind} "${metadata.name}" was changed since it was read, read it again`;
    throw new KubeError("Conflict", message, { cause: error });
  }
}

/** The server says no more than that it refuses the patch; a status that breaks the schema comes with causes. */
function isFailedTest(error: unknown): boolean {
  return isKubeError(error, "Invalid") && (error.details?.causes ?? []).length === 0;
}
