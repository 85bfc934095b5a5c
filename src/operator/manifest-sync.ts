/**
 * Brings the embedded store in line with a folder of files. Every pass judges all files anew against what is stored, so
 * that nothing an earlier pass could not do is lost.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Datastore, Stored } from "../datastore/datastore.ts";
import { isDatastoreError } from "../datastore/datastore.ts";
import { type Applied, apply } from "./manifest-apply.ts";
import type { FileContent } from "./manifest-folder.ts";
import { judge, keyOf } from "./manifest-judgement.ts";
import { MANIFEST_KINDS, type ManifestKind } from "./manifest-kinds.ts";
import { FILE_ANNOTATION, fileWithin } from "./manifest-origin.ts";
import { type Owned, Unnamed, type UnnamedEvent } from "./manifest-unnamed.ts";
import {
  firstOf,
  type Manifest,
  type ManifestProblem,
  type ParsedManifests,
  readManifests,
  refusedIn,
  type StoredOf,
} from "./manifests.ts";

export type SyncEvent =
  | (Applied & { readonly file: string; readonly kind: ManifestKind; readonly name: string })
  | UnnamedEvent
  | { readonly type: "refused"; readonly file: string; readonly problems: readonly ManifestProblem[] }
  /** What was refused is right again, and brings nothing that is not stored already. */
  | { readonly type: "accepted"; readonly file: string };

export interface ManifestSyncOptions {
  readonly datastore: Datastore;
  /** Tells this folder from others whose files are kept in the same store. */
  readonly folder: string;
  /** Hears of each object written or deleted, and of each file that is refused. */
  readonly tell: (event: SyncEvent) => void;
  /** Ends a pass before its next file. */
  readonly stop?: AbortSignal;
  /** Milliseconds. Default: the system's. */
  readonly now?: () => number;
}

export interface ManifestSync {
  /** One pass over `files` (by name); says each change once. @throws when the store cannot be used: call it again */
  sync(files: ReadonlyMap<string, FileContent>): Promise<void>;
}

export function createManifestSync(options: ManifestSyncOptions): ManifestSync {
  const sync = new FolderSync(options);
  return { sync: (files) => sync.pass(files) };
}

class FolderSync {
  readonly #options: ManifestSyncOptions;
  readonly #parsed = new Map<string, { readonly content: FileContent; readonly parsed: ParsedManifests }>();
  /** Per file what was written from it as a whole: an unchanged file is left alone, as it is after a `kubectl apply`. */
  readonly #applied = new Map<string, FileContent>();
  readonly #told = new Map<string, string>();
  readonly #unnamed: Unnamed;

  constructor(options: ManifestSyncOptions) {
    this.#options = options;
    this.#unnamed = new Unnamed(options.datastore);
  }

