/** The one place that swallows lost races: bounded, cancellable, and silent only about compare-and-swap. */
import { setTimeout as sleep } from "node:timers/promises";
import { DatastoreError, type DatastoreErrorCode } from "../datastore/datastore.ts";
import { IpamError, TransientError } from "./errors.ts";

/** Calico's bound for every compare-and-swap loop. */
export const MAX_ATTEMPTS = 100;
const IMMEDIATE_ATTEMPTS = 3;
const MAX_PAUSE_MS = 50;

/** What an attempt can end in because someone else wrote first. */
export type LostRace = DatastoreErrorCode | TransientError["code"];

export interface RetryOptions {
  /** What is being done, for the error when every attempt was lost. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
  /** Codes that mean "someone else wrote first". */
  readonly lost?: readonly LostRace[];
  /** Waits between attempts; injected by tests. */
  readonly pause?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<unknown>;
}

const defaultPause = (milliseconds: number, signal: AbortSignal | undefined) =>
  sleep(milliseconds, undefined, { signal });

/**
 * Runs `attempt` until it wins its race; any other error leaves at once, as it is.
 * @throws IpamError MaxRetries after {@link MAX_ATTEMPTS} lost races; the signal's reason when aborted
 */
export async function retryLostRaces<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { what, signal, lost = ["Conflict"], pause = defaultPause } = options;
  let last: unknown;
  for (let count = 1; count <= MAX_ATTEMPTS; count++) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!isLostRace(error, lost)) throw error;
      last = error;
    }
    if (count >= IMMEDIATE_ATTEMPTS && count < MAX_ATTEMPTS) await pauseUnlessAborted(pause, count, signal);
  }
  const details = [`${what}: another writer was first ${MAX_ATTEMPTS} times; try again when there are fewer at once`];
  throw new IpamError("MaxRetries", "Max retries hit - excessive concurrent IPAM requests", { details, cause: last });
}

function isLostRace(error: unknown, lost: readonly LostRace[]): boolean {
  return (error instanceof DatastoreError || error instanceof TransientError) && lost.includes(error.code);
}

/** Full jitter below a bound that grows with the attempts; an abort ends it with the signal's own reason. */
async function pauseUnlessAborted(
  pause: NonNullable<RetryOptions["pause"]>,
  count: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await pause(Math.random() * Math.min(MAX_PAUSE_MS, count * 2), signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
