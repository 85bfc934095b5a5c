/** Which manifest an object of the embedded store came from. */
import { basename } from "node:path";
import type { KubeObject } from "../api/meta.ts";

/** On each object that came from a file: folder and name, so that deleting the file deletes the object, also after a restart. */
export const FILE_ANNOTATION = "ipam-operator.io/manifest-file";

type Annotated = Pick<KubeObject, "metadata">;

/** The file's name, where `object` came from one in `folder` (as the store names it). */
export function fileWithin(folder: string, { metadata }: Annotated): string | undefined {
  const path = metadata.annotations?.[FILE_ANNOTATION] ?? "";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;
}

/** The file's name, whatever folder it is in. */
export function manifestOf({ metadata }: Annotated): string | undefined {
  const path = metadata.annotations?.[FILE_ANNOTATION];
  return path === undefined ? undefined : basename(path);
}
