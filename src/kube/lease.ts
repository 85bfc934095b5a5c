/**
 * Leader election on a Lease, by client-go's rules: compare-and-swap by resourceVersion, nobody's clock but our own,
 * and leadership that ends at the renew deadline whether or not the API can be reached.
 */
import type { Logger } from "pino";
import { sleep } from "./backoff.ts";
import { claimed, LEASES, type Lease, LeaseObservation, type LeaseSpec, released, renewed } from "./lease-record.ts";
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
  readonly random?: () => number;
}

export interface Elector {
  readonly isLeader: boolean;
  /** Whether the Lease could be written, or was seen in another's hands, once: without it nobody ever leads. */
  readonly hasReachedApi: boolean;
  /** Stands for election again and again until `signal` aborts, then gives the Lease up. Run it once. */
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

class LeaseElector implements Elector {
  readonly #options: ElectorOptions &
    Required<Pick<ElectorOptions, "leaseDurationMs" | "renewDeadlineMs" | "retryPeriodMs">>;
  readonly #observation = new LeaseObservation();
  readonly #reflector: Reflector<Lease>;
  #wake = new AbortController();
  /** The Lease as we last wrote it. */
  #lease: Lease | undefined;
  /** Monotonic time before the last successful write was sent: not later than anyone else can have seen it. */
  #renewedAt = 0;
  #lastFailure = "";
  isLeader = false;
  hasReachedApi = false;

  constructor(options: ElectorOptions) {
    const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2000 } = options;
    if (leaseDurationMs <= renewDeadlineMs || renewDeadlineMs <= retryPeriodMs * JITTER)
      throw new RangeError(
        `leader election needs lease duration (${leaseDurationMs} ms) > renew deadline (${renewDeadlineMs} ms) > ${JITTER} x retry period (${retryPeriodMs} ms)`,
      );
    this.#options = { ...options, leaseDurationMs, renewDeadlineMs, retryPeriodMs };
    this.#reflector = this.#watchLease();
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const wakeUp = () => this.#wakeUp();
    signal.addEventListener("abort", wakeUp);
    const watching = this.#reflector.start(stop.signal);
    try {
      while (!signal.aborted) {
        if (await this.#standForElection()) await this.#lead(signal);
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
    const { client, log, namespace, name, leaseDurationMs } = this.#options;
    return createReflector<Lease>({
      client,
      log,
      type: LEASES,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      idleTimeoutMs: leaseDurationMs,
      onChange: () => {
        this.#observe(this.#reflector.store.list()[0]);
        this.#wakeUp();
      },
    });
  }

  #wakeUp(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }

  #observe(lease: Lease | undefined): void {
    const before = this.#observation.holder;
    this.#observation.see(lease?.spec, performance.now());
    const { holder } = this.#observation;
    if (holder === "") return;
    this.hasReachedApi = true;
    if (holder !== before) this.#options.onNewLeader?.(holder);
  }

  /** One try; whether the Lease is ours now. */
  async #standForElection(): Promise<boolean> {
    try {
      return await this.#tryToAcquire(AbortSignal.timeout(this.#options.renewDeadlineMs));
    } catch (error) {
      this.#failed("get", error);
      return false;
    }
  }

