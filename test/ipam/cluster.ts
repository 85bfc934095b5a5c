/** A cluster under observation: a recorded embedded store, nodes, a clock that always moves on, and processes on it. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { IPAMBlock, IpamKind } from "../../src/api/v3.ts";
import { type Datastore, isDatastoreError } from "../../src/datastore/datastore.ts";
import { openCopy } from "../../src/datastore/embedded.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { type CheckOptions, check, type Finding, type ListedObjects } from "../invariants/check.ts";
import { checkHistory, type LogEntry } from "../invariants/history.ts";
import { Recorder } from "../invariants/recorder.ts";
import { frozen } from "../support/ipam.ts";
import { type Invocation, recorded, told, toldOnError } from "./calls.ts";
import { Died, FaultyProcess } from "./faulty.ts";

const START = Date.parse("2026-01-02T03:04:05.678Z");

/** What a call runs in: how it sees the store, and what rejects when it is gone. */
type Process = Pick<FaultyProcess, "datastore" | "death">;

/** What a call came to. */
export interface Answer {
  readonly result?: unknown;
  readonly error?: unknown;
}

export class Cluster implements AsyncDisposable {
  /** Labels per node. */
  readonly nodes = new Map<string, Record<string, string>>();
  readonly recorder: Recorder;
  /** The store itself, without faults; what is written to it is recorded. */
  readonly store: Datastore;
  /** How many seconds each process's clock is ahead. */
  readonly #ahead = new AsyncLocalStorage<number>();
  #now = START;
  #maxAhead = 0;

  constructor() {
    this.recorder = new Recorder(this.clock);
    this.store = this.recorder.datastore(frozen(openCopy(":memory:")));
  }

  /** Each look at the clock is a millisecond later than the one before: no two instants are the same. */
  readonly clock = (): Date => {
    this.#now += 1;
    return new Date(this.#now + (this.#ahead.getStore() ?? 0) * 1000);
  };

  pass(seconds: number): void {
    this.#now += seconds * 1000;
  }

  /** Runs a call in a process of its own, whose clock may be ahead. */
  async run(invocation: Invocation, process: Process = new FaultyProcess(), ahead = 0): Promise<Answer> {
    this.#maxAhead = Math.max(this.#maxAhead, ahead);
    const ipam = createIpam({
      datastore: process.datastore(this.store),
      clock: this.clock,
      nodes: async (name) => (this.nodes.has(name) ? { metadata: { labels: this.nodes.get(name) } } : undefined),
      windowsHost: false,
      warn: () => {},
    });
    const work = () => this.#ahead.run(ahead, () => invoke(ipam, invocation));
    const running = this.recorder.call(
      recorded(invocation),
      work,
      (result) => told(invocation, result),
      (error) => toldOnError(invocation, error),
    );
    return Promise.race([running, process.death]).then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    );
  }

  /** Runs calls that are to succeed, one after the other. */
  async prepare(...invocations: readonly Invocation[]): Promise<void> {
    for (const invocation of invocations) {
      const { error } = await this.run(invocation);
      if (error !== undefined) throw error;
    }
  }

  async all<K extends IpamKind>(kind: K) {
    return (await this.store.list(kind)).items;
  }

  async block(cidr: string): Promise<IPAMBlock> {
    return (await this.all("IPAMBlock")).find(({ spec }) => spec.cidr === cidr)!;
  }

  async stored(): Promise<ListedObjects> {
    return {
      blocks: await this.all("IPAMBlock"),
      affinities: await this.all("BlockAffinity"),
      handles: await this.all("IPAMHandle"),
      configurations: await this.all("IPAMConfiguration"),
      pools: await this.all("IPPool"),
      reservations: await this.all("IPReservation"),
      nodes: Array.from(this.nodes, ([name, labels]) => ({ name, labels })),
    };
  }

  /** What is wrong with what is stored. At rest, what getUtilization says of it is asked about too. */
  async findings(mode: CheckOptions["mode"]): Promise<Finding[]> {
    const stored = await this.stored();
    const { result } = mode === "atRest" ? await this.run({ method: "getUtilization", args: [] }) : {};
    const utilization = result as Awaited<ReturnType<Ipam["getUtilization"]>> | undefined;
    const options = { mode, now: this.clock(), clockSkewSeconds: this.#maxAhead };
    return check({ ...stored, ...(utilization && { utilization }) }, options);
  }

  /** What is wrong with what happened so far. */
  historyFindings(): Finding[] {
    return checkHistory(withRemovals(this.recorder.log));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.store.close();
  }
}

/** A reader that meets a marked row removes it inside the store, unrecorded: a new UID under the name tells of it. */
function withRemovals(log: readonly LogEntry[]): LogEntry[] {
  const uids = new Map<string, string | undefined>();
  return log.flatMap((entry): LogEntry[] => {
    if (entry.type !== "version") return [entry];
    const { object, operation: _another, ...removal } = entry;
    const key = `${entry.kind}/${entry.name}`;
    const replaced = object && uids.get(key) !== undefined && uids.get(key) !== object.metadata.uid;
    uids.set(key, object?.metadata.uid);
    return replaced ? [removal, entry] : [entry];
  });
}

function invoke(ipam: Ipam, { method, args }: Invocation): Promise<unknown> {
  return (ipam[method] as (...all: readonly unknown[]) => Promise<unknown>)(...args);
}

/** Errors a caller may meet: the library's own, and the store's that no retry can help. */
export function isForCallers(error: unknown, { method }: Invocation): boolean {
  if (error === undefined || error instanceof Died || isDatastoreError(error, "Unavailable")) return true;
  if (method === "garbageCollectColdIPs" && isDatastoreError(error, "Conflict", "NotFound")) return true;
  return isIpamError(error);
}
