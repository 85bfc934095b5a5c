/** Writes one object of a manifest into the store, as `kubectl apply` would: compare-and-swap on what was read. */
import { isDeepStrictEqual } from "node:util";
import type { Installation } from "../api/installation.ts";
import { type Datastore, isDatastoreError, type Stored } from "../datastore/datastore.ts";
import { changesText, specChanges } from "../ipam/spec-changes.ts";
import { toStore } from "./manifest-form.ts";
import type { ManifestKind } from "./manifest-kinds.ts";

/** Whether this pass deleted it; where another writer was faster, the next pass looks again. */
export async function deleted(object: Stored<ManifestKind>, datastore: Datastore): Promise<boolean> {
  try {
    await datastore.delete(object);
    return true;
  } catch (error) {
    if (isDatastoreError(error, "Conflict", "NotFound")) return false;
    throw error;
  }
}

/** What became of an object. `mended`: it was stored so that it could not be read, and is written again. */
export interface Applied {
  readonly type: "created" | "changed" | "mended";
  /** The fields that changed, with both values: `natOutgoing false becomes true`; of an Installation its status says it. */
  readonly changes?: string;
}

/** Writes `wanted` unless it is stored so; once more from the newest state where another writer was faster. */
export async function apply(wanted: Stored<ManifestKind>, datastore: Datastore): Promise<Applied | undefined> {
  for (;;) {
    try {
      return await applyOnce(wanted, datastore);
    } catch (error) {
      if (!isDatastoreError(error, "Conflict", "AlreadyExists")) throw error;
    }
  }
}

async function applyOnce(wanted: Stored<ManifestKind>, datastore: Datastore): Promise<Applied | undefined> {
  const { stored, unreadableAt } = await find(wanted, datastore);
  if (unreadableAt !== undefined) return mend(wanted, unreadableAt, datastore);
  if (stored === undefined) {
    await datastore.create(wanted);
    return { type: "created" };
  }
  const next = toStore(stored, wanted);
  if (isDeepStrictEqual(plain(next), plain(stored))) return undefined;
  await datastore.update(next);
  const changes = changesIn(stored, next);
  return { type: "changed", ...(changes && { changes }) };
}

function changesIn(before: Stored<ManifestKind>, after: Stored<ManifestKind>): string {
  if (before.kind === "Installation" || after.kind === "Installation") return "";
  return changesText(specChanges<Exclude<Stored<ManifestKind>, Installation>>(before, after));
}

async function mend(wanted: Stored<ManifestKind>, resourceVersion: string, datastore: Datastore): Promise<Applied> {
  await datastore.update({ ...wanted, metadata: { ...wanted.metadata, resourceVersion } } as Stored<ManifestKind>);
  return { type: "mended" };
}

/** For comparison: prototypes and absent-as-undefined do not count. */
function plain(object: object): unknown {
  return JSON.parse(JSON.stringify(object, (_, value) => (typeof value === "bigint" ? `${value}n` : value)));
}

interface Found {
  readonly stored?: Stored<ManifestKind>;
  /** The revision of an object that cannot be read. */
  readonly unreadableAt?: string | undefined;
}

async function find({ kind, metadata: { name } }: Stored<ManifestKind>, datastore: Datastore): Promise<Found> {
  try {
    return { stored: await datastore.get(kind, name) };
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return {};
    if (!isDatastoreError(error, "Invalid")) throw error;
    const { malformed } = await datastore.list<ManifestKind>(kind);
    return { unreadableAt: malformed.find((object) => object.name === name)?.resourceVersion };
  }
}
