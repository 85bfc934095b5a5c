/**
 * HTTP to one API server: kept-alive connections, a deadline on every call, and retries that never do a write twice
 * without knowing.
 */
import type { Dispatcher } from "undici";
import { sleep } from "./backoff.ts";
import { Connections, surelyNotSent, type Use } from "./connections.ts";
import type { Credentials } from "./credentials.ts";
import { connectionError, deadlineError, responseError } from "./errors.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limit.ts";
import { mayRepeat, pauseMs, type Repeat } from "./retry-policy.ts";
import { isKubeError, type KubeError } from "./types.ts";

/** One HTTP exchange, for metrics; `code` is "<error>" where there was no answer. */
export interface RequestRecord {
  readonly method: string;
  readonly host: string;
  readonly code: string;
  readonly seconds: number;
}

export interface TransportOptions {
  /** Most connections for calls; watches have their own. Default 4. */
  readonly maxConnections?: number | undefined;
  /** Client-side limit, calls a second and at once; none unless both are given. */
  readonly qps?: number | undefined;
  readonly burst?: number | undefined;
  readonly userAgent?: string | undefined;
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query. */
  readonly path: string;
  /** What is being done, for messages: `get IPPool "a"`. */
  readonly action: string;
  readonly repeat: Repeat;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface Answer {
  readonly contentType: string;
  readonly text: string;
}

export interface Transport {
  readonly server: string;
  /** The whole call. @throws KubeError, or the signal's reason when it aborts */
  request(call: Call): Promise<Answer>;
  /** A watch: one attempt, answered by the bytes of the body. The signal ends it. */
  stream(call: Call & { readonly signal: AbortSignal }): Promise<AsyncIterable<Uint8Array>>;
  /** Cuts every connection. */
  close(): Promise<void>;
}

type Outcome = Answer | { readonly error: KubeError; readonly notSent: boolean };

const DEFAULT_TIMEOUT_MS = 30_000;

/** Makes the transport; nothing is connected before the first call. */
export function createTransport(credentials: Credentials, options: TransportOptions = {}): Transport {
  return new HttpTransport(credentials, options);
}

class HttpTransport implements Transport {
  readonly server: string;
  readonly #credentials: Credentials;
  readonly #options: TransportOptions;
  readonly #connections: Connections;
  readonly #limiter: RateLimiter | undefined;
  readonly #base: URL;

  constructor(credentials: Credentials, options: TransportOptions) {
    const { qps, burst, maxConnections = 4 } = options;
    this.server = credentials.server;
    this.#credentials = credentials;
    this.#options = options;
    this.#base = new URL(credentials.server);
    this.#connections = new Connections(credentials, maxConnections);
    this.#limiter = qps !== undefined && burst !== undefined ? createRateLimiter({ qps, burst }) : undefined;
  }

  async request(call: Call): Promise<Answer> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = call;
    const end = performance.now() + timeoutMs;
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = call.signal ? AbortSignal.any([call.signal, deadline]) : deadline;
    for (let attempts = 1; ; attempts++) {
      await this.#limiter?.take(signal);
      if (signal.aborted) throw stopped(call, timeoutMs, false);
      const outcome = await this.#authorized(call, signal);
      if ("text" in outcome) return outcome;
      if (signal.aborted) throw stopped(call, timeoutMs, call.repeat !== "read");
      const pause = pauseMs(outcome.error, attempts);
      const again = mayRepeat(call.repeat, outcome.error, outcome.notSent, attempts);
      if (!again || performance.now() + pause > end) throw outcome.error;
      await sleep(pause, signal);
    }
  }

  async stream(call: Call & { readonly signal: AbortSignal }): Promise<AsyncIterable<Uint8Array>> {
    await this.#limiter?.take(call.signal);
    call.signal.throwIfAborted();
    try {
      const response = await this.#send("watches", call, call.signal);
      if (response.statusCode < 300) return response.body;
      throw this.#refusal(call, response, await response.body.text());
    } catch (error) {
      call.signal.throwIfAborted();
      throw isKubeError(error) ? error : connectionError(call.action, this.server, error, false);
    }
  }

  close(): Promise<void> {
    return this.#connections.destroy();
  }

  /** Refused credentials are renewed and tried once more: nothing was processed. */
  async #authorized(call: Call, signal: AbortSignal): Promise<Outcome> {
    const outcome = await this.#attempt(call, signal);
    const refused = "error" in outcome && isKubeError(outcome.error, "Unauthorized");
    return refused ? this.#attempt(call, signal) : outcome;
  }

  async #attempt(call: Call, signal: AbortSignal): Promise<Outcome> {
    try {
      const response = await this.#send("calls", call, signal);
      const text = await response.body.text();
      if (response.statusCode < 300) return { text, contentType: header(response, "content-type") ?? "" };
      return { error: this.#refusal(call, response, text), notSent: false };
    } catch (error) {
      if (isKubeError(error)) throw error; // no credentials: nothing was sent, and trying again does not mend it
      const notSent = surelyNotSent(error);
      const outcomeUnknown = !notSent && call.repeat !== "read";
      return { error: connectionError(call.action, this.server, error, outcomeUnknown), notSent };
    }
  }

  async #send(use: Use, call: Call, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const credentials = await this.#credentials.headers();
    const dispatcher = await this.#connections.get(use);
    const started = performance.now();
    let code = "<error>";
    try {
      const response = await dispatcher.request({
        origin: this.#base.origin,
        path: this.#base.pathname.replace(/\/$/, "") + call.path,
        method: call.method,
        headers: { "user-agent": this.#options.userAgent ?? "ipam-operator", ...call.headers, ...credentials },
        body: call.body ?? null,
        signal,
      });
      code = String(response.statusCode);
      return response;
    } finally {
      const seconds = (performance.now() - started) / 1000;
      this.#options.onRequest?.({ method: call.method, host: this.#base.host, code, seconds });
    }
  }

  #refusal(call: Call, response: Dispatcher.ResponseData, body: string): KubeError {
    if (response.statusCode === 401) this.#credentials.renew();
    const retryAfter = header(response, "retry-after");
    return responseError(call.action, { status: response.statusCode, body, retryAfter });
  }
}

/** What a call that was stopped ends in: the caller's reason, or the deadline's error. */
function stopped(call: Call, timeoutMs: number, outcomeUnknown: boolean): unknown {
  if (call.signal?.aborted) return call.signal.reason;
  return deadlineError(call.action, timeoutMs, outcomeUnknown);
}

function header(response: Dispatcher.ResponseData, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
