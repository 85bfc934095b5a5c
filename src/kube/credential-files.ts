/** A file that others rewrite (a projected token, a rotated CA): read again when it has changed. */
import { stat } from "node:fs/promises";
import { fileWithin } from "./bounded.ts";
import { LARGEST_CREDENTIAL } from "./limits.ts";
import { KubeError } from "./types.ts";

export interface WatchedFile {
  /** The content; the same Buffer as long as the file is the same. @throws KubeError Unauthorized when it cannot be read */
  read(): Promise<Buffer>;
  /** Look at the file again on the next read, however recent the last look. */
  renew(): void;
}

/** How long a look at the file is good for. */
const LOOK_EVERY_MS = 1_000;

/** Watches one file. `purpose` names it in messages: `token`, `CA`. */
export function watchedFile(path: string, purpose: string): WatchedFile {
  let content: Buffer | undefined;
  let identity = "";
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function look(): Promise<Buffer> {
    const { mtimeMs, size, ino } = await stat(path);
    const found = `${mtimeMs} ${size} ${ino}`;
    if (content === undefined || found !== identity) content = await fileWithin(path, LARGEST_CREDENTIAL);
    identity = found;
    lookedAt = performance.now();
    return content;
  }
  return {
    read: async () => {
      if (content !== undefined && performance.now() - lookedAt < LOOK_EVERY_MS) return content;
      return look().catch((error: unknown) => {
        throw unreadable(path, purpose, error);
      });
    },
    renew: () => {
      lookedAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** The error for a credential file that cannot be read. */
export function unreadable(path: string, purpose: string, error: unknown): KubeError {
  const { code } = error as NodeJS.ErrnoException;
  const isLarge = code === "EFBIG";
  const because = isLarge ? (error as Error).message : (code ?? "unknown reason");
  const problem = code === "ENOENT" ? "there is no such file" : `it cannot be read (${because})`;
  return new KubeError("Unauthorized", `${purpose} file ${path}: ${problem}`, { cause: error });
}
