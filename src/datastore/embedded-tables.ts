/** The statements of the embedded store: rows in, rows out. Transactions are the caller's. */
import type { StatementSync } from "node:sqlite";
import { BLOCK_OWNER, type Database } from "./embedded-database.ts";
import type { RowEvent } from "./view.ts";

export interface Row {
  readonly name: string;
  readonly uid: string;
  readonly revision: number;
  /** The object without resourceVersion. */
  readonly json: string;
}
export interface ChangeRow extends Omit<Row, "uid"> {
  readonly type: RowEvent;
}

/** Whether an object is marked as deleted; 0 where it is not even JSON. */
const IS_MARKED = "coalesce(CASE WHEN json_valid(json) THEN json_extract(json, '$.spec.deleted') END, 0) = 1";

/** The range of a block by its spec; null where it is not even JSON. */
const BLOCK_CIDR = "CASE WHEN json_valid(json) THEN json_extract(json, '$.spec.cidr') END AS cidr";

/** A block by name, and its range as its spec has it. */
export interface BlockName {
  readonly name: string;
  readonly cidr: unknown;
}

/** Prepared once, run often. */
export class Tables {
  readonly #database: Database;
  readonly #history: number;
  readonly #prepared = new Map<string, StatementSync>();

  /** `history`: how many changes are kept for watches to go on from. */
  constructor(database: Database, history: number) {
    this.#database = database;
    this.#history = history;
  }

  row(kind: string, name: string): Row | undefined {
    return this.#sql("SELECT name, uid, revision, json FROM objects WHERE kind = ? AND name = ?").get(kind, name) as
      | Row
      | undefined;
  }

  /** One after the other: all texts of a large store need not be there at once. */
  rows(kind: string): Iterable<Row> {
    return this.#sql("SELECT name, uid, revision, json FROM objects WHERE kind = ? ORDER BY name").iterate(
      kind,
    ) as unknown as Iterable<Row>;
  }

  names(kind: string): { readonly name: string }[] {
    return this.#sql("SELECT name FROM objects WHERE kind = ? ORDER BY name").all(kind) as { name: string }[];
  }

  /** Blocks that name an owner. */
  blocksOf(affinity: string): Row[] {
    return this.#sql(
      `SELECT name, uid, revision, json FROM objects WHERE kind = 'IPAMBlock' AND ${BLOCK_OWNER} = ? ORDER BY name`,
    ).all(affinity) as unknown as Row[];
  }

  /** Names of all blocks that are not marked as deleted. */
  blockNames(): readonly BlockName[] {
    const text = `SELECT name, ${BLOCK_CIDR} FROM objects WHERE kind = 'IPAMBlock' AND NOT ${IS_MARKED}`;
    return this.#sql(text).all() as unknown as BlockName[];
  }

  /** The blocks that were written after `revision`, in order; `gone` where one was deleted or marked. */
  blockNamesAfter(revision: number): readonly (BlockName & { readonly gone: number })[] {
    return this.#sql(
      `SELECT name, ${BLOCK_CIDR}, type = 'DELETED' OR ${IS_MARKED} AS gone FROM changes ` +
        "WHERE revision > ? AND kind = 'IPAMBlock' ORDER BY revision",
    ).all(revision) as unknown as (BlockName & { gone: number })[];
  }

  /** The newest revision that was given. */
  revision(): number {
    const row = this.#sql("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").get() as
      | { seq: number }
      | undefined;
    return row?.seq ?? 0;
  }

  put(type: "ADDED" | "MODIFIED", kind: string, row: Omit<Row, "revision">): number {
    const revision = this.#log(type, kind, row);
    this.#sql(
      "INSERT INTO objects (kind, name, uid, revision, json) VALUES (?, ?, ?, ?, ?) " +
        "ON CONFLICT DO UPDATE SET uid = excluded.uid, revision = excluded.revision, json = excluded.json",
    ).run(kind, row.name, row.uid, revision, row.json);
    return revision;
  }

  remove(kind: string, row: Row): void {
    this.#log("DELETED", kind, row);
    this.#sql("DELETE FROM objects WHERE kind = ? AND name = ?").run(kind, row.name);
  }

  /** Whether the log still holds everything after `revision`. */
  reaches(revision: number): boolean {
    const { oldest } = this.#sql("SELECT min(revision) AS oldest FROM changes").get() as { oldest: number | null };
    const newest = this.revision();
    return revision <= newest && revision >= (oldest ?? newest + 1) - 1;
  }

  /** At most `limit` changes of one kind after `revision`, in order. */
  changes(kind: string, revision: number, limit: number): ChangeRow[] {
    return this.#sql(
      "SELECT revision, name, type, json FROM changes WHERE revision > ? AND kind = ? ORDER BY revision LIMIT ?",
    ).all(revision, kind, limit) as unknown as ChangeRow[];
  }

  #log(type: RowEvent, kind: string, { name, json }: Omit<Row, "revision">): number {
    const { lastInsertRowid } = this.#sql("INSERT INTO changes (kind, name, type, json) VALUES (?, ?, ?, ?)").run(
      kind,
      name,
      type,
      json,
    );
    const revision = Number(lastInsertRowid);
    this.#sql("DELETE FROM changes WHERE revision <= ?").run(revision - this.#history);
    return revision;
  }

  #sql(text: string): StatementSync {
    const prepared = this.#prepared.get(text) ?? this.#database.prepare(text);
    this.#prepared.set(text, prepared);
    return prepared;
  }
}
