/** SIGTERM and SIGINT: the first asks for a clean stop, which has a time limit; the second ends the process at once. */
import type { Logger } from "pino";
import { errorText } from "./log.ts";

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** Aborts on the first signal. What has not ended `limitMs` later does not keep the process: it ends with code 1. */
export function stopOnSignals(log: Logger, limitMs: number, exit: (code: number) => void = process.exit): AbortSignal {
  const stop = new AbortController();
  const late = () => {
    try {
      log.error(`The clean stop took longer than ${limitMs / 1000} s; ending the process`);
    } finally {
      exit(1);
    }
  };
  for (const [name, code] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (stop.signal.aborted) return exit(code);
      log.info({ signal: name }, "Stopping: finishing what is under way; send the signal again to end at once");
      setTimeout(late, limitMs).unref();
      stop.abort(new Error(`${name} received`));
    });
  }
  return stop.signal;
}

/** Runs `task`; resolves to whether it ended within `limitMs`. A task that fails has ended. */
export async function endsWithin(limitMs: number, task: Promise<unknown>, log: Logger): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, limitMs, false);
  });
  const ended = task.then(
    () => true,
    (error: unknown) => {
      log.warn({ error: errorText(error) }, "Something failed while stopping");
      return true;
    },
  );
  const inTime = await Promise.race([ended, late]);
  clearTimeout(timer);
  return inTime;
}
