/**
 * The SQLite file of the embedded store, and the only import of `node:sqlite`: opening it safely, its tables, and its
 * errors in words. WAL with synchronous=normal: what was committed survives `kill -9`, though not a loss of power.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { DatastoreError, type DatastoreErrorCode } from "./datastore.ts";
import { keepPrivate, linkTarget, makePrivate } from "./embedded-file.ts";

export type Database = DatabaseSync;

/** "IPAM" in ASCII: how a file says that it is ours. */
const APPLICATION_ID = 0x4950_414d;
const SCHEMA_VERSION = 1;
const BUSY_TIMEOUT_MS = 5000;

/** The owner that the row of a block names; none where the row is not even JSON. */
export const BLOCK_OWNER = "CASE WHEN json_valid(json) THEN json_extract(json, '$.spec.affinity') END";

/**
 * `objects` holds what is, without resourceVersion: that is the column `revision`, the row of `changes` that wrote it.
 * Files from before the index are read without it. AUTOINCREMENT: a revision is never given twice, not even after the log was cut.
 */
const SCHEMA = `
  CREATE TABLE objects (
    kind TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, revision INTEGER NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (kind, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX block_owners ON objects (${BLOCK_OWNER}) WHERE kind = 'IPAMBlock';
  CREATE TABLE changes (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, json TEXT NOT NULL
  ) STRICT;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Opens or creates the file. @throws DatastoreError where its folder is missing, or it is not ours, too new, locked or may not be opened */
export function openDatabase(path: string): Database {
  return explained(path, () => {
    expectFolder(path);
    const target = linkTarget(path);
    if (target !== undefined)
      throw failure("Invalid", path, `is a symbolic link to ${target}: give the path of the file itself`);
    if (path !== ":memory:") makePrivate(path);
    const database = new (loadSqlite().DatabaseSync)(path, { timeout: BUSY_TIMEOUT_MS });
    try {
      prepare(database, path);
      if (path !== ":memory:") keepPrivate(path);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  });
}

/** Node 22 warns on stderr when SQLite is first loaded. What is used here is the same in every supported Node. */
function loadSqlite(): typeof import("node:sqlite") {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** A folder that is not there is more likely a misspelt one than one to make: an empty store would answer for the real one. */
function expectFolder(path: string): void {
  const folder = dirname(path);
  if (path === ":memory:" || existsSync(folder)) return;
  throw failure("NotFound", path, `has no folder: ${folder} does not exist. Correct the path, or create the folder`);
}

/** Runs `work` in one transaction that no other writer can come between. */
export function transaction<T>(database: Database, work: () => T): T {
  return within(database, "BEGIN IMMEDIATE", work);
}

/** Runs `work`, which only reads, on one state of the data. */
export function snapshot<T>(database: Database, work: () => T): T {
  return within(database, "BEGIN", work);
}

/** A number that changes when another connection has written. */
export function dataVersion(database: Database): number {
  return pragma(database, "data_version");
}

/** Runs `work`; an error of SQLite becomes one that says which file and what to do. */
export function explained<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof DatastoreError ? error : fileError(path, error);
  }
}

function within<T>(database: Database, begin: string, work: () => T): T {
  database.exec(begin);
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function prepare(database: Database, path: string): void {
  database.exec("PRAGMA synchronous = normal");
  if (snapshot(database, () => expectOurs(database, path))) return;
  useWriteAheadLog(database);
  transaction(database, () => {
    if (!expectOurs(database, path)) database.exec(SCHEMA); // else another process was faster
  });
}

/** Whether the file already holds our tables. Within a transaction: another process may be making them. */
function expectOurs(database: Database, path: string): boolean {
  const id = pragma(database, "application_id");
  const version = pragma(database, "user_version");
  const tables = database.prepare("SELECT count(*) AS n FROM sqlite_schema").get() as { n: number };
  if (tables.n === 0) return false;
  if (id !== APPLICATION_ID) throw failure("Invalid", path, "is another program's database: give another path");
  if (version === SCHEMA_VERSION) return true;
  throw failure(
    "Invalid",
    path,
    `has format ${version}, this program knows format ${SCHEMA_VERSION}: use the version of the program that wrote it`,
  );
}

function pragma(database: Database, name: string): number {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[0]!;
}

/** Switching to WAL needs the file alone for a moment, and does not wait by itself when another process has just opened it. */
function useWriteAheadLog(database: Database): void {
  const deadline = Date.now() + BUSY_TIMEOUT_MS;
  for (let done = false; !done; ) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      done = true;
    } catch (error) {
      if (primaryCode(error) !== SQLITE_BUSY || Date.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

const SQLITE_BUSY = 5;
const EXPLANATIONS: Readonly<Record<number, readonly [DatastoreErrorCode, string]>> = {
  3: ["Unauthorized", "may not be opened: check the permissions of the file and its folder"],
  [SQLITE_BUSY]: ["Unavailable", "is locked by another process: end whatever holds a transaction on it"],
  8: ["Unauthorized", "may not be written: check the permissions of the file and its folder"],
  11: ["Invalid", "is damaged: restore it from a copy, or give another path"],
  13: ["Unavailable", "cannot grow, the disk is full: make room"],
  14: ["Unauthorized", "cannot be opened: check that it is a file and that this user may read and write it"],
  26: ["Invalid", "is not a database: give another path"],
};
const FILE_SYSTEM_REFUSALS = ["EACCES", "EPERM", "EROFS"];

function fileError(path: string, error: unknown): DatastoreError {
  const { code, message } = error as NodeJS.ErrnoException;
  const [ours, words] = EXPLANATIONS[primaryCode(error)] ?? ["Unavailable", "cannot be used"];
  if (code === "ERR_INVALID_STATE") return failure("Unavailable", path, "was closed by this process", error);
  const refused = FILE_SYSTEM_REFUSALS.includes(code ?? "");
  return failure(refused ? "Unauthorized" : ours, path, `${words} (${message})`, error);
}

/** SQLite's result code without its extension; 0 where the error is not SQLite's. */
function primaryCode(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff;
}

function failure(code: DatastoreErrorCode, path: string, words: string, cause?: unknown): DatastoreError {
  return new DatastoreError(code, "", path, `the store ${path} ${words}`, { cause });
}
