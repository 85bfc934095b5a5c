/**
 * The embedded datastore: a SQLite file, or memory, that behaves as an API server does towards the code above it.
 * Several processes may use one file; every write is one transaction, so there is no half-made one to recover from.
 */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Installation } from "../api/installation.ts";
import { printJson } from "../kube/json.ts";
import type { Cidr } from "../net/cidr.ts";
import { BlockIndex, type BlockRef, blockRef } from "./block-index.ts";
import {
  type CallOptions,
  type Datastore,
  DatastoreError,
  type DatastoreEvent,
  isDatastoreError,
  type Kind,
  type Listed,
  type ListedName,
  type ListOptions,
  type StatusOptions,
  type Stored,
  type WatchOptions,
} from "./datastore.ts";
import { type Admission, asCopy, asServer } from "./embedded-admission.ts";
import { type Database, dataVersion, explained, openDatabase, snapshot, transaction } from "./embedded-database.ts";
import { Feed } from "./embedded-feed.ts";
import { firstForm, nextForm, parseObject, sameForm, withStatus } from "./embedded-objects.ts";
import { objectOf, RowReader, refusal } from "./embedded-reader.ts";
import { type ChangeRow, type Row, Tables } from "./embedded-tables.ts";
import { isMarked, isMarkedKind, revisionOf } from "./rows.ts";
import { problemsOf } from "./validation.ts";
import { View } from "./view.ts";

/** How a store of its own behaves. */
export interface EmbeddedOptions {
  /** For creationTimestamp. Default: the system's. */
  readonly clock?: (() => Date) | undefined;
  /** How many changes are kept for watches to go on from. Default 4096. */
  readonly history?: number | undefined;
}

const HISTORY = 4096;
const BATCH = 256;

/** Opens the store in a file, made where there is none, or in memory. @throws DatastoreError that says what to do */
export function openEmbedded(path: string | ":memory:", options: EmbeddedOptions = {}): Datastore {
  return new EmbeddedDatastore(path, options, asServer);
}

/** A store for a copy of what is stored elsewhere: it also takes objects that break rules, as older data does. */
export function openCopy(path: string | ":memory:", options: EmbeddedOptions = {}): Datastore {
  return new EmbeddedDatastore(path, options, asCopy);
}

class EmbeddedDatastore implements Datastore {
  readonly description = "embedded";
  readonly #path: string;
  readonly #database: Database;
  readonly #tables: Tables;
  readonly #feed: Feed;
  readonly #options: EmbeddedOptions;
  readonly #admission: Admission;
  readonly #reader = new RowReader();
  #blocks = new BlockIndex();
  /** Revision up to which `#blocks` has all changes; -1: it is empty. */
  #blocksAt = -1;

  constructor(path: string, options: EmbeddedOptions, admission: Admission) {
    this.#path = path;
    this.#admission = admission;
    this.#options = options;
    this.#database = openDatabase(path);
    this.#tables = new Tables(this.#database, options.history ?? HISTORY);
    this.#feed = new Feed(path === ":memory:" ? undefined : () => dataVersion(this.#database));
  }

  async get<K extends Kind>(kind: K, name: string, options?: CallOptions): Promise<Stored<K>> {
    const row = this.#run(options, () => this.#tables.row(kind, name));
    if (row === undefined) throw notFound(kind, name);
    const object = this.#reader.read(kind, row);
    if (!isMarked(object)) return object;
    await this.delete(object, options);
    throw notFound(kind, name);
  }

