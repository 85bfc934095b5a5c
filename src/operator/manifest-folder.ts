/** Reads a folder of YAML files, and tells when anything in it changes, however an editor saves. */
import { type FSWatcher, watch } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Text of each `.yaml` and `.yml` file, by name, sorted. A file that vanishes while reading is left out. */
export async function readManifestFolder(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder).catch(noFolder(folder))).filter((name) => /^[^.].*\.ya?ml$/.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8").catch(() => undefined)));
  return new Map(names.flatMap((name, at) => (texts[at] === undefined ? [] : [[name, texts[at]] as const])));
}

function noFolder(folder: string) {
  return (error: NodeJS.ErrnoException): never => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
    throw new Error(`the folder ${folder} does not exist: create it, or name another with --manifests`, {
      cause: error,
    });
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
