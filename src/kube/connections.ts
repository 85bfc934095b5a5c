/**
 * The connections to one API server: a small pool for calls, one connection per watch beside it. They are made anew
 * when the CA or the client certificate changes; what is under way on the old ones is finished there.
 */
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import type { Credentials, TlsMaterial } from "./credentials.ts";

/** Who uses a connection: watches stay open for minutes and must not take those of the calls. */
export type Use = "calls" | "watches";

/** Below the API server's idle timeout of 90 s, so that it is we who close an idle connection. */
const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;

export class Connections {
  readonly #credentials: Credentials;
  readonly #maxConnections: number;
  readonly #connectTimeoutMs: number;
  readonly #all = new Set<Dispatcher>();
  #tls: TlsMaterial | undefined;
  #current: Readonly<Record<Use, Dispatcher>> | undefined;

  constructor(credentials: Credentials, maxConnections: number, connectTimeoutMs = CONNECT_TIMEOUT_MS) {
    this.#credentials = credentials;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#maxConnections = maxConnections;
  }

  async get(use: Use): Promise<Dispatcher> {
    const tls = await this.#credentials.tls();
    if (this.#current === undefined || tls !== this.#tls) this.#open(tls);
    return this.#current![use];
  }

  /** Cuts everything, also what is under way. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#all].map((dispatcher) => dispatcher.destroy()));
  }

  #open(tls: TlsMaterial): void {
    for (const old of Object.values(this.#current ?? {})) this.#retire(old);
    this.#tls = tls;
    this.#current = { calls: this.#make(tls, this.#maxConnections), watches: this.#make(tls, undefined) };
  }

  #make(tls: TlsMaterial, connections: number | undefined): Dispatcher {
    const options = {
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectTimeout: this.#connectTimeoutMs,
      headersTimeout: 0, // the deadline of the call, or the idle limit of the watch, is the limit
      bodyTimeout: 0,
      ...(connections !== undefined && { connections }),
    };
    const { proxyUrl } = this.#credentials;
    const dispatcher = proxyUrl
      ? new ProxyAgent({ ...options, uri: proxyUrl, requestTls: { ...tls } })
      : new Agent({ ...options, connect: { ...tls } });
    this.#all.add(dispatcher);
    return dispatcher;
  }

  #retire(dispatcher: Dispatcher): void {
    const forget = () => this.#all.delete(dispatcher);
    dispatcher.close().then(forget, forget);
  }
}

/** Errors of a connection that never stood: the request was surely not sent. */
const BEFORE_SENDING = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether `error` shows that not a byte of the request was sent. */
export function surelyNotSent(error: unknown): boolean {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  return BEFORE_SENDING.has(code) || message.includes("before secure TLS connection was established");
}