  async #tryToAcquire(signal: AbortSignal): Promise<boolean> {
    const { client, name, namespace, identity, leaseDurationMs } = this.#options;
    const startedAt = performance.now();
    const current = await this.#read(signal);
    this.#observe(current);
    if (this.#observation.msUntilFree(identity, startedAt) > 0) return false;
    const spec = claimed(current?.spec ?? {}, identity, leaseDurationMs, Date.now());
    const fresh: Lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace } };
    if (current === undefined)
      this.#wrote(await client.create(LEASES, { ...fresh, spec }, { namespace, signal }), startedAt);
    else this.#wrote(await client.update(LEASES, { ...current, spec }, { namespace, signal }), startedAt);
    return true;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, name, namespace } = this.#options;
    try {
      return await client.get<Lease>(LEASES, name, { namespace, signal });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  /** Until the Lease seems free; where that cannot be watched or the last try failed, for a jittered retry period. */
  async #waitForChance(signal: AbortSignal): Promise<void> {
    const { identity, retryPeriodMs, random = Math.random } = this.#options;
    const retryMs = retryPeriodMs * (1 + JITTER * random());
    const untilFree = () => this.#observation.msUntilFree(identity, performance.now());
    if (untilFree() === 0) return sleep(retryMs, signal);
    while (!signal.aborted && untilFree() > 0) {
      const { synced, lastError } = this.#reflector.state;
      if (!synced || lastError) return sleep(Math.min(retryMs, untilFree()), this.#wake.signal);
      await sleep(untilFree(), this.#wake.signal);
    }
  }

  /** One term: the work runs, the Lease is renewed, until the signal aborts, the Lease is lost, or the work fails. */
  async #lead(signal: AbortSignal): Promise<void> {
    const term = new AbortController();
    const workEnded = new AbortController();
    const endTerm = () => this.#endTerm(term);
    this.isLeader = true;
    this.#options.log.info(`Leading: ${this.#options.identity} holds the Lease ${this.#options.name}`);
    const keeping = this.#keep(workEnded.signal).finally(endTerm);
    signal.addEventListener("abort", endTerm);
    if (signal.aborted) endTerm();
    try {
      await Promise.all([aborted(term.signal), this.#work(term.signal)]);
    } finally {
      signal.removeEventListener("abort", endTerm);
      workEnded.abort();
      if ((await keeping) && (this.#options.releaseOnCancel ?? true)) await this.#release();
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.#options.onStartedLeading(signal);
  }

  #endTerm(term: AbortController): void {
    if (term.signal.aborted) return;
    this.isLeader = false;
    term.abort();
    this.#options.log.info(`No longer leading: ${this.#options.identity}`);
    this.#options.onStoppedLeading?.();
  }

  /** Renews until `ended`; whether the Lease is still ours then. */
  async #keep(ended: AbortSignal): Promise<boolean> {
    const { retryPeriodMs, renewDeadlineMs } = this.#options;
    while (!ended.aborted) {
      const left = this.#renewedAt + renewDeadlineMs - performance.now();
      if (left <= 0) return false;
      await sleep(Math.min(retryPeriodMs, left), ended);
      if (!ended.aborted && (await this.#renew(left - retryPeriodMs)) === "lost") return false;
    }
    return true;
  }

  /** A try has half the deadline at most, so that one hung connection does not cost the leadership. */
  async #renew(leftMs: number): Promise<"kept" | "failed" | "lost"> {
    const signal = AbortSignal.timeout(Math.max(0, Math.min(leftMs, this.#options.renewDeadlineMs / 2)));
    try {
      return (await this.#put((spec) => renewed(spec, Date.now()), signal)) ? "kept" : "lost";
    } catch (error) {
      this.#failed("renew", error);
      return isKubeError(error, "NotFound") ? "lost" : "failed";
    }
  }

  async #release(): Promise<void> {
    try {
      await this.#put((spec) => released(spec, Date.now()), AbortSignal.timeout(RELEASE_TIMEOUT_MS));
    } catch (error) {
      this.#failed("release", error);
    }
  }

  /**
   * Writes over the Lease we hold; false when another holds it. A conflict alone does not mean that: an earlier write
   * of ours may have arrived though its answer did not, or someone has put a label on it.
   */
  async #put(change: (spec: LeaseSpec) => LeaseSpec, signal: AbortSignal): Promise<boolean> {
    const { client, namespace, identity } = this.#options;
    const startedAt = performance.now();
    const write = (lease: Lease) =>
      client.update<Lease>(LEASES, { ...lease, spec: change(lease.spec ?? {}) }, { namespace, signal });
    try {
      this.#wrote(await write(this.#lease!), startedAt);
      return true;
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
    }
    const current = await this.#read(signal);
    this.#observe(current);
    if (current?.spec?.holderIdentity !== identity) return false;
    this.#wrote(await write(current), startedAt);
    return true;
  }

  #wrote(lease: Lease, startedAt: number): void {
    this.#lease = lease;
    this.#renewedAt = startedAt;
    this.#lastFailure = "";
    this.hasReachedApi = true;
    this.#observe(lease);
  }

  /** Once per cause, not once per try. */
  #failed(what: string, error: unknown): void {
    const { log, namespace, name } = this.#options;
    const failure = `${what}: ${error}`;
    if (failure === this.#lastFailure) return;
    this.#lastFailure = failure;
    log.warn({ err: error }, `Cannot ${what} the Lease ${namespace}/${name}, trying again`);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
