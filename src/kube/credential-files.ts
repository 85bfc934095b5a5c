/** A file that others rewrite (a projected token, a rotated CA): read again when it has changed. */
import { stat } from "node:fs/promises";
import { fileWithin } from "./bounded.ts";
import { LARGEST_CREDENTIAL } from "./limits.ts";
import { KubeError } from "./types.ts";

export interface WatchedFile {
  readonly path: string;
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
    path,
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

/** The token in such a file. @throws KubeError Unauthorized where it holds none */
export async function readToken(file: WatchedFile): Promise<string> {
  const token = (await file.read()).toString("utf8").trim();
  if (fitsIntoHeader(token)) return token;
  const problem = token === "" ? "it is empty" : "it does not hold a token";
  throw new KubeError("Unauthorized", `token file ${file.path}: ${problem}`);
}

/** Whether a token can be sent: one line of printable ASCII. */
export function fitsIntoHeader(token: string): boolean {
  return /^[ -~]+$/.test(token);
}

/** The error for a credential file that cannot be read. */
export function unreadable(path: string, purpose: string, error: unknown): KubeError {
  const { code } = error as NodeJS.ErrnoException;
  const isLarge = code === "EFBIG";
  const because = isLarge ? (error as Error).message : (code ?? "unknown reason");
  const problem = code === "ENOENT" ? "there is no such file" : `it cannot be read (${because})`;
  return new KubeError("Unauthorized", `${purpose} file ${path}: ${problem}`, { cause: error });
}
