/** The body of a watch, taken apart: bytes to lines to events. Nothing is dropped in silence: what cannot be read ends the watch. */
import type { KubeObject } from "../api/meta.ts";
import { isRecord, itemProblem, parsedAnswer, type Question, revisionProblem } from "./answers.ts";
import { LineSplitter, LineTooLong } from "./bounded.ts";
import { changeTooLargeError, isStatus, type Status, statusError } from "./errors.ts";
import { LARGEST_OBJECT } from "./limits.ts";
import { KubeError, type KubeWatchEvent, type ResourceType } from "./types.ts";

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

type WireEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; readonly object: KubeObject }
  | { readonly type: "ERROR"; readonly object: Status };

/**
 * Reads one line of a watch.
 * @throws KubeError Expired for a 410, another for any other ERROR event, ServerError for what cannot be read
 */
export function watchEvent<T extends KubeObject>(
  line: string,
  question: Question,
  resource: ResourceType,
): KubeWatchEvent<T> {
  const event = parsedAnswer(question, line, (value) => eventProblem(value, resource)) as WireEvent;
  const { type, object } = event;
  if (type === "ERROR") throw statusError(question.action, object, object.code ?? 500);
  if (type === "BOOKMARK") return { type, resourceVersion: object.metadata.resourceVersion! };
  return { type, object: object as T };
}

function eventProblem(event: unknown, resource: ResourceType): string | undefined {
  if (!isRecord(event)) return "has a line that is not a watch event";
  const { type, object } = event;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return inObject(itemProblem(object, resource) ?? revisionProblem(object));
    case "BOOKMARK":
      return inObject(revisionProblem(object));
    case "ERROR":
      return isStatus(object) ? undefined : "has an ERROR event without a Status";
    default:
      return "has a line that is not a watch event";
  }
}

const inObject = (problem: string | undefined) => problem && `has a watch event whose object ${problem}`;
