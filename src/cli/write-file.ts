/**
 * Files that a user names, written whole or not at all. They hold a cluster's data: only their owner may read them, and no
 * link is followed. What is made until it is whole has a name that nobody can guess.
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readlink, rename, rm } from "node:fs/promises";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { NEW_FILE, OWNER_ONLY } from "../datastore/private-file.ts";
import { fileError } from "./files.ts";

/** Writes lines, changed on their way where `by` is given. @throws Error that says why the file cannot be written */
export async function writeWhole(
  path: string,
  lines: Iterable<string>,
  signal: AbortSignal,
  by: readonly Transform[] = [],
): Promise<void> {
  const write = (file: FileHandle) => pipeline([Readable.from(lines), ...by, file.createWriteStream()], { signal });
  try {
    if (await isDevice(path)) await write(await open(path, constants.O_WRONLY | constants.O_APPEND));
    else await replaced(path, write);
  } catch (error) {
    throw fileError(path, "written", error);
  }
}

/** Makes a file that is not there yet, to be appended to. @throws Error that says why it cannot be made */
export async function newFile(path: string): Promise<FileHandle> {
  try {
    await expectNoLink(path);
    return await ownFile(path, constants.O_APPEND);
  } catch (error) {
    throw fileError(path, "written", error);
  }
}

/** A pipe, a device and what stands in /dev (the standard output) are written as they are: nothing must take their place. */
async function isDevice(path: string): Promise<boolean> {
  if (/^\/dev\/(std(out|err)|fd\/\d+)$/.test(path)) return true;
  const found = await expectNoLink(path);
  return found !== undefined && !found.isFile() && !found.isDirectory();
}

async function expectNoLink(path: string) {
  const found = await lstat(path).catch(() => undefined); // where a folder is missing, making the file says so
  if (!found?.isSymbolicLink()) return found;
  const target = await readlink(path);
  throw new Error(`${path} cannot be written: it is a symbolic link to ${target}; give the path of the file itself`);
}

async function replaced(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const before = await lstat(path).catch(() => undefined);
  if (before?.isDirectory()) throw Object.assign(new Error("is a folder"), { code: "EISDIR" });
  const unfinished = `${path}.${randomBytes(8).toString("hex")}.unfinished`;
  const file = await ownFile(unfinished);
  try {
    await file.chmod((before?.mode ?? OWNER_ONLY) & OWNER_ONLY);
    await write(file);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** The umask can only take from the mode. */
const ownFile = (path: string, flags = 0) => open(path, NEW_FILE | flags, OWNER_ONLY);