  async list<K extends Kind>(kind: K, options?: ListOptions): Promise<Listed<K>> {
    const { objects, malformed, revision } = this.#run(options, () =>
      snapshot(this.#database, () => ({
        ...this.#reader.readAll(kind, this.#tables.rows(kind)),
        revision: this.#tables.revision(),
      })),
    );
    const items = objects.filter((object) => !isMarked(object) && hasLabels(object, options?.labels));
    return { items, revision: String(revision), malformed };
  }

  blocksOf(affinity: string, options?: CallOptions): Stored<"IPAMBlock">[] {
    const rows = this.#run(options, () => this.#tables.blocksOf(affinity));
    return this.#reader.readAll("IPAMBlock", rows).objects.filter((block) => !isMarked(block));
  }

  async blocksOverlapping(range: Cidr, options?: CallOptions): Promise<readonly BlockRef[]> {
    this.#run(options, () => snapshot(this.#database, () => this.#indexBlocks()));
    return this.#blocks.overlapping(range);
  }

  async listNames(kind: Kind, options?: CallOptions): Promise<readonly ListedName[]> {
    return this.#run(options, () => this.#tables.names(kind));
  }

  async create<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>> {
    const { clock = () => new Date() } = this.#options;
    const written = this.#admission.prepare(object);
    // No turn is given away where there is nothing to wait for.
    if (!this.#admission.isReady(object.kind)) await this.#admission.load();
    const first = firstForm(written, randomUUID(), clock());
    this.#admission.admit(first);
    return this.#write(options, () => {
      const { name } = first.metadata;
      if (this.#tables.row(first.kind, name)) throw refusal("AlreadyExists", first.kind, name, "exists already");
      return this.#put("ADDED", first);
    });
  }

  async update<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<Stored<K>> {
    // The core library's own rows are what the types say; what a person may have written is checked.
    const isOwn = isMarkedKind(object.kind);
    const written = isOwn ? object : this.#admission.prepare(object);
    if (!this.#admission.isReady(object.kind)) await this.#admission.load();
    const { clock = () => new Date() } = this.#options;
    return this.#replace(object, options, {
      change: (stored) => this.#admitted(nextForm(stored, written), stored, isOwn),
      mend: (row) => this.#admitted(formInPlaceOf(row, written, clock()), undefined, isOwn),
    });
  }

  async updateStatus(object: Installation, { onto, ...options }: StatusOptions = {}): Promise<Installation> {
    this.#admission.prepare(object);
    if (!this.#admission.isReady(object.kind)) await this.#admission.load();
    return this.#replace<"Installation">(object, options, {
      ...(onto && { isAsRead: ({ json }) => isDeepStrictEqual(parseObject<Installation>(json).status, onto.status) }),
      change: (stored) => this.#admitted(withStatus<"Installation">(stored, object.status), stored),
      mend: (row) => this.#reader.read("Installation", row), // which says what is wrong with it
    });
  }

  /** Marking and removing are one transaction here, so nothing can be found between them. */
  async delete<K extends Kind>(object: Stored<K>, options?: CallOptions): Promise<void> {
    this.#write(options, () => this.#tables.remove(object.kind, this.#rowAt(object)));
    this.#reader.forget(object.kind, object.metadata.name);
  }

  async *watch<K extends Kind>(kind: K, options: WatchOptions): AsyncGenerator<DatastoreEvent<K>> {
    const view = new View<K>();
    let from = options.revision;
    while (!options.signal.aborted) {
      try {
        if (from === undefined) {
          const { items, malformed, revision } = await this.list(kind);
          for (const { name, reason } of malformed) options.onMalformed?.({ kind, name, reason });
          yield* view.replace(items, malformed);
          from = revision;
        }
        yield* this.#follow(kind, view, Number(from), options);
      } catch (error) {
        // A watch that began with everything can list again; one that goes on from the caller's list cannot.
        if (!isDatastoreError(error, "Expired") || options.revision !== undefined) throw error;
        from = undefined;
      }
    }
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
    this.#feed.notify();
  }

  /** Reading and beginning to wait happen in one turn: no write of this process falls between. */
  async *#follow<K extends Kind>(
    kind: K,
    view: View<K>,
    from: number,
    { signal, onMalformed }: WatchOptions,
  ): AsyncGenerator<DatastoreEvent<K>> {
    let at = from;
    while (!signal.aborted) {
      const { changes, revision } = this.#changesAfter(kind, at);
      for (const change of changes) {
        const event = this.#seen(kind, view, change, onMalformed);
        at = change.revision;
        if (event !== undefined) yield event;
        if (signal.aborted) return;
      }
      if (changes.length > 0) continue;
      at = revision;
      await this.#feed.wait(signal);
    }
  }

  /** What the watcher is told of one change; of an object that cannot be read, at most that it is gone. */
  #seen<K extends Kind>(
    kind: K,
    view: View<K>,
    { type, ...row }: ChangeRow,
    onMalformed: WatchOptions["onMalformed"],
  ): DatastoreEvent<K> | undefined {
    try {
      return view.take(type, this.#reader.read(kind, row));
    } catch (error) {
      onMalformed?.({ kind, name: row.name, reason: (error as Error).message });
      return type === "DELETED" ? view.drop(row.name) : undefined;
    }
  }

  /** Brings the index up to what is stored: by the changes since it was asked last, or as a whole. */
  #indexBlocks(): void {
    if (this.#blocksAt >= 0 && this.#tables.reaches(this.#blocksAt)) {
      for (const { name, cidr, gone } of this.#tables.blockNamesAfter(this.#blocksAt)) {
        this.#blocks.putRange(name, gone ? undefined : blockRef(name, cidr));
      }
    } else {
      this.#blocks = new BlockIndex();
      for (const { name, cidr } of this.#tables.blockNames()) this.#blocks.putRange(name, blockRef(name, cidr));
    }
    this.#blocksAt = this.#tables.revision();
  }

  #changesAfter(kind: Kind, revision: number) {
    return this.#run({}, () =>
      snapshot(this.#database, () => {
        if (!this.#tables.reaches(revision)) throw expired(kind, revision);
        return { changes: this.#tables.changes(kind, revision, BATCH), revision: this.#tables.revision() };
      }),
    );
  }

  #replace<K extends Kind>(
    object: Stored<K>,
    options: CallOptions | undefined,
    how: {
      change: (stored: Stored<K>) => Stored<K>;
      mend: (row: Row) => Stored<K>;
      isAsRead?: (row: Row) => boolean;
    },
  ): Stored<K> {
    return this.#write(options, () => {
      const row = this.#rowAt(object, how.isAsRead);
      if (!this.#reader.isReadable(object.kind, row)) return this.#put("MODIFIED", how.mend(row));
      const stored = parseObject<Stored<K>>(row.json);
      const next = how.change(stored);
      return sameForm(next, stored) ? objectOf<K>(row) : this.#put("MODIFIED", next);
    });
  }

  #admitted<K extends Kind>(next: Stored<K>, stored: Stored<K> | undefined, isOwn = false): Stored<K> {
    if (!isOwn) this.#admission.admit(next, stored);
    return next;
  }

  /** The row that the caller read, and no other: by its revision, or by what else counts. */
  #rowAt(object: Stored<Kind>, isAsRead = (row: Row) => String(row.revision) === revisionOf(object)): Row {
    const { kind, metadata } = object;
    const revision = revisionOf(object);
    const row = this.#tables.row(kind, metadata.name);
    if (row === undefined || (metadata.uid && metadata.uid !== row.uid)) throw notFound(kind, metadata.name);
    if (isAsRead(row)) return row;
    throw refusal("Conflict", kind, metadata.name, `was changed since revision ${revision}, read it again`);
  }

  #put<K extends Kind>(type: "ADDED" | "MODIFIED", object: Stored<K>): Stored<K> {
    const { name, uid = "" } = object.metadata;
    const json = printJson(object);
    const revision = this.#tables.put(type, object.kind, { name, uid, json });
    this.#reader.trust(object.kind, name, revision);
    return objectOf<K>({ json, revision });
  }

  #write<T>(options: CallOptions | undefined, work: () => T): T {
    const result = this.#run(options, () => transaction(this.#database, work));
    this.#feed.notify();
    return result;
  }

  #run<T>(options: CallOptions | undefined, work: () => T): T {
    options?.signal?.throwIfAborted();
    return explained(this.#path, work);
  }
}

/** A good object in place of one that cannot be read: what of that is good, such as the status, is kept. */
function formInPlaceOf<K extends Kind>(row: Row, object: Stored<K>, now: Date): Stored<K> {
  try {
    const next = nextForm(parseObject<Stored<K>>(row.json), object);
    if (next.metadata.uid === row.uid && problemsOf(object.kind as K, next).length === 0) return next;
  } catch {
    // Not even JSON, or without metadata.
  }
  return firstForm(object, row.uid, now);
}

function hasLabels(object: Stored<Kind>, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => object.metadata.labels?.[key] === value);
}

const notFound = (kind: string, name: string) => refusal("NotFound", kind, name, "does not exist");

function expired(kind: string, revision: number): DatastoreError {
  const message = `the changes of ${kind} after revision ${revision} are no longer kept: list again and watch from there`;
  return new DatastoreError("Expired", kind, "", message);
}
