/** What the proxy notes of each request, and how a test names the requests it means. */
import type { IncomingMessage } from "node:http";

/** One request that reached the proxy. */
export interface LoggedRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly watch: boolean;
  readonly userAgent: string;
  /** What the client got; 0 while it waits, and for good where the connection was reset. */
  status: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Numbers the client's connections from 1 in the order of their opening. */
  readonly connectionId: number;
}

/** Names requests: all given parts must fit, `{}` is every request. */
export interface Match {
  readonly method?: string;
  /** A text anywhere in the path, or a pattern for the path without its query. */
  readonly path?: RegExp | string;
  /** Only watches, or only other requests. */
  readonly watch?: boolean;
  /** Only requests that change something, or only others. */
  readonly write?: boolean;
}

export function describeRequest(message: IncomingMessage, connectionId: number): LoggedRequest {
  const url = new URL(message.url ?? "/", "https://proxy");
  return {
    method: message.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    watch: ["true", "1"].includes(url.searchParams.get("watch") ?? ""),
    userAgent: message.headers["user-agent"] ?? "",
    status: 0,
    time: Date.now(),
    connectionId,
  };
}

export function matches({ method, path, watch, write }: Match, request: LoggedRequest): boolean {
  if (write !== undefined && write !== (request.method !== "GET")) return false;
  if (method !== undefined && method !== request.method) return false;
  if (watch !== undefined && watch !== request.watch) return false;
  if (path === undefined) return true;
  return typeof path === "string" ? request.path.includes(path) : request.path.search(path) >= 0;
}
