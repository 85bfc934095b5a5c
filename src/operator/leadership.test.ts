import { describe, expect, test, vi } from "vitest";
import { electorCallbacks, serveTerm } from "./leadership.ts";
import { createLogger } from "./log.ts";
import type { Manager } from "./manager.ts";
import { createMetrics } from "./metrics.ts";

const log = createLogger({ level: "error", encoding: "json", sink: { write: () => {} } });

function setUp(stopping: Promise<void> = Promise.resolve()) {
  const calls: string[] = [];
  const manager: Manager = {
    register: () => () => {},
    start: () => calls.push("start"),
    stop: (how) => {
      calls.push(how);
      return stopping;
    },
  };
  const metrics = createMetrics();
  const stop = new AbortController();
  const term = new AbortController();
  const exit = vi.fn();
  const options = { manager, metrics, log, stop: stop.signal, graceMs: 20, exit };
  const leading = async () =>
    /^leader_election_master_status\{name="ipam-operator"\} (\d)$/m.exec(await metrics.text())?.[1];
  return { calls, options, stop, term, exit, leading };
}

describe("a term", () => {
  test("cuts the controllers off when the lease is lost", async () => {
    const { calls, options, term, exit, leading } = setUp();
    electorCallbacks(options);
    expect(await leading()).toBe("0");
    const served = serveTerm(term.signal, options);
    expect(await leading()).toBe("1");
    term.abort();
    await served;
    expect(calls).toEqual(["start", "cut"]);
    expect(await leading()).toBe("0");
    expect(exit).not.toHaveBeenCalled();
  });

  test("drains them when the process was asked to stop", async () => {
    const { calls, options, stop, term } = setUp();
    const served = serveTerm(term.signal, options);
    stop.abort();
    term.abort();
    await served;
    expect(calls).toEqual(["start", "drain"]);
  });

  test("ends the process when they do not stop", async () => {
    const { options, term, exit } = setUp(new Promise(() => {}));
    term.abort();
    await serveTerm(term.signal, options);
    expect(exit).toHaveBeenCalledWith(1);
  });
});
