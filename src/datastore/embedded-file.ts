/** The file of the embedded store, and those that SQLite keeps beside it, which get its mode. */
import { chmodSync, closeSync, lstatSync, openSync, realpathSync } from "node:fs";
import { NEW_FILE, OWNER_ONLY } from "./private-file.ts";

/** Makes a file that is not there. Where that fails, SQLite says why. */
export function makePrivate(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return;
  try {
    closeSync(openSync(path, NEW_FILE, OWNER_ONLY));
  } catch {
    // Another process was faster, or the folder may not be written.
  }
}

/** Takes from others what an earlier version allowed them. Of another user's file the owner decides. */
export function keepPrivate(path: string): void {
  for (const name of ["", "-wal", "-shm", "-journal"].map((end) => path + end)) {
    const found = lstatSync(name, { throwIfNoEntry: false });
    if (found?.isFile() !== true || (found.mode & 0o077) === 0) continue;
    try {
      chmodSync(name, found.mode & OWNER_ONLY);
    } catch (error) {
      if (!["EPERM", "EROFS", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

/** Where a link leads, as far as that can be said; undefined: it is none. */
export function linkTarget(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return undefined;
  try {
    return realpathSync(path);
  } catch {
    return "a file that is not there";
  }
}
