/**
 * Leader election on a Lease, by client-go's rules: compare-and-swap by resourceVersion, nobody's clock but our own,
 * and leadership that ends at the renew deadline whether or not the API can be reached.
 */
import type { Logger } from "pino";
import type { OnTaskFailure } from "./background.ts";
import { sleep } from "./backoff.ts";
import { LeaseLock } from "./lease-lock.ts";
import { LEASES, type Lease } from "./lease-record.ts";
import { createReflector, type Reflector } from "./reflector.ts";
import { isKubeError, type KubeClient } from "./types.ts";

export interface ElectorOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly namespace: string;
  readonly name: string;
  /** Differs between processes, also between two runs of one: hostname and a random part. */
  readonly identity: string;
  /** How long others wait after the last renewal they saw. Whole seconds. Default 15 s. */
  readonly leaseDurationMs?: number;
  /** How long the leader goes on without a successful renewal. Default 10 s. */
  readonly renewDeadlineMs?: number;
  /** Between renewals, and (jittered) between tries. Default 2 s. */
  readonly retryPeriodMs?: number;
  /** Gives the Lease up when stopped, after the work has ended. Default true. */
  readonly releaseOnCancel?: boolean;
  /**
   * We lead until the signal aborts. A promise says when the work has really ended: until then the Lease is kept if
   * it can be, and a new election waits. A rejection gives the Lease up and ends `run`.
   */
  readonly onStartedLeading: (signal: AbortSignal) => void | Promise<void>;
  /** Leadership has ended; the work may still be ending. */
  readonly onStoppedLeading?: () => void;
  /** Another identity, possibly our own, holds the Lease. */
  readonly onNewLeader?: (identity: string) => void;
  /**
   * The Lease has an older revision than it had: etcd was restored from a backup. Renewals find this out within a retry period,
   * without a request of their own.
   */
  readonly onWentBack?: (held: string, found: string) => void;
  /** What a person should do about a failure, to stand in the log beside it. */
  readonly advice?: (error: unknown) => string | undefined;
  readonly random?: () => number;
  /** Called with a failure of the watch that is not the server's; the watch then goes on. Default: the log. */
  readonly onTaskFailure?: OnTaskFailure;
}

export interface Elector {
  readonly isLeader: boolean;
  /** Whether the Lease could be written, or was seen in another's hands, once: without it nobody ever leads. */
  readonly hasReachedApi: boolean;
  /** The last failure to reach the Lease, until we lead or renew. */
  readonly lastError: unknown;
  /** Stands for election again and again until `signal` aborts, then gives the Lease up. One run at a time. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Makes an elector; nothing is requested before `run`.
 * @throws RangeError when the times do not leave room for each other
 */
export function createElector(options: ElectorOptions): Elector {
  return new LeaseElector(options);
}

const JITTER = 1.2;
const RELEASE_TIMEOUT_MS = 3000;
const LAST_TRY_MS = 1000;

type Times = Required<Pick<ElectorOptions, "leaseDurationMs" | "renewDeadlineMs" | "retryPeriodMs">>;

class LeaseElector implements Elector {
  readonly #options: ElectorOptions;
  readonly #times: Times;
  readonly #lock: LeaseLock;
  /** Of the run under way. */
  #reflector!: Reflector<Lease>;
  /** Aborted when the Lease has changed or we are stopped: ends the standby's wait. */
  #wake = new AbortController();
  #lastFailure = "";
  #isLeader = false;
  lastError: unknown;

