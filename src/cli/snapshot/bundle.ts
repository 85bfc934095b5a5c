/**
 * A snapshot as one file: a line that says what it is, a line per object, a line that says it is whole. Lines, because a
 * large cluster's snapshot is more text than one string may hold. Written compressed where the name ends in `.gz`; read
 * by what it is, since a copy may have another name.
 */
import { createGzip } from "node:zlib";
import { escapeJson } from "../../escape.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { printJson } from "../../kube/json.ts";
import { readStream, writeWhole } from "../files.ts";
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
  await readStream(path, (content) => readLines(content, (line) => reader.take(line)), signal);
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
