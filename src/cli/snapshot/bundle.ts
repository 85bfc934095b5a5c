/**
 * A snapshot as one file: a line that says what it is, a line per object, a line that says it is whole. Lines, because a
 * large cluster's snapshot is more text than one string may hold. Compressed where the name ends in `.gz`.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { printJson } from "../../kube/json.ts";
import { BUNDLE, LISTS, VALUES } from "./bundle-parts.ts";
import { BundleReader } from "./bundle-reader.ts";
import type { TakeOptions } from "./take.ts";

const isCompressed = (path: string) => path.endsWith(".gz");

/** Writes the file whole or not at all. */
export async function writeBundle(snapshot: Snapshot, path: string, signal: AbortSignal): Promise<void> {
  const unfinished = `${path}.unfinished`;
  const lines = Readable.from(bundleLines(snapshot));
  const file = createWriteStream(unfinished);
  try {
    if (isCompressed(path)) await pipeline(lines, createGzip(), file, { signal });
    else await pipeline(lines, file, { signal });
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** @throws BundleError that says what is wrong with the file, and in which line */
export async function readBundle(path: string, { signal, progress }: TakeOptions): Promise<Snapshot> {
  progress?.(path);
  const reader = new BundleReader(path);
  const file = createReadStream(path);
  const lines = (source: AsyncIterable<Buffer>) => readLines(source, (line) => reader.take(line));
  if (isCompressed(path)) await pipeline(file, createGunzip(), lines, { signal });
  else await pipeline(file, lines, { signal });
  return reader.finish();
}

/** The lines of the file, each with its line feed. */
export function* bundleLines(snapshot: Snapshot): Generator<string> {
  const { takenAt, datastore } = snapshot;
  const lists = LISTS.filter((part) => snapshot[part] !== undefined);
  const values = Object.fromEntries(VALUES.map((part) => [part, snapshot[part]]));
  yield `${printJson({ ...BUNDLE, takenAt, datastore, lists, ...values })}\n`;
  let objects = 0;
  for (const part of lists) {
    for (const object of snapshot[part] ?? []) {
      yield `${printJson([part, object])}\n`;
      objects++;
    }
  }
  yield `${printJson({ objects })}\n`;
}

async function readLines(source: AsyncIterable<Buffer>, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of source) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) take(line);
  }
  if (rest !== "") take(rest);
}
