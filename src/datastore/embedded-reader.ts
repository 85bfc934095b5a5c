/**
 * Rows of the embedded store as objects. What this process wrote is what its types say; a row that another program may
 * have written is checked, once per revision.
 */
import { DatastoreError, type DatastoreErrorCode, type Kind, type Malformed, type Stored } from "./datastore.ts";
import { parseObject } from "./embedded-objects.ts";
import type { Row } from "./embedded-tables.ts";
import { problemsOf } from "./validation.ts";

export class RowReader {
  /** Revision at which a row is known to be sound, by kind and name. */
  readonly #sound = new Map<Kind, Map<string, number>>();

  /** @throws DatastoreError Invalid, saying what is wrong with the row */
  read<K extends Kind>(kind: K, row: Omit<Row, "uid">): Stored<K> {
    const object = this.#isTrusted(kind, row) ? objectOf<K>(row) : checkedObjectOf(kind, row);
    this.trust(kind, row.name, row.revision);
    return object;
  }

  /** All that can be read, and why the others cannot. */
  readAll<K extends Kind>(kind: K, rows: Iterable<Row>) {
    const objects: Stored<K>[] = [];
    const malformed: Omit<Malformed, "kind">[] = [];
    for (const row of rows) {
      try {
        objects.push(this.read(kind, row));
      } catch (error) {
        const { name, revision } = row;
        malformed.push({ name, reason: (error as Error).message, resourceVersion: String(revision) });
      }
    }
    return { objects, malformed };
  }

  isReadable(kind: Kind, row: Row): boolean {
    return this.#isTrusted(kind, row) || this.readAll(kind, [row]).objects.length > 0;
  }

  /** A row that need not be checked: this process wrote it. */
  trust(kind: Kind, name: string, revision: number): void {
    const ofKind = this.#sound.get(kind) ?? new Map<string, number>();
    this.#sound.set(kind, ofKind.set(name, revision));
  }

  #isTrusted(kind: Kind, { name, revision }: Omit<Row, "uid">): boolean {
    return this.#sound.get(kind)?.get(name) === revision;
  }

  /** A row that is gone. */
  forget(kind: Kind, name: string): void {
    this.#sound.get(kind)?.delete(name);
  }
}

/** An object as readers see it: what the row holds, at the row's revision. */
export function objectOf<K extends Kind>({ json, revision }: Pick<Row, "json" | "revision">): Stored<K> {
  const object = parseObject<Stored<K>>(json);
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

/** The same for a row that another program may have written. */
function checkedObjectOf<K extends Kind>(kind: K, row: Omit<Row, "uid">): Stored<K> {
  try {
    const object = objectOf<K>(row);
    const problems = problemsOf(kind, object);
    if (problems.length === 0) return object;
    throw new Error(problems.join("; "));
  } catch (error) {
    throw refusal("Invalid", kind, row.name, `is stored malformed: ${(error as Error).message}`);
  }
}

export function refusal(code: DatastoreErrorCode, kind: string, name: string, words: string): DatastoreError {
  return new DatastoreError(code, kind, name, `${kind} "${name}" ${words}`);
}
