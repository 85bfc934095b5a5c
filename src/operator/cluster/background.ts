/** Work that nobody awaits: what fails is logged and tried again, and never ends the process. */
import type { Logger } from "pino";
import { type BackoffOptions, createBackoff, sleep } from "../../kube/backoff.ts";

export interface BackgroundOptions {
  readonly log: Logger;
  /** Nothing is tried again after it. */
  readonly signal: AbortSignal;
  readonly backoff: BackoffOptions;
}

/** Starts work at once. `what` follows "Failed to"; of two calls of the same only the later one is tried again. */
export type RunInBackground = (what: string, work: () => void | Promise<void>) => void;

export function createBackground({ log, signal, backoff }: BackgroundOptions): RunInBackground {
  const latest = new Map<string, symbol>();
  const run = async (what: string, work: () => void | Promise<void>, id: symbol): Promise<void> => {
    const { next } = createBackoff(backoff);
    do {
      try {
        await work();
        break;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, `Failed to ${what}, trying again`);
      }
      await sleep(next(), signal);
    } while (latest.get(what) === id && !signal.aborted);
    if (latest.get(what) === id) latest.delete(what);
  };
  return (what, work) => {
    const id = Symbol(what);
    latest.set(what, id);
    void run(what, work, id);
  };
}