  async pass(files: ReadonlyMap<string, FileContent>): Promise<void> {
    for (const kept of [this.#parsed, this.#applied, this.#told])
      for (const file of kept.keys()) if (!files.has(file)) kept.delete(file);
    const { tell, now = Date.now } = this.#options;
    const { stored, owned, unreadable } = await this.#stored();
    const owners = new Map(owned.map(({ file, object }) => [keyOf(object), file]));
    const storedOf: StoredOf = (object) => stored.get(keyOf(object));
    const parsed = await this.#judgeAll(files, storedOf);
    if (this.#options.stop?.aborted) return;
    const { good, refused } = judge(parsed, owners);
    for (const [file, problems] of refused) this.#refuse(file, problems);
    for (const [file, content] of [...files]) {
      const manifests = good.get(file);
      if (manifests === undefined) continue;
      if (manifests.some(({ object }) => unreadable.has(keyOf(object)))) this.#applied.delete(file);
      await this.#apply(file, content, manifests);
      if (this.#options.stop?.aborted) return;
    }
    const named = new Set([...good.values()].flat().map(({ object }) => keyOf(object)));
    const unnamed = owned.filter(({ file, object }) => !refused.has(file) && !named.has(keyOf(object)));
    for (const event of await this.#unnamed.pass(unnamed, now())) tell(event);
  }

  /** Signals and probes are answered between two files: a large one takes its time. */
  async #judgeAll(files: ReadonlyMap<string, FileContent>, storedOf: StoredOf): Promise<Map<string, ParsedManifests>> {
    const parsed = new Map<string, ParsedManifests>();
    for (const [file, content] of files) {
      if (this.#applied.get(file) !== content) await nextTurn();
      if (this.#options.stop?.aborted) break;
      parsed.set(file, this.#judged(file, content, storedOf));
    }
    return parsed;
  }

  /** A file that is in force as it stands was judged before. */
  #judged(file: string, content: FileContent, storedOf: StoredOf): ParsedManifests {
    const parsed = this.#parse(file, content);
    if (parsed.problems.length > 0 || this.#applied.get(file) === content) return parsed;
    return { ...parsed, problems: firstOf(refusedIn(parsed.manifests, storedOf)) };
  }

  #parse(file: string, content: FileContent): ParsedManifests {
    const before = this.#parsed.get(file);
    if (before !== undefined && isDeepStrictEqual(before.content, content)) return before.parsed;
    const unreadable = typeof content !== "string" && { manifests: [], problems: [{ message: content.unreadable }] };
    const parsed = unreadable || readManifests(content as string);
    this.#parsed.set(file, { content, parsed });
    return parsed;
  }

  /** What is stored from the files of this folder, whether they are still there or not; and what cannot be read. */
  async #stored() {
    const { datastore, folder } = this.#options;
    const lists = await Promise.all(MANIFEST_KINDS.map((kind) => datastore.list<ManifestKind>(kind)));
    const objects = lists.flatMap(({ items }) => items);
    const owned = objects.flatMap((object): Owned[] => {
      const file = fileWithin(folder, object);
      return file === undefined ? [] : [{ object, file }];
    });
    const malformed = lists.flatMap((list, at) =>
      list.malformed.map(({ name }) => keyOf({ kind: MANIFEST_KINDS[at]!, metadata: { name } })),
    );
    const stored = new Map(objects.map((object) => [keyOf(object), object]));
    return { stored, owned, unreadable: new Set(malformed) };
  }

  #refuse(file: string, problems: readonly ManifestProblem[]): void {
    this.#applied.delete(file);
    const text = JSON.stringify(problems);
    if (this.#told.get(file) === text) return;
    this.#told.set(file, text);
    this.#options.tell({ type: "refused", file, problems });
  }

  async #apply(file: string, content: FileContent, manifests: readonly Manifest[]): Promise<void> {
    if (this.#applied.get(file) === content) return;
    const problems: ManifestProblem[] = [];
    let changed = false;
    for (const { object, line } of manifests) {
      try {
        await nextTurn(); // the embedded store answers without one
        if (this.#options.stop?.aborted) return;
        changed = (await this.#applyOne(file, object)) || changed;
      } catch (error) {
        // Of no kind: about the store as a whole, so every other object would end the same way.
        if (!isDatastoreError(error) || error.kind === "") throw error;
        problems.push({ line, message: error.message });
      }
    }
    if (problems.length > 0) return this.#refuse(file, problems);
    this.#applied.set(file, content);
    if (this.#told.delete(file) && !changed) this.#options.tell({ type: "accepted", file });
  }

  /** @returns whether something was written, and said */
  async #applyOne(file: string, object: Stored<ManifestKind>): Promise<boolean> {
    const { datastore, folder, tell } = this.#options;
    const annotations = { ...object.metadata.annotations, [FILE_ANNOTATION]: `${folder}/${file}` };
    const wanted = { ...object, metadata: { ...object.metadata, annotations } } as Stored<ManifestKind>;
    const applied = await apply(wanted, datastore);
    if (applied !== undefined) tell({ ...applied, file, kind: object.kind, name: object.metadata.name });
    return applied !== undefined;
  }
}
