/** One identity's hold on one Lease: every write is a compare-and-swap, and what was seen of it is timed by our own clock. */
import { sleep } from "./backoff.ts";
import { isOlder } from "./glance.ts";
import {
  claimed,
  LEASES,
  type Lease,
  LeaseObservation,
  type LeaseSpec,
  leaseSpec,
  released,
  renewed,
} from "./lease-record.ts";
import { isKubeError, type KubeClient } from "./types.ts";

/** Longest pause before a write that met another is tried again: two writers must not stay in step. */
const PAUSE_MS = 20;

export interface LeaseLockOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** Told of each holder that follows another. */
  readonly onNewHolder: (identity: string) => void;
  /** Told that the Lease has an older revision than it had: the store was restored from a backup. */
  readonly onWentBack?: ((held: string, found: string) => void) | undefined;
}

export class LeaseLock {
  readonly #options: LeaseLockOptions;
  readonly #observation = new LeaseObservation();
  /** The Lease as we last wrote it. */
  #lease: Lease | undefined;
  /** Newest revision of the Lease that a request was answered with. */
  #revision: string | undefined;
  #renewedAt = 0;
  #known = false;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
  }

  /** When our last successful write was sent, monotonic: nobody can have seen it earlier. */
  get renewedAt(): number {
    return this.#renewedAt;
  }

  /** Whether the Lease was written, or seen in someone's hands, once. */
  get known(): boolean {
    return this.#known;
  }

  /** Milliseconds until a try makes sense, as far as we have seen. */
  msUntilFree(): number {
    return this.#observation.msUntilFree(this.#options.identity, performance.now());
  }

  /** Takes note of the Lease; undefined: there is none. */
  observe(lease: Lease | undefined): void {
    const before = this.#observation.holder;
    this.#observation.see(lease && leaseSpec(lease), performance.now());
    const { holder } = this.#observation;
    if (holder === "") return;
    this.#known = true;
    if (holder !== before) this.#options.onNewHolder(holder);
  }

  /** False when another holds the Lease or was faster. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { identity, leaseDurationMs } = this.#options;
    for (;;) {
      const current = await this.#read(signal);
      this.observe(current);
      if (this.msUntilFree() > 0) return false;
      const spec = claimed(current?.spec ?? {}, identity, leaseDurationMs, Date.now());
      const write = () => (current === undefined ? this.#create(spec, signal) : this.#update(current, spec, signal));
      if (await unlessOutrun(write)) return true;
      await sleep(Math.random() * PAUSE_MS, signal);
      signal.throwIfAborted();
    }
  }

  /** Says that we are still here; false when another holds the Lease or it is gone. */
  renew(signal: AbortSignal): Promise<boolean> {
    return this.#overwrite((spec) => renewed(spec, Date.now()), signal);
  }

  /** Lets the next candidate in at once; false when another holds the Lease already. */
  release(signal: AbortSignal): Promise<boolean> {
    return this.#overwrite((spec) => released(spec, Date.now()), signal);
  }

  /**
   * Writes over the Lease while we hold it, until a write meets no other or the signal aborts. A conflict does not mean that we
   * lost it: an earlier write of ours may have arrived though its answer did not, or somebody edits its annotations.
   */
  async #overwrite(change: (spec: LeaseSpec) => LeaseSpec, signal: AbortSignal): Promise<boolean> {
    for (let held = this.#lease; held !== undefined; held = await this.#readOwn(signal)) {
      const lease = held;
      if (await unlessOutrun(() => this.#update(lease, change(lease.spec ?? {}), signal))) return true;
    }
    return false;
  }

  /** Undefined when another holds it or there is none. */
  async #readOwn(signal: AbortSignal): Promise<Lease | undefined> {
    await sleep(Math.random() * PAUSE_MS, signal);
    signal.throwIfAborted();
    const current = await this.#read(signal);
    this.observe(current);
    return current?.spec?.holderIdentity === this.#options.identity ? current : undefined;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, name, namespace } = this.#options;
    try {
      const lease = await client.get<Lease>(LEASES, name, { namespace, signal });
      this.#answered(lease);
      return lease;
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async #create(spec: LeaseSpec, signal: AbortSignal): Promise<void> {
    const { client, name, namespace } = this.#options;
    const startedAt = performance.now();
    const lease: Lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace }, spec };
    this.#wrote(await client.create(LEASES, lease, { namespace, signal }), startedAt);
  }

  async #update(lease: Lease, spec: LeaseSpec, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const startedAt = performance.now();
    this.#wrote(await client.update(LEASES, { ...lease, spec }, { namespace, signal }), startedAt);
  }

  #answered({ metadata: { resourceVersion: found } }: Lease): void {
    const held = this.#revision;
    this.#revision = found;
    if (isOlder(found, held)) this.#options.onWentBack?.(held!, found!);
  }

  #wrote(lease: Lease, startedAt: number): void {
    this.#answered(lease);
    this.observe(lease);
    this.#lease = lease;
    this.#renewedAt = startedAt;
    this.#known = true;
  }
}

/** False when the write met another writer's. */
async function unlessOutrun(write: () => Promise<void>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (isKubeError(error, "Conflict", "AlreadyExists")) return false;
    throw error;
  }
}
