import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { createBackground, logTaskFailure, runTask, startTask, type TaskFailure } from "./background.ts";

const backoff = { baseMs: 1, maxMs: 4 };

function owner() {
  const stop = new AbortController();
  const failures: TaskFailure[] = [];
  const options = {
    task: "events",
    what: "write events",
    signal: stop.signal,
    backoff,
    onFailure: (failure: TaskFailure) => {
      failures.push(failure);
    },
  } as const;
  return { stop, failures, options };
}
/** Fails so many times, in both ways that a function can. */
function failing(times: number) {
  return vi.fn(() => {
    if (times-- <= 0) return Promise.resolve();
    const error = new Error(`failure ${times}`);
    if (times % 2 === 0) throw error;
    return Promise.reject(error);
  });
}

test("a task that fails is reported and starts again until it ends by itself", async () => {
  const { failures, options } = owner();
  const work = failing(3);
  await runTask(options, work);
  expect(work).toHaveBeenCalledTimes(4);
  expect(failures.map(({ what, error }) => `${what}: ${(error as Error).message}`)).toEqual(
    [2, 1, 0].map((left) => `write events: failure ${left}`),
  );
});

test("a report that fails does not end the task", async () => {
  const { options } = owner();
  const onFailure = vi.fn(() => {
    throw new Error("no space left on device");
  });
  const work = failing(2);
  await runTask({ ...options, onFailure }, work);
  expect(onFailure).toHaveBeenCalledTimes(2);
  expect(work).toHaveBeenCalledTimes(3);
});

test("after the stop nothing starts again, and a pause ends at once", async () => {
  const { stop, failures, options } = owner();
  const work = failing(2);
  const ended = runTask({ ...options, backoff: { baseMs: 3_600_000, maxMs: 3_600_000 } }, work);
  await vi.waitFor(() => expect(failures).toHaveLength(1));
  stop.abort();
  await ended;
  expect(work).toHaveBeenCalledTimes(1);
});

test("what fails because of the stop is no failure", async () => {
  const { stop, failures, options } = owner();
  await runTask(options, async () => {
    stop.abort();
    throw new Error("cut off");
  });
  expect(failures).toEqual([]);
});

test("pauses grow, and start from the shortest after a task has worked for a while", async () => {
  vi.useFakeTimers();
  try {
    const { stop, failures, options } = owner();
    const steps = [0, 0, 5000, 0];
    const work = async () => {
      const worksMs = steps.shift() ?? 0;
      if (worksMs > 0) await new Promise((resolve) => setTimeout(resolve, worksMs));
      throw new Error("x");
    };
    const pauses = { baseMs: 1000, maxMs: 4000, random: () => 0.999_999 };
    startTask({ ...options, backoff: pauses }, work);
    const at = async (milliseconds: number) => {
      await vi.advanceTimersByTimeAsync(milliseconds);
      return failures.length;
    };
    expect([await at(0), await at(1000), await at(2000), await at(5000), await at(1000)]).toEqual([1, 2, 2, 3, 4]);
    stop.abort();
  } finally {
    vi.useRealTimers();
  }
});

test("of two calls of one name only the later one is tried again", async () => {
  const { stop, failures, options } = owner();
  const run = createBackground({ ...options, backoff: { baseMs: 20, maxMs: 20 } });
  const [first, second] = [failing(1), failing(1)];
  run("look", first);
  run("look", second);
  await vi.waitFor(() => expect(second).toHaveBeenCalledTimes(2));
  expect(first).toHaveBeenCalledTimes(1);
  expect(failures).toHaveLength(2);
  stop.abort();
});

test("a line in the log names the task, the cause and what happens next", () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ errorKey: "error" }, { write: (line: string) => lines.push(JSON.parse(line)) });
  logTaskFailure(log)({ task: "leases", what: "lead", error: new TypeError("of undefined") });
  logTaskFailure(log)({ task: "metrics", what: "answer GET /metrics", error: "odd", next: "the client may ask again" });
  expect(lines).toEqual([
    expect.objectContaining({ level: 50, task: "leases", msg: "Failed to lead, trying again" }),
    expect.objectContaining({ err: "odd", msg: "Failed to answer GET /metrics, the client may ask again" }),
  ]);
  expect(lines[0]!["stacktrace"]).toContain("background.test.ts");
});
