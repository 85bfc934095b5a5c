/** Reads a folder of YAML files, and tells when anything in it changes, however an editor saves. */
import { type FSWatcher, watch } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileWithin } from "../kube/bounded.ts";
import { LARGEST_YAML, tooManyBytes } from "../kube/yaml.ts";

/** The text of a file, or why it cannot be read and what to do. */
export type FileContent = string | { readonly unreadable: string };

/** Each `.yaml` and `.yml` file by name, sorted. Only a file that is really gone is left out. */
export async function readManifestFolder(folder: string): Promise<Map<string, FileContent>> {
  for (;;) {
    const names = (await readdir(folder).catch(noFolder(folder)))
      .filter((name) => /^[^.].*\.ya?ml$/s.test(name))
      .sort();
    const files = await readContents(folder, names);
    // A file that was renamed while reading is in the list under its old name only: list again.
    if (files !== undefined) return files;
  }
}

/** Bytes of all files: they are held in memory, and read every second. */
const LARGEST_FOLDER = 64 * 2 ** 20;
const FOLDER_IS_FULL = { unreadable: "is not read: the files before it hold 64 MiB, the limit for a folder" };

/** Undefined where one of them is gone. */
async function readContents(folder: string, names: readonly string[]): Promise<Map<string, FileContent> | undefined> {
  const files = new Map<string, FileContent>();
  let size = 0;
  for (const name of names) {
    const content = size > LARGEST_FOLDER ? FOLDER_IS_FULL : await readContent(join(folder, name));
    if (content === undefined) return undefined;
    if (typeof content === "string") size += content.length;
    files.set(name, content);
  }
  return files;
}

/** Undefined: gone. */
async function readContent(path: string): Promise<FileContent | undefined> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return { unreadable: "is not a file: move it out of the folder" };
    const tooLarge = tooManyBytes(found.size);
    if (tooLarge !== undefined) return { unreadable: `${tooLarge}, or move it out of the folder` };
    const content = await fileWithin(path, LARGEST_YAML); // it may have grown
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    return text.includes("\0") ? NOT_UTF8 : text;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return NOT_UTF8;
    if (code !== "ENOENT") return { unreadable: `cannot be read: check its permissions and its disk (${message})` };
    const link = await lstat(path).catch(() => undefined);
    return link?.isSymbolicLink()
      ? { unreadable: "is a link to a file that is not there: mend or remove it" }
      : undefined;
  }
}

const NOT_UTF8 = { unreadable: "is not UTF-8 text: save it in that encoding" };

function noFolder(folder: string) {
  return (error: NodeJS.ErrnoException): never => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
    const isGone = error.code === "ENOENT";
    const wrong = isGone
      ? `the folder ${folder} does not exist: create it`
      : `${folder} is not a folder: correct the path`;
    throw new Error(`${wrong}, or name another with --manifests`, { cause: error });
  };
}

const SETTLE_MS = 60;
const RETRY_MS = 500;

/**
 * Calls `changed` after each burst of changes, until the signal aborts. The folder is watched, not its files: an
 * editor that writes a new file and renames it over the old one would leave a file's watch behind. A folder that is
 * removed and made again is picked up again.
 */
export function watchManifestFolder(folder: string, changed: () => void, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  const later = (run: () => void, delay: number) => {
    clearTimeout(timer);
    if (!signal.aborted) timer = setTimeout(run, delay);
  };
  const reopen = () => {
    watcher?.close();
    // An abort listener added now would never be called, and an open watcher keeps the process alive.
    if (signal.aborted) return;
    try {
      watcher = watch(folder, (_, name) =>
        later(name === null || isFolderItself(folder, name) ? again : changed, SETTLE_MS),
      );
      watcher.on("error", () => later(again, RETRY_MS));
    } catch {
      later(again, RETRY_MS);
    }
  };
  const again = () => {
    reopen();
    changed();
  };
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    watcher?.close();
  });
  reopen();
}

/** A removed or renamed folder shows as an event under its own name. */
function isFolderItself(folder: string, name: string): boolean {
  return join(folder).endsWith(name) && !/\.ya?ml$/.test(name);
}