  constructor(options: ElectorOptions) {
    this.#options = options;
    this.#times = timesOf(options);
    const { leaseDurationMs } = this.#times;
    this.#lock = new LeaseLock({
      ...options,
      leaseDurationMs,
      onNewHolder: (holder) => options.onNewLeader?.(holder),
      onWentBack: (held, found) => this.#wentBack(held, found),
    });
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }

  get hasReachedApi(): boolean {
    return this.#lock.known;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const wakeUp = () => this.#wakeUp();
    signal.addEventListener("abort", wakeUp);
    this.#reflector = this.#watchLease();
    const watching = this.#reflector.start(stop.signal); // never rejects
    try {
      while (!signal.aborted) {
        if (await this.#standForElection(signal)) await this.#lead(signal);
        else await this.#waitForChance(signal);
      }
    } finally {
      signal.removeEventListener("abort", wakeUp);
      stop.abort();
      await watching;
    }
  }

  /** The standby sees a release or a renewal as it happens; a watch silent for a whole lease is a broken one. */
  #watchLease(): Reflector<Lease> {
    const { client, log, namespace, name, onTaskFailure } = this.#options;
    const onChange = () => {
      if (this.#isLeader) return; // our own writes, late
      this.#lock.observe(this.#reflector.store.list()[0]);
      this.#wakeUp();
    };
    const fieldSelector = `metadata.name=${name}`;
    const idleTimeoutMs = this.#times.leaseDurationMs;
    const shared = { client, log, onTaskFailure };
    return createReflector<Lease>({ ...shared, type: LEASES, namespace, fieldSelector, idleTimeoutMs, onChange });
  }

  #wentBack(held: string, found: string): void {
    this.#reflector.relist();
    this.#options.onWentBack?.(held, found);
  }

  #wakeUp(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  async #standForElection(stop: AbortSignal): Promise<boolean> {
    using limit = tryLimit(this.#times.renewDeadlineMs, stop);
    try {
      return await this.#lock.acquire(limit.signal);
    } catch (error) {
      if (!stop.aborted) this.#failed("acquire", error);
      return false;
    }
  }

  /** Until the Lease seems free; where that cannot be watched, or a try has just failed, for a jittered retry period. */
  async #waitForChance(signal: AbortSignal): Promise<void> {
    const { random = Math.random } = this.#options;
    const retryMs = this.#times.retryPeriodMs * (1 + JITTER * random());
    if (this.#lock.msUntilFree() === 0) return sleep(retryMs, signal);
    for (let left = this.#lock.msUntilFree(); left > 0 && !signal.aborted; left = this.#lock.msUntilFree()) {
      const { synced, lastError } = this.#reflector.state;
      if (!synced || lastError) return sleep(Math.min(retryMs, left), this.#wake.signal);
      await sleep(left, this.#wake.signal);
    }
  }

  /** One term: the work runs and the Lease is renewed until the signal aborts, the Lease is lost, or the work fails. */
  async #lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return this.#release();
    const term = this.#startTerm();
    const workEnded = new AbortController();
    const endTerm = () => this.#endTerm(term);
    const keeping = this.#keep(workEnded.signal).finally(endTerm);
    keeping.catch(() => {}); // awaited below, once the work has ended
    signal.addEventListener("abort", endTerm);
    try {
      await Promise.all([aborted(term.signal), this.#work(term.signal)]);
    } finally {
      signal.removeEventListener("abort", endTerm);
      workEnded.abort();
      if (await keeping) await this.#release();
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    await this.#options.onStartedLeading(signal);
  }

  #startTerm(): AbortController {
    const { log, identity, namespace, name } = this.#options;
    this.#isLeader = true;
    this.#succeeded();
    log.info({ identity }, `Leading: the Lease ${namespace}/${name} is ours`);
    return new AbortController();
  }

  #endTerm(term: AbortController): void {
    if (term.signal.aborted) return;
    const { log, identity, onStoppedLeading } = this.#options;
    this.#isLeader = false;
    log.info({ identity }, "No longer leading");
    term.abort();
    onStoppedLeading?.();
  }

  /** Renews until `ended`; whether the Lease is still ours then. */
  async #keep(ended: AbortSignal): Promise<boolean> {
    const { retryPeriodMs, renewDeadlineMs } = this.#times;
    const left = () => this.#lock.renewedAt + renewDeadlineMs - performance.now();
    while (!ended.aborted) {
      await sleep(Math.max(0, Math.min(retryPeriodMs, left())), ended);
      if (ended.aborted) break;
      if (left() <= 0 || (await this.#renew(left(), ended)) === "lost") return false;
    }
    return true;
  }

  /** A try has half the deadline at most, so that one hung connection does not cost the leadership. */
  async #renew(leftMs: number, ended: AbortSignal): Promise<"kept" | "lost" | "failed"> {
    const limit = AbortSignal.timeout(Math.ceil(Math.min(leftMs, this.#times.renewDeadlineMs / 2)));
    const signal = AbortSignal.any([limit, ended]); // the release that follows finds out what became of the write
    try {
      if (!(await this.#lock.renew(signal))) return "lost";
      this.#succeeded();
      return "kept";
    } catch (error) {
      if (ended.aborted) return "failed";
      this.#failed("renew", error);
      return isKubeError(error, "NotFound") ? "lost" : "failed"; // deleted: whoever creates it next leads
    }
  }

  async #release(): Promise<void> {
    if (this.#options.releaseOnCancel === false) return;
    try {
      await this.#lock.release(AbortSignal.timeout(RELEASE_TIMEOUT_MS));
    } catch (error) {
      this.#failed("release", error);
    }
  }

  #succeeded(): void {
    this.#lastFailure = "";
    this.lastError = undefined;
  }

  /** Once per cause, not once per try. */
  #failed(what: string, cause: unknown): void {
    const { log, namespace, name, advice } = this.#options;
    const error = inWords(cause, this.#options.client.server);
    this.lastError = error;
    const failure = `${what}: ${error}`;
    if (failure === this.#lastFailure) return;
    this.#lastFailure = failure;
    const remedy = advice?.(error);
    log.warn(
      { err: error },
      `Cannot ${what} the Lease ${namespace}/${name}${remedy === undefined ? "" : `. ${remedy}`}`,
    );
  }
}

/** Ends a try after `limitMs`; once `stop` has aborted, soon: a Lease that it wins until then is given back. */
function tryLimit(limitMs: number, stop: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const limit = new AbortController();
  const end = () => limit.abort(new DOMException("no answer in time", "TimeoutError"));
  let timer = setTimeout(end, limitMs);
  const hurry = () => {
    clearTimeout(timer);
    timer = setTimeout(end, Math.min(limitMs, LAST_TRY_MS));
  };
  if (stop.aborted) hurry();
  stop.addEventListener("abort", hurry);
  return {
    signal: limit.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", hurry);
    },
  };
}

/** The time limit of a try over several calls ends it with words of the runtime's, which name nobody. */
function inWords(error: unknown, server: string): unknown {
  const isTimeLimit = error instanceof DOMException && error.name === "TimeoutError";
  return isTimeLimit ? new Error(`no answer from ${server} in time`, { cause: error }) : error;
}

function timesOf({ leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2000 }: ElectorOptions): Times {
  if (leaseDurationMs > renewDeadlineMs && renewDeadlineMs > retryPeriodMs * JITTER)
    return { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
  throw new RangeError(
    `Leader election needs lease duration (${leaseDurationMs} ms) > renew deadline (${renewDeadlineMs} ms) > ` +
      `${JITTER} x retry period (${retryPeriodMs} ms)`,
  );
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
