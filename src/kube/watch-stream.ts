/** The body of a watch, taken apart: bytes to lines to events. Nothing is dropped in silence: what cannot be read ends the watch. */
import type { KubeObject } from "../api/meta.ts";
import { type Status, statusError } from "./errors.ts";
import { parseJson } from "./json.ts";
import { KubeError, type KubeWatchEvent } from "./types.ts";

/**
 * Splits chunks at newlines; a chunk may end anywhere, also inside a character.
 * @throws KubeError Unavailable when the stream ends inside a line: what was on it is lost
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>, action: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line.trim() !== "") yield line;
  }
  if ((rest + decoder.decode()).trim() !== "") {
    throw new KubeError("Unavailable", `cannot ${action}: the connection was cut in the middle of a change`);
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
