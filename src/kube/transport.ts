/**
 * Calls to one API server: kept-alive connections, a deadline on every call, and retries that never do a write twice
 * without knowing.
 */
import { sleep } from "./backoff.ts";
import { textWithin } from "./bounded.ts";
import { surelyNotSent } from "./connections.ts";
import type { Credentials } from "./credentials.ts";
import { connectionError, deadlineError, tooLargeError, withUnknownOutcome } from "./errors.ts";
import { Exchange, type ExchangeOptions, type HttpRequest, header, refusal, succeeded } from "./exchange.ts";
import { LARGEST_OBJECT } from "./limits.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limit.ts";
import { mayRepeat, pauseMs, type Repeat } from "./retry-policy.ts";
import { isKubeError, type KubeError } from "./types.ts";
import { unreachableText } from "./unreachable.ts";

export interface TransportOptions extends ExchangeOptions {
  /** Client-side limit, calls a second and at once; none unless both are given. */
  readonly qps?: number | undefined;
  readonly burst?: number | undefined;
  /**
   * Whether a server that cannot be reached is an error at once while it has answered nothing yet: for programs that somebody
   * waits for. Default: it is tried again, as one that comes up is reachable soon.
   */
  readonly failFast?: boolean | undefined;
}

export interface Call extends HttpRequest {
  /** What is being done, for messages: `get IPPool "a"`. */
  readonly action: string;
  readonly repeat: Repeat;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Most bytes of an answer. Default: those of one object. */
  readonly largest?: number | undefined;
}

/** A call whose answer is read by `read`. What that throws, a KubeError, counts as the server's failure. */
export interface ReadCall<T> extends Call {
  readonly read: (answer: Answer) => T;
}

export interface WatchCall extends HttpRequest {
  readonly action: string;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly contentType: string;
  readonly text: string;
}

export interface Transport {
  readonly server: string;
  /** The whole call. @throws KubeError, or the signal's reason when it aborts */
  request<T>(call: ReadCall<T>): Promise<T>;
  /** A watch: one attempt, answered by the bytes of the body. @throws KubeError, or the signal's reason */
  stream(call: WatchCall): Promise<AsyncIterable<Uint8Array>>;
  /** Cuts every connection. */
  close(): Promise<void>;
}

interface Success<T> {
  readonly result: T;
}

interface Failure {
  readonly error: KubeError;
  /** The request surely never left. */
  readonly notSent: boolean;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Makes the transport; nothing is connected before the first call. */
export function createTransport(credentials: Credentials, options: TransportOptions = {}): Transport {
  return new HttpTransport(credentials, options);
}

class HttpTransport implements Transport {
  readonly server: string;
  readonly #exchange: Exchange;
  readonly #limiter: RateLimiter | undefined;
  /** Ends with the first answer. */
  #failsFast: boolean;

  constructor(credentials: Credentials, options: TransportOptions) {
    const { qps, burst, failFast = false } = options;
    this.#failsFast = failFast;
    this.server = credentials.server;
    this.#exchange = new Exchange(credentials, options);
    this.#limiter = qps !== undefined && burst !== undefined ? createRateLimiter({ qps, burst }) : undefined;
  }

  async request<T>(call: ReadCall<T>): Promise<T> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = call;
    const end = performance.now() + timeoutMs;
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = call.signal ? AbortSignal.any([call.signal, deadline]) : deadline;
    for (let attempts = 1; ; attempts++) {
      await this.#limiter?.take(signal);
      if (signal.aborted) throw stopped(call, timeoutMs, false);
      const outcome = await this.#authorized(call, signal);
      if ("result" in outcome) return outcome.result;
      if (signal.aborted) throw stopped(call, timeoutMs, call.repeat !== "read");
      const pause = pauseMs(outcome.error, attempts);
      const isHopeless = this.#failsFast && unreachableText(outcome.error.cause) !== undefined;
      const again = !isHopeless && mayRepeat(call.repeat, outcome.error, outcome.notSent, attempts);
      if (!again || performance.now() + pause > end) throw outcome.error;
      await sleep(pause, signal);
    }
  }

  async stream(call: WatchCall): Promise<AsyncIterable<Uint8Array>> {
    await this.#limiter?.take(call.signal);
    call.signal.throwIfAborted();
    try {
      const response = await this.#exchange.send("watches", call, call.signal);
      if (succeeded(response)) return response.body;
      if (response.statusCode === 401) this.#exchange.renewCredentials();
      throw await refusal({ ...call, server: this.server }, response);
    } catch (error) {
      call.signal.throwIfAborted();
      throw isKubeError(error) ? error : connectionError(call.action, this.server, error, false);
    }
  }

  close(): Promise<void> {
    return this.#exchange.close();
  }

  /** Refused credentials are renewed and tried once more: nothing was processed. */
  async #authorized<T>(call: ReadCall<T>, signal: AbortSignal): Promise<Success<T> | Failure> {
    const outcome = await this.#attempt(call, signal);
    const refused = "error" in outcome && isKubeError(outcome.error, "Unauthorized");
    return refused && this.#exchange.renewCredentials() ? this.#attempt(call, signal) : outcome;
  }

  async #attempt<T>(call: ReadCall<T>, signal: AbortSignal): Promise<Success<T> | Failure> {
    try {
      const response = await this.#exchange.send("calls", call, signal);
      this.#failsFast = false;
      if (!succeeded(response))
        return { error: await refusal({ ...call, server: this.server }, response), notSent: false };
      const { largest = LARGEST_OBJECT } = call;
      const text = await textWithin(response.body, largest);
      if (text === undefined) throw tooLargeError(call.action, this.server, largest, call.repeat !== "read");
      return read(call, { text, contentType: header(response, "content-type") ?? "" });
    } catch (error) {
      if (isKubeError(error)) throw error; // no credentials to be had, or too much of an answer: the same would come again
      const notSent = surelyNotSent(error);
      const outcomeUnknown = !notSent && call.repeat !== "read";
      return { error: connectionError(call.action, this.server, error, outcomeUnknown), notSent };
    }
  }
}

function read<T>(call: ReadCall<T>, answer: Answer): Success<T> | Failure {
  try {
    return { result: call.read(answer) };
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return { error: call.repeat === "read" ? error : withUnknownOutcome(error), notSent: false };
  }
}

/** What a call that was stopped ends in: the caller's reason, or the deadline's error. */
function stopped(call: Call, timeoutMs: number, outcomeUnknown: boolean): unknown {
  if (call.signal?.aborted) return call.signal.reason;
  return deadlineError(call.action, timeoutMs, outcomeUnknown);
}
