/** One watch request: bookmarks asked for, a length that differs each time, an end where nothing comes any more. */
import type { KubeObject } from "../api/meta.ts";
import { connectionError } from "./errors.ts";
import { actionText, collectionPath, withQuery } from "./paths.ts";
import type { Transport } from "./transport.ts";
import { isKubeError, KubeError, type KubeWatchEvent, type KubeWatchOptions, type ResourceType } from "./types.ts";
import { splitLines, watchEvent } from "./watch-stream.ts";

const IDLE_LIMIT_MS = 90_000; // above the minute after which the API server sends a bookmark
const METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/**
 * The changes of a collection after a revision, until the server ends the answer.
 * @throws KubeError when it ends in any other way; the signal's reason when it aborts
 */
export async function* watchCollection<T extends KubeObject>(
  transport: Transport,
  type: ResourceType,
  options: KubeWatchOptions,
): AsyncGenerator<KubeWatchEvent<T>> {
  const action = actionText("watch", type);
  const idle = idleLimit(action, options.idleTimeoutMs ?? IDLE_LIMIT_MS);
  const signal = AbortSignal.any([options.signal, idle.signal]);
  const question = { action, method: "GET", path: watchPath(type, options), server: transport.server } as const;
  const headers = { accept: options.metadataOnly ? METADATA : "application/json" };
  try {
    const body = await transport.stream({ ...question, headers, signal });
    for await (const line of splitLines(idle.watched(body), question)) yield watchEvent<T>(line, question, type);
  } catch (error) {
    signal.throwIfAborted();
    throw isKubeError(error) ? error : connectionError(action, transport.server, error, false);
  } finally {
    idle.stop();
  }
}

function watchPath(type: ResourceType, options: KubeWatchOptions): string {
  const {
    resourceVersion,
    labelSelector,
    fieldSelector,
    timeoutSeconds = 300 + Math.floor(Math.random() * 300),
  } = options;
  const query = {
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion,
    labelSelector,
    fieldSelector,
    timeoutSeconds,
  };
  return withQuery(collectionPath(type, options.namespace), query);
}

/** Ends a watch on which nothing has come for `limitMs`. */
function idleLimit(action: string, limitMs: number) {
  const controller = new AbortController();
  const silent = () =>
    controller.abort(
      new KubeError("Timeout", `cannot ${action}: nothing came for ${limitMs / 1000} s, not even a bookmark`),
    );
  const timer = setTimeout(silent, limitMs);
  return {
    signal: controller.signal,
    stop: () => clearTimeout(timer),
    async *watched(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        timer.refresh();
        yield chunk;
      }
    },
  };
}
