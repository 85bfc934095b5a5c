/** The watches that are open through the proxy: passed on byte by byte, until a test cuts or stalls them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type LoggedRequest, type Match, matches } from "./requests.ts";

const halfALine = '{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"';

/** Disturbs the watches. Each returns how many open ones it reached. */
export interface WatchFaults {
  /** Ends matching watches now: reset, or (`clean`) a proper end of the answer; with `midLine` after half an event. */
  cutWatches(match: Match, options?: { readonly midLine?: boolean; readonly clean?: boolean }): number;
  /**
   * Matching watches, open ones and new ones, stay open and say nothing more, as behind a dead network link. `resume`
   * lets new watches through; those already stalled have lost events and stay silent until the client gives up.
   */
  stallWatches(match: Match): number;
  resume(): void;
}

interface OpenWatch {
  readonly request: LoggedRequest;
  readonly toClient: ServerResponse;
  stalled: boolean;
}

/** The open watches; `pass` adds one, from the server's answer to the client's. */
export function createWatches(): WatchFaults & {
  pass(request: LoggedRequest, fromServer: IncomingMessage, toClient: ServerResponse): void;
} {
  const open = new Set<OpenWatch>();
  let stalling: Match[] = [];
  const selected = (match: Match) =>
    [...open].filter(({ request, toClient }) => !toClient.writableEnded && matches(match, request));
  return {
    pass(request, fromServer, toClient) {
      const watch = { request, toClient, stalled: stalling.some((match) => matches(match, request)) };
      open.add(watch);
      toClient.on("close", () => open.delete(watch));
      toClient.flushHeaders();
      relay(fromServer, watch);
    },
    cutWatches(match, options = {}) {
      const watches = selected(match);
      for (const { toClient } of watches) cut(toClient, options);
      return watches.length;
    },
    stallWatches(match) {
      stalling.push(match);
      const watches = selected(match);
      for (const watch of watches) watch.stalled = true;
      return watches.length;
    },
    resume() {
      stalling = [];
    },
  };
}

/**
 * Chunk by chunk, so that an event leaves when it comes; an end or a failure is passed on alike. What the server still
 * says on a watch that was cut is lost: one cut cleanly stays open until the client has read its end.
 */
function relay(fromServer: IncomingMessage, watch: OpenWatch): void {
  const { toClient } = watch;
  const whilePassing = (action: () => void) => {
    if (!watch.stalled && !toClient.writableEnded) action();
  };
  fromServer.on("data", (chunk) => whilePassing(() => toClient.write(chunk)));
  fromServer.on("end", () => whilePassing(() => toClient.end()));
  fromServer.on("error", () => whilePassing(() => toClient.destroy()));
}

function cut(toClient: ServerResponse, { midLine = false, clean = false }: { midLine?: boolean; clean?: boolean }) {
  const finish = () => (clean ? toClient.end() : toClient.destroy());
  if (midLine) toClient.write(halfALine, finish);
  else finish();
}
