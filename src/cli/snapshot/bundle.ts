/**
 * A snapshot as one file: a line that says what it is, a line per object, a line that says it is whole. Lines, because a
 * large cluster's snapshot is more text than one string may hold. Written compressed where the name ends in `.gz`; read
 * by what it is, since a copy may have another name.
 */
import { createGzip } from "node:zlib";
import { escapeJson } from "../../escape.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { LineSplitter, LineTooLong } from "../../kube/bounded.ts";
import { printJson } from "../../kube/json.ts";
import { LARGEST_OBJECT } from "../../kube/limits.ts";
import { readStream } from "../files.ts";
import { writeWhole } from "../write-file.ts";
import { BUNDLE, LISTS, VALUES } from "./bundle-parts.ts";
import { BundleReader } from "./bundle-reader.ts";
import type { TakeOptions } from "./take.ts";

/** Writes the file whole or not at all. */
export function writeBundle(snapshot: Snapshot, path: string, signal: AbortSignal): Promise<void> {
  return writeWhole(path, bundleLines(snapshot), signal, path.endsWith(".gz") ? [createGzip()] : []);
}

/** @throws BundleError that says what is wrong with the file, and in which line */
export async function readBundle(path: string, { signal, progress }: TakeOptions): Promise<Snapshot> {
  progress?.(path);
  const reader = new BundleReader(path);
  await readStream(path, (content) => readLines(content, reader), signal);
  return reader.finish();
}

/** The lines of the file, each with its line feed. */
export function* bundleLines(snapshot: Snapshot): Generator<string> {
  const { takenAt, datastore } = snapshot;
  const lists = LISTS.filter((part) => snapshot[part] !== undefined);
  const values = Object.fromEntries(VALUES.map((part) => [part, snapshot[part]]));
  yield `${printed({ ...BUNDLE, takenAt, datastore, lists, ...values })}\n`;
  let objects = 0;
  for (const part of lists) {
    for (const object of snapshot[part] ?? []) {
      yield `${printed([part, object])}\n`;
      objects++;
    }
  }
  yield `${printed({ objects })}\n`;
}

/** A bundle may be looked at on a terminal. */
const printed = (value: unknown) => escapeJson(printJson(value));

/** @throws BundleError for a line that is no object of a cluster */
async function readLines(source: AsyncIterable<Buffer>, reader: BundleReader): Promise<void> {
  const lines = new LineSplitter(LARGEST_OBJECT);
  try {
    for await (const chunk of source) for (const line of lines.push(chunk)) reader.take(line);
  } catch (error) {
    throw error instanceof LineTooLong ? reader.tooLong() : error;
  }
  const rest = lines.end();
  if (rest !== "") reader.take(rest);
}
