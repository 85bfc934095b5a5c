/** What an older version stored and would be refused today: it is read and used, and said once, at the start. */
import { refusals } from "../api/admission/admission.ts";
import type { Datastore } from "../datastore/datastore.ts";
import { MANIFEST_KINDS, type ManifestKind } from "./manifest-kinds.ts";

/** A sentence for each object of a kind that a person writes. */
export async function refusedToday(datastore: Datastore): Promise<string[]> {
  const lists = await Promise.all(MANIFEST_KINDS.map((kind) => datastore.list<ManifestKind>(kind)));
  return lists
    .flatMap(({ items }) => items)
    .flatMap((object) => {
      const words = refusals({ kind: object.kind, object }).map((problem) => problem.words);
      if (words.length === 0) return [];
      return [`${object.kind} "${object.metadata.name}" is stored and would be refused today: ${words.join("; ")}`];
    });
}
