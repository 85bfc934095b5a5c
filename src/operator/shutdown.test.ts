import { afterEach, expect, test, vi } from "vitest";
import { createLogger } from "./log.ts";
import { endsWithin, stopOnSignals } from "./shutdown.ts";

const log = createLogger({ level: "error", encoding: "json", sink: { write: () => {} } });
const before = { SIGTERM: process.listeners("SIGTERM"), SIGINT: process.listeners("SIGINT") };
afterEach(() => {
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    for (const listener of process.listeners(name)) {
      if (!before[name].includes(listener)) process.off(name, listener);
    }
  }
});

test("the first signal asks to stop, the second ends the process with the signal's code", () => {
  const exit = vi.fn();
  const stop = stopOnSignals(log, 60_000, exit);
  process.emit("SIGTERM");
  expect(stop.aborted).toBe(true);
  expect(exit).not.toHaveBeenCalled();
  process.emit("SIGINT");
  expect(exit).toHaveBeenCalledWith(130);
});

test("endsWithin tells whether the task ended in time, however it ended", async () => {
  expect(await endsWithin(1000, Promise.resolve(), log)).toBe(true);
  expect(await endsWithin(1000, Promise.reject(new Error("x")), log)).toBe(true);
  expect(await endsWithin(5, new Promise(() => {}), log)).toBe(false);
});
