/** Objects that are changed only as they were looked at: the same object, at the same revision. */
import type { IpamKind } from "../../api/v3.ts";
import { type Datastore, isDatastoreError, type Stored } from "../../datastore/datastore.ts";

type Seen = { readonly metadata: { readonly name: string; readonly uid?: string; readonly resourceVersion?: string } };

export type Found<K extends IpamKind> = { readonly object: Stored<K> } | { readonly changed: string };

/** The whole object as stored now, where it is still what was seen; else why not. */
export async function asSeen<K extends IpamKind>(datastore: Datastore, kind: K, seen: Seen): Promise<Found<K>> {
  const { name, uid, resourceVersion } = seen.metadata;
  try {
    const object = await datastore.get(kind, name, { fresh: true });
    if (object.metadata.uid !== uid) return { changed: "was made anew since it was looked at" };
    if (object.metadata.resourceVersion !== resourceVersion) return { changed: "was changed since it was looked at" };
    return { object };
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return { changed: "is gone" };
    throw error;
  }
}

/** Runs a write that loses where somebody else wrote first. @returns why nothing was done, where that was so */
export async function unlessLost(write: Promise<unknown>): Promise<string | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (!isDatastoreError(error, "Conflict", "NotFound", "AlreadyExists")) throw error;
    return `somebody else wrote first: ${error.message}`;
  }
}

/** Deletes an object exactly as it was seen. @returns why not, where it is not so any more */
export async function deleteAsSeen(datastore: Datastore, kind: IpamKind, seen: Seen): Promise<string | undefined> {
  const found = await asSeen(datastore, kind, seen);
  return "changed" in found ? found.changed : unlessLost(datastore.delete(found.object));
}
