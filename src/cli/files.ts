/** Files that a user names: read, and written whole or not at all. What the system says of them becomes a sentence. */
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";

/** How every gzip begins. */
const GZIP = Buffer.from([0x1f, 0x8b]);
const DAMAGED = "it is damaged, or not whole: copy or take it again";

/** By the code of Node's error. */
const BECAUSE: Readonly<Record<string, string>> = {
  EISDIR: "it is a folder, and no file",
  ENOTDIR: "a part of its path is no folder",
  EACCES: "this user may not",
  EPERM: "this user may not",
  EROFS: "its file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EEXIST: "it is there already: give another name",
  ENAMETOOLONG: "its name is too long",
  Z_BUF_ERROR: DAMAGED,
  Z_DATA_ERROR: DAMAGED,
};

/** What went wrong with a file, as it is told; an error that is not about the file stays as it is. */
export function fileError(path: string, what: "read" | "written", error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== "string" || !/^(E[A-Z]+|Z_[A-Z_]+)$/.test(code)) return error;
  const missing = what === "read" ? "there is no such file" : `there is no folder ${dirname(path)}`;
  const because = code === "ENOENT" ? missing : (BECAUSE[code] ?? (error as Error).message);
  return new Error(`${path} cannot be ${what}: ${because}`, { cause: error });
}

/** The text of a file. @throws Error that says why it cannot be read */
export function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: unknown) => {
    throw fileError(path, "read", error);
  });
}

/** The content of a file, unpacked where it is compressed, whatever its name. @throws Error that says why it cannot be read */
export async function readStream(
  path: string,
  take: (content: AsyncIterable<Buffer>) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const file = createReadStream(path);
  file.on("error", () => {}); // told below, unless nobody waits for it any more
  try {
    await once(file, "readable", { signal });
    const start: Buffer | null = file.read(GZIP.length);
    if (start !== null) file.unshift(start);
    const unpacked = start?.equals(GZIP) === true ? [createGunzip()] : [];
    await pipeline([file, ...unpacked, take], { signal });
  } catch (error) {
    throw fileError(path, "read", error);
  } finally {
    file.destroy();
  }
}

/** Writes lines, changed on their way where `by` is given. @throws Error that says why the file cannot be written */
export async function writeWhole(
  path: string,
  lines: Iterable<string>,
  signal: AbortSignal,
  by: readonly Transform[] = [],
): Promise<void> {
  try {
    const [target, unfinished] = await targetOf(path);
    const write = () => pipeline([Readable.from(lines), ...by, createWriteStream(unfinished)], { signal });
    await write().catch((error: unknown) => removed(target, unfinished, error));
    if (target !== unfinished) await rename(unfinished, target);
  } catch (error) {
    throw fileError(path, "written", error);
  }
}

async function removed(target: string, unfinished: string, error: unknown): Promise<never> {
  if (target !== unfinished) await rm(unfinished, { force: true });
  throw error;
}

/** Where is written, and where until it is whole. A pipe or a device is written as it is: nothing must take its place. */
async function targetOf(path: string): Promise<[target: string, unfinished: string]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return [path, `${path}.unfinished`];
  if (!found.isFile()) return [path, path]; // of a folder the system says so itself
  const target = await realpath(path);
  return [target, `${target}.unfinished`];
}
