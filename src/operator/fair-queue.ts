/**
 * Work for callers that nobody knows yet. Each source has its turn, so that one that asks for a lot delays itself; a share
 * of the places is kept for preferred sources; how much waits and how much begins in a second is bounded.
 */
import { createReservations } from "../kube/rate-limit.ts";

export interface FairQueueLimits {
  /** Work at once. */
  readonly places: number;
  /** Of these, kept for preferred sources, and as many for the others. */
  readonly kept: number;
  /** Work that may begin in a second. */
  readonly perSecond: number;
  /** Work that may wait, of one source and of all. */
  readonly waitingPerSource: number;
  readonly waiting: number;
  /** What waited so long is given up. */
  readonly patienceMs: number;
}

export interface Request<T> {
  readonly source: string;
  /** Comes before others of its source. */
  readonly first: boolean;
  readonly work: () => Promise<T>;
}

type Class = "preferred" | "others";

interface Waiting {
  readonly source: string;
  readonly first: boolean;
  readonly begin: () => Promise<unknown>;
  readonly giveUp: () => void;
}

export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #preferred: (source: string) => boolean;
  readonly #reserve: () => number;
  /** By source; the source whose turn is next stands first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = { preferred: 0, others: 0 };
  #last: Class = "others";
  #isBeginning = false;

  constructor(limits: FairQueueLimits, preferred: (source: string) => boolean) {
    this.#limits = limits;
    this.#preferred = preferred;
    this.#reserve = createReservations({ qps: limits.perSecond, burst: limits.perSecond });
  }

  /** @returns what the work gives; undefined where it did not get its turn */
  run<T>({ source, first, work }: Request<T>): Promise<T | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    const begin = () => {
      clearTimeout(timer);
      return work().then(resolve, reject);
    };
    const giveUp = () => {
      clearTimeout(timer);
      resolve(undefined);
    };
    const waiting: Waiting = { source, first, begin, giveUp };
    const timer = setTimeout(() => this.#giveUp(waiting), this.#limits.patienceMs).unref();
    const own = this.#waiting.get(source) ?? [];
    this.#waiting.set(source, [...own, waiting]);
    this.#keepBounds(source);
    this.#begin();
    return promise;
  }

  /** Of too many the newest of the source with the most is given up, which may be the one that just came. */
  #keepBounds(source: string): void {
    const { waiting, waitingPerSource } = this.#limits;
    const own = this.#waiting.get(source)!;
    const all = [...this.#waiting.values()];
    const longest = all.reduce((most, queue) => (queue.length > most.length ? queue : most));
    if (own.length > waitingPerSource) this.#giveUp(lastOf(own));
    else if (all.reduce((sum, queue) => sum + queue.length, 0) > waiting) this.#giveUp(lastOf(longest));
  }

  #giveUp(waiting: Waiting): void {
    this.#remove(waiting);
    waiting.giveUp();
  }

  /** @returns what else waits of its source, whose turn stays */
  #remove(waiting: Waiting): readonly Waiting[] {
    const rest = (this.#waiting.get(waiting.source) ?? []).filter((other) => other !== waiting);
    if (rest.length > 0) this.#waiting.set(waiting.source, rest);
    else this.#waiting.delete(waiting.source);
    return rest;
  }

  /** Begins what may begin now, and comes back when more may. */
  #begin(): void {
    if (this.#isBeginning || this.#next() === undefined) return;
    this.#isBeginning = true;
    setTimeout(() => {
      this.#isBeginning = false;
      const next = this.#next();
      if (next !== undefined) this.#start(next);
      this.#begin();
    }, this.#reserve());
  }

  #start(waiting: Waiting): void {
    const { source } = waiting;
    const rest = this.#remove(waiting);
    this.#waiting.delete(source);
    if (rest.length > 0) this.#waiting.set(source, [...rest]); // at the end: others have their turn first
    const kind = this.#classOf(source);
    this.#last = kind;
    this.#running[kind]++;
    const ended = () => {
      this.#running[kind]--;
      this.#begin();
    };
    waiting.begin().then(ended, ended);
  }

  #classOf(source: string): Class {
    return this.#preferred(source) ? "preferred" : "others";
  }

  /** The two classes in turn, and the sources of each in turn. */
  #next(): Waiting | undefined {
    const source = this.#sourceOf(this.#last === "others" ? "preferred" : "others") ?? this.#sourceOf(this.#last);
    const queue = source === undefined ? [] : this.#waiting.get(source)!;
    return queue.find(({ first }) => first) ?? queue[0];
  }

  #sourceOf(kind: Class): string | undefined {
    const { places, kept } = this.#limits;
    const { preferred, others } = this.#running;
    if (preferred + others >= places || this.#running[kind] >= places - kept) return undefined;
    return [...this.#waiting.keys()].find((source) => this.#classOf(source) === kind);
  }
}

/** What comes before others goes last. */
function lastOf(queue: readonly Waiting[]): Waiting {
  return queue.findLast(({ first }) => !first) ?? queue.at(-1)!;
}
