/** The body of a watch, taken apart: bytes to lines to events. Nothing is dropped in silence: what cannot be read ends the watch. */
import type { KubeObject } from "../api/meta.ts";
import { LineSplitter, LineTooLong } from "./bounded.ts";
import { changeTooLargeError, type Status, statusError } from "./errors.ts";
import { parseJson } from "./json.ts";
import { LARGEST_OBJECT } from "./limits.ts";
import { KubeError, type KubeWatchEvent } from "./types.ts";

/** What is watched, and of which server: for messages. */
export interface WatchSource {
  readonly action: string;
  readonly server: string;
}

/**
 * Splits chunks at newlines; a chunk may end anywhere, also inside a character.
 * @throws KubeError TooLarge for a line that is no object of an API server; Unavailable when the stream ends inside a line:
 * what was on it is lost
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>, source: WatchSource): AsyncGenerator<string> {
  const lines = new LineSplitter(LARGEST_OBJECT);
  for await (const chunk of chunks) {
    try {
      for (const line of lines.push(chunk)) if (line.trim() !== "") yield line;
    } catch (error) {
      throw error instanceof LineTooLong ? changeTooLargeError(source.action, source.server) : error;
    }
  }
  if (lines.end().trim() !== "") {
    throw new KubeError("Unavailable", `cannot ${source.action}: the connection was cut in the middle of a change`);
  }
}

interface WireEvent {
  readonly type: string;
  readonly object: KubeObject;
}

/**
 * Reads one line of a watch.
 * @throws KubeError Expired for a 410, another for any other ERROR event, ServerError for what cannot be read
 */
export function watchEvent<T extends KubeObject>(line: string, action: string): KubeWatchEvent<T> {
  const { type, object } = parseLine(line, action);
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: object as T };
    case "BOOKMARK":
      return { type, resourceVersion: object.metadata.resourceVersion! };
    case "ERROR": {
      const status = object as Status;
      throw statusError(action, status, status.code ?? 500);
    }
    default:
      throw unreadable(action);
  }
}

function parseLine(line: string, action: string): WireEvent {
  try {
    const event = parseJson(line) as WireEvent;
    if (typeof event.type === "string" && typeof event.object === "object" && event.object !== null) return event;
  } catch {
    // The line is not quoted: it may hold a Secret.
  }
  throw unreadable(action);
}

function unreadable(action: string): KubeError {
  return new KubeError("ServerError", `cannot ${action}: the API server sent something that is not a watch event`);
}
