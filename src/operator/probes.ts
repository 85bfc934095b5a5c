/** HTTP for the kubelet and Prometheus: `/healthz`, `/readyz` and `/metrics`, on Node's own server. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { escapeLine, escapeText } from "../escape.ts";
import { type OnTaskFailure, reportFailure } from "../kube/background.ts";

/** `host` undefined: all interfaces. */
export interface BindAddress {
  readonly host: string | undefined;
  readonly port: number;
}

export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
export type Routes = Readonly<Record<string, (request: IncomingMessage) => Reply | Promise<Reply>>>;
/** Makes the server; absent: plain HTTP. */
export type MakeServer = (listener: RequestListener) => Server | HttpsServer;

export interface HttpEndpoint {
  readonly port: number;
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly makeServer?: MakeServer | undefined;
  /** Called with an answer that could not be given. */
  readonly onTaskFailure: OnTaskFailure;
}

/** Serves `routes` by exact path, GET and HEAD only. @throws when the address cannot be bound */
export async function serveHttp(
  address: BindAddress,
  routes: Routes,
  { makeServer = createServer, onTaskFailure }: ServeOptions,
): Promise<HttpEndpoint> {
  const server = makeServer((request, response) => {
    answer(routes, request, response).catch((error: unknown) => {
      const next = "the client may ask again";
      reportFailure(onTaskFailure, { task: "metrics", what: `answer ${request.method} ${request.url}`, error, next });
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port: address.port, ...(address.host !== undefined && { host: address.host }) }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

async function answer(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = await replyTo(routes, request);
  const contentType = reply.contentType ?? "text/plain; charset=utf-8";
  response.writeHead(reply.status, { ...reply.headers, "content-type": contentType });
  response.end(request.method === "HEAD" ? undefined : escapeText(reply.body));
}

async function replyTo(routes: Routes, request: IncomingMessage): Promise<Reply> {
  const { method, url = "" } = request;
  const path = url.split("?", 1)[0] ?? "";
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (route === undefined) return { status: 404, body: `not found; try ${Object.keys(routes).join(", ")}\n` };
  if (method !== "GET" && method !== "HEAD") return { status: 405, body: "only GET\n" };
  try {
    return await route(request);
  } catch (error) {
    return { status: 500, body: `${escapeLine(error instanceof Error ? error.message : String(error))}\n` };
  }
}

/** Measures how late the event loop runs its timers. */
export interface LoopMonitor {
  /** Milliseconds of the worst delay seen lately, the current one included. */
  delayMs(): number;
  stop(): void;
}

export function monitorLoop(periodMs = 1000, now: () => number = performance.now.bind(performance)): LoopMonitor {
  let last = now();
  let lastDelay = 0;
  const timer = setInterval(() => {
    // Kept until the next tick: after a blockage the timer fires before the probe's request is read, and would hide it.
    lastDelay = now() - last - periodMs;
    last = now();
  }, periodMs).unref();
  return {
    delayMs: () => Math.max(0, lastDelay, now() - last - periodMs),
    stop: () => clearInterval(timer),
  };
}

const MAX_LOOP_DELAY_MS = 10_000;

/** Live while the event loop answers within ten seconds. */
export function healthReply(loop: LoopMonitor): Reply {
  const delay = loop.delayMs();
  if (delay < MAX_LOOP_DELAY_MS) return { status: 200, body: "ok\n" };
  return { status: 503, body: `the event loop was blocked for ${Math.round(delay / 1000)} s\n` };
}

/** Something that must be so before the process is ready: a sentence while it is missing. */
export type ReadyCheck = () => string | undefined;

/** Ready once nothing is missing; leadership is none of it, a standby is ready too. */
export function readyReply(checks: readonly ReadyCheck[]): Reply {
  const missing = checks.map((check) => check()).filter((sentence) => sentence !== undefined);
  if (missing.length === 0) return { status: 200, body: "ok\n" };
  return { status: 503, body: `${missing.map(escapeLine).join("\n")}\n` };
}
