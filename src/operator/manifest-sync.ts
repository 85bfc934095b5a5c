/** Makes the embedded store hold what the files say: what `kubectl apply` and `kubectl delete` do on a cluster. */
import { isDeepStrictEqual } from "node:util";
import type { Datastore, Stored } from "../datastore/datastore.ts";
import { isDatastoreError } from "../datastore/datastore.ts";
import { MANIFEST_KINDS, type Manifest, type ManifestKind, type ManifestProblem, parseManifests } from "./manifests.ts";

/** On each object that came from a file: its name, so that deleting the file deletes the object, also after a restart. */
export const FILE_ANNOTATION = "ipam-operator.io/manifest-file";

export type SyncEvent =
  | {
      readonly type: "created" | "changed" | "deleted";
      readonly file: string;
      readonly kind: ManifestKind;
      readonly name: string;
    }
  | { readonly type: "refused"; readonly file: string; readonly problems: readonly ManifestProblem[] };

export interface ManifestSync {
  /** Brings the store in line with `files` (text by name); resolves when done. Says each change once. */
  sync(files: ReadonlyMap<string, string>): Promise<void>;
}

/** @param tell hears of each object written or deleted, and of each file that is refused */
export function createManifestSync(datastore: Datastore, tell: (event: SyncEvent) => void): ManifestSync {
  /** Per file the text last looked at: a file that did not change is left alone, as it is after a `kubectl apply`. */
  let seen: ReadonlyMap<string, string> = new Map();
  const good = new Map<string, readonly Manifest[]>();
  const bad = new Set<string>();
  return {
    sync: async (files) => {
      const changed = [...files].filter(([file, text]) => seen.get(file) !== text).map(([file]) => file);
      seen = new Map(files);
      for (const file of changed) takeIn(file, parseManifests(files.get(file) ?? ""), { good, bad, tell });
      for (const file of [...good.keys(), ...bad]) if (!files.has(file)) forget(file, good, bad);
      for (const file of changed) if (!bad.has(file)) await applyFile(file, good, datastore, tell);
      await deleteOrphans(good, bad, datastore, tell);
    },
  };
}

type Tell = (event: SyncEvent) => void;

function takeIn(
  file: string,
  { manifests, problems }: ReturnType<typeof parseManifests>,
  { good, bad, tell }: { good: Map<string, readonly Manifest[]>; bad: Set<string>; tell: Tell },
): void {
  const twice = problems.length > 0 ? [] : manifests.flatMap((manifest) => elsewhere(file, manifest, good));
  bad.delete(file);
  if (problems.length === 0 && twice.length === 0) {
    good.set(file, manifests);
    return;
  }
  bad.add(file);
  tell({ type: "refused", file, problems: [...problems, ...twice] });
}

/** Two files that say different things about one object would take turns for ever. */
function elsewhere(file: string, { object, line }: Manifest, good: ReadonlyMap<string, readonly Manifest[]>) {
  const other = [...good].find(
    ([name, manifests]) => name !== file && manifests.some((one) => same(one.object, object)),
  );
  const what = `${object.kind} ${object.metadata.name}`;
  return other === undefined ? [] : [{ line, message: `${what} is also in ${other[0]}; keep it in one file` }];
}

function same(one: Stored<ManifestKind>, other: Stored<ManifestKind>): boolean {
  return one.kind === other.kind && one.metadata.name === other.metadata.name;
}

function forget(file: string, good: Map<string, readonly Manifest[]>, bad: Set<string>): void {
  good.delete(file);
  bad.delete(file);
}

async function applyFile(
  file: string,
  good: ReadonlyMap<string, readonly Manifest[]>,
  datastore: Datastore,
  tell: Tell,
): Promise<void> {
  for (const { object } of good.get(file) ?? []) {
    const wanted = withFile(object, file);
    const type = await apply(wanted, datastore);
    if (type !== undefined) tell({ type, file, kind: object.kind, name: object.metadata.name });
  }
}

function withFile(object: Stored<ManifestKind>, file: string): Stored<ManifestKind> {
  const annotations = { ...object.metadata.annotations, [FILE_ANNOTATION]: file };
  return { ...object, metadata: { ...object.metadata, annotations } } as Stored<ManifestKind>;
}

/** Writes `wanted` unless it is stored so; once more from the newest state where another writer was faster. */
async function apply(wanted: Stored<ManifestKind>, datastore: Datastore): Promise<"created" | "changed" | undefined> {
  for (;;) {
    try {
      return await applyOnce(wanted, datastore);
    } catch (error) {
      if (!isDatastoreError(error, "Conflict", "AlreadyExists")) throw error;
    }
  }
}

async function applyOnce(wanted: Stored<ManifestKind>, datastore: Datastore) {
  const stored = await find(wanted, datastore);
  if (stored === undefined) {
    await datastore.create(wanted);
    return "created";
  }
  const { labels, annotations } = wanted.metadata;
  const { labels: _, annotations: __, ...metadata } = stored.metadata;
  const next = { ...stored, metadata: { ...metadata, ...(labels && { labels }), annotations }, spec: wanted.spec };
  if (isDeepStrictEqual(plain(next), plain(stored))) return undefined;
  await datastore.update(next as Stored<ManifestKind>);
  return "changed";
}

/** For comparison: prototypes and absent-as-undefined do not count. */
function plain(object: object): unknown {
  return JSON.parse(JSON.stringify(object, (_, value) => (typeof value === "bigint" ? `${value}n` : value)));
}

async function find(wanted: Stored<ManifestKind>, datastore: Datastore): Promise<Stored<ManifestKind> | undefined> {
  try {
    return await datastore.get(wanted.kind, wanted.metadata.name);
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Deletes what came from a file that no longer says so. A refused file keeps its objects: the last good ones. */
async function deleteOrphans(
  good: ReadonlyMap<string, readonly Manifest[]>,
  bad: ReadonlySet<string>,
  datastore: Datastore,
  tell: Tell,
): Promise<void> {
  for (const kind of MANIFEST_KINDS) {
    const { items } = await datastore.list<ManifestKind>(kind);
    for (const object of items) {
      const file = object.metadata.annotations?.[FILE_ANNOTATION];
      if (file === undefined || bad.has(file)) continue;
      if (good.get(file)?.some((manifest) => same(manifest.object, object))) continue;
      await datastore.delete(object);
      tell({ type: "deleted", file, kind, name: object.metadata.name });
    }
  }
}
