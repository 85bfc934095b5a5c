/** One HTTP exchange with the API server: credentials, a connection, the request, the metrics of it. No retries here. */
import type { Dispatcher } from "undici";
import type { Question } from "./answers.ts";
import { textWithin } from "./bounded.ts";
import { Connections, type Use } from "./connections.ts";
import type { Credentials } from "./credentials.ts";
import { responseError } from "./errors.ts";
import { LARGEST_REFUSAL } from "./limits.ts";
import type { KubeError } from "./types.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}

/** For metrics; `code` is "<error>" where there was no answer. */
export interface RequestRecord {
  readonly method: string;
  readonly host: string;
  readonly code: string;
  readonly seconds: number;
}

export interface ExchangeOptions {
  /** Most connections for calls; watches have their own. Default 4. */
  readonly maxConnections?: number | undefined;
  /** How long a connection may take to come about, in milliseconds. Default 10 s. */
  readonly connectTimeoutMs?: number | undefined;
  readonly userAgent?: string | undefined;
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
}

export class Exchange {
  readonly #credentials: Credentials;
  readonly #options: ExchangeOptions;
  readonly #connections: Connections;
  readonly #base: URL;

  constructor(credentials: Credentials, options: ExchangeOptions) {
    this.#credentials = credentials;
    this.#options = options;
    this.#base = new URL(credentials.server);
    this.#connections = new Connections(credentials, options.maxConnections ?? 4, options.connectTimeoutMs);
  }

  /** Sends one request and returns the answer's head, whatever its status; the body is still to be read. */
  async send(use: Use, request: HttpRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const credentials = await within(signal, this.#credentials.headers());
    const dispatcher = await within(signal, this.#connections.get(use));
    const started = performance.now();
    try {
      const response = await dispatcher.request({
        origin: this.#base.origin,
        path: this.#base.pathname.replace(/\/$/, "") + request.path,
        method: request.method,
        headers: { "user-agent": this.#options.userAgent ?? "ipam-operator", ...request.headers, ...credentials },
        body: request.body ?? null,
        signal,
      });
      this.#record(request, String(response.statusCode), started);
      return response;
    } catch (error) {
      this.#record(request, "<error>", started);
      throw error;
    }
  }

  /** The credentials were refused. True when others will be used next time. */
  renewCredentials(): boolean {
    return this.#credentials.renew();
  }

  /** Cuts every connection. */
  close(): Promise<void> {
    return this.#connections.destroy();
  }

  #record({ method }: HttpRequest, code: string, started: number): void {
    const seconds = (performance.now() - started) / 1000;
    this.#options.onRequest?.({ method, host: this.#base.host, code, seconds });
  }
}

/** Whether an answer is a success. */
export function succeeded({ statusCode }: Dispatcher.ResponseData): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** The first value of a header. */
export function header(response: Dispatcher.ResponseData, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Reads the body of an answer that is not a success and makes the error of it. */
export async function refusal(question: Question, response: Dispatcher.ResponseData): Promise<KubeError> {
  const body = (await textWithin(response.body, LARGEST_REFUSAL)) ?? "";
  return responseError(question, { status: response.statusCode, body, retryAfter: header(response, "retry-after") });
}

/** Credentials may come from a program that hangs: what ends the call ends the wait for them, too. */
async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
