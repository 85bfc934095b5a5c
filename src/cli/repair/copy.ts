/**
 * The copy that `repair` keeps of what it changes: a line that says what it is; before each write the object as it was,
 * after it what it became. Written as it goes, so that it is right wherever the work was cut off.
 */
import { type FileHandle, rm } from "node:fs/promises";
import { resources } from "../../api/resources.ts";
import type { IpamKind } from "../../api/v3.ts";
import { type Datastore, isDatastoreError, type Kind, type Stored } from "../../datastore/datastore.ts";
import { parseJson, printJson } from "../../kube/json.ts";
import { fileError, readText } from "../files.ts";
import { newFile } from "../write-file.ts";

const FIRST = { copy: "ipam-operator.io/v1alpha1" } as const;

/** An object as it was; undefined: there was none. */
interface Before {
  readonly kind: IpamKind;
  readonly name: string;
  readonly before?: Stored<IpamKind> | undefined;
}
/** What it is since; undefined: it is gone, or nobody knows. */
interface After {
  readonly kind: IpamKind;
  readonly name: string;
  readonly after: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined } | "gone";
}

/** One object's way through a repair. */
export interface Change {
  readonly kind: IpamKind;
  readonly name: string;
  readonly before: Stored<IpamKind> | undefined;
  /** Absent where the work was cut off at its write. */
  readonly after?: After["after"];
}

export class Copy {
  readonly path: string;
  #file: Promise<FileHandle> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isUsed = false;

  constructor(path: string) {
    this.path = path;
  }

  /** Whether anything is kept in it. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** @throws where the file is there already, or cannot be written */
  async begin(): Promise<FileHandle> {
    this.#file ??= this.#create();
    return this.#file;
  }

  /** Lines are whole, whoever writes at once. @throws as `begin` */
  async add(line: Before | After): Promise<void> {
    const file = await this.begin();
    this.#isUsed = true;
    this.#last = this.#last.then(() => file.appendFile(`${printJson(line)}\n`));
    await this.#last.catch((error: unknown) => {
      throw fileError(this.path, "written", error);
    });
  }

  /** A file that holds nothing goes. */
  async close(): Promise<void> {
    const file = await this.#file?.catch(() => undefined);
    await file?.close();
    if (file && !this.#isUsed) await rm(this.path, { force: true });
  }

  async #create(): Promise<FileHandle> {
    const file = await newFile(this.path);
    try {
      await file.appendFile(`${printJson(FIRST)}\n`);
      return file;
    } catch (error) {
      throw fileError(this.path, "written", error);
    }
  }
}

/** The store, with every write to it kept in the copy. */
export function copied(datastore: Datastore, copy: Copy): Datastore {
  const write = async <K extends Kind, T>(
    object: Stored<K>,
    doIt: () => Promise<T>,
    after: (done: T) => After["after"],
  ) => {
    const { kind, metadata } = object as Stored<IpamKind>;
    const { name } = metadata;
    await copy.add({ kind, name, before: await stored(datastore, kind, name) });
    const done = await doIt();
    await copy.add({ kind, name, after: after(done) });
    return done;
  };
  const revision = ({ metadata: { uid, resourceVersion } }: Stored<Kind>) => ({ uid, resourceVersion });
  return {
    description: datastore.description,
    nodes: datastore.nodes,
    get: (kind, name, options) => datastore.get(kind, name, options),
    list: (kind, options) => datastore.list(kind, options),
    watch: (kind, options) => datastore.watch(kind, options),
    close: () => datastore.close(),
    updateStatus: (object, options) => datastore.updateStatus(object, options),
    create: (object, options) => write(object, () => datastore.create(object, options), revision),
    update: (object, options) => write(object, () => datastore.update(object, options), revision),
    delete: (object, options) =>
      write(
        object,
        () => datastore.delete(object, options),
        () => "gone",
      ),
  };
}

/** Undefined where there is none. */
export async function stored(
  datastore: Datastore,
  kind: IpamKind,
  name: string,
): Promise<Stored<IpamKind> | undefined> {
  try {
    return await datastore.get(kind, name, { fresh: true });
  } catch (error) {
    if (isDatastoreError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** What a repair changed, each object once: as it was first, and what it became last. @throws Error where it is no copy */
export async function readCopy(path: string): Promise<Change[]> {
  const [first, ...lines] = (await readText(path)).split("\n").filter((line) => line !== "");
  if (first !== printJson(FIRST)) throw new Error(`${path} is no copy of "ipamctl repair"`);
  const changes = new Map<string, Change>();
  for (const [index, line] of lines.entries()) fold(changes, parsed(path, line, index + 2));
  return [...changes.values()];
}

function parsed(path: string, line: string, number: number): Before | After {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    throw new Error(`${path}, line ${number}: is not whole`);
  }
  if (!isLine(value)) throw new Error(`${path}, line ${number}: is nothing that a repair writes`);
  return value;
}

/** The object itself is looked at by the store, when it is put back. */
function isLine(value: unknown): value is Before | After {
  const { kind, name, before, after } = (value ?? {}) as Record<string, unknown>;
  if (typeof kind !== "string" || !Object.hasOwn(resources, kind) || typeof name !== "string") return false;
  if (after !== undefined) return after === "gone" || isObject(after);
  if (before === undefined) return true;
  if (!isObject(before) || !isObject(before["metadata"])) return false;
  return before["kind"] === kind && before["metadata"]["name"] === name;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function fold(changes: Map<string, Change>, line: Before | After): void {
  const key = `${line.kind}/${line.name}`;
  const known = changes.get(key);
  if ("after" in line) changes.set(key, { ...known!, after: line.after });
  else if (known === undefined) changes.set(key, { kind: line.kind, name: line.name, before: line.before });
}
