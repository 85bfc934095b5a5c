/** Files that a user names, read up to a limit. What the system says of them becomes a sentence. */
import { once } from "node:events";
import { createReadStream, type ReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { textWithin } from "../kube/bounded.ts";
import { sizeText } from "../kube/limits.ts";

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

/** Three times what blocks that are nearly alike are packed to; gzip can do a thousand. */
const MOST_UNPACKED = 200;

/** Passes on what was unpacked of `file`. @throws Error where it is out of proportion to what was read */
function notABomb(path: string, file: ReadStream) {
  return async function* (content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let size = 0;
    for await (const chunk of content) {
      size += chunk.length;
      if (size > MIB + file.bytesRead * MOST_UNPACKED) throw new Error(`${path} cannot be read: ${BOMB}`);
      yield chunk;
    }
  };
}
const BOMB = `it unpacks to more than ${MOST_UNPACKED} times its size, and no bundle of ipamctl does`;

const MIB = 2 ** 20;
/** Reports and copies: of 500,000 addresses a report has about 100 MiB. */
const LARGEST_TEXT = 128 * MIB;

/** The text of a file. @throws Error that says why it cannot be read */
export async function readText(path: string, largest = LARGEST_TEXT): Promise<string> {
  const text = await readWithin(path, largest).catch((error: unknown) => {
    throw fileError(path, "read", error);
  });
  if (text !== undefined) return text;
  throw new Error(`${path} cannot be read: it is larger than ${sizeText(largest)}, the limit for such a file`);
}

/** Undefined where it is larger. A pipe or a device has no size that could be asked for. */
async function readWithin(path: string, largest: number): Promise<string | undefined> {
  const { size } = await stat(path);
  return size > largest ? undefined : textWithin(createReadStream(path, { highWaterMark: MIB }), largest);
}

/** The content of a file, unpacked where it is compressed, whatever its name. @throws Error that says why it cannot be read */
export async function readStream(
  path: string,
  take: (content: AsyncIterable<Buffer>) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const file = createReadStream(path, { highWaterMark: 2 ** 14 }); // little ahead of what is unpacked of it
  file.on("error", () => {}); // told below, unless nobody waits for it any more
  try {
    await once(file, "readable", { signal });
    const start: Buffer | null = file.read(GZIP.length);
    if (start !== null) file.unshift(start);
    const unpacked = start?.equals(GZIP) === true ? [createGunzip(), notABomb(path, file)] : [];
    await pipeline([file, ...unpacked, take], { signal });
  } catch (error) {
    throw fileError(path, "read", error);
  } finally {
    file.destroy();
  }
}
