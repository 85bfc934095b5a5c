import { afterEach, describe, expect, test, vi } from "vitest";
import { LostRace, type ReconcileContext, type ReconcileResult, type Reconciler, TerminalError } from "./controller.ts";
import { createLogger } from "./log.ts";
import { createManager, type Manager, type ManagerOptions } from "./manager.ts";
import { createMetrics } from "./metrics.ts";

type Step = (key: string, context: ReconcileContext) => ReconcileResult | Promise<ReconcileResult>;

const running: Manager[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((manager) => manager.stop("cut")));
});

function setUp(step: Step, overrides: Partial<ManagerOptions> = {}) {
  const lines: Record<string, unknown>[] = [];
  const metrics = createMetrics();
  const sink = { write: (line: string) => lines.push(JSON.parse(line)) };
  const manager = createManager({
    log: createLogger({ level: "debug", encoding: "json", sink }),
    metrics,
    concurrent: 2,
    resyncPeriodMs: 3_600_000,
    reconcileTimeoutMs: 10_000,
    queue: { baseMs: 1, maxMs: 5 },
    ...overrides,
  });
  running.push(manager);
  const seen: string[] = [];
  const reconciler: Reconciler = {
    name: "pool",
    group: "g.example",
    kind: "Pool",
    reconcile: async (key, context) => {
      seen.push(key);
      return step(key, context);
    },
  };
  const keys: string[] = [];
  const enqueue = manager.register(reconciler, () => keys);
  const value = async (series: string) => {
    const found = (await metrics.text()).split("\n").find((line) => line.startsWith(`${series} `));
    return found === undefined ? undefined : Number(found.slice(series.length));
  };
  return { manager, enqueue, keys, seen, lines, value };
}
const counter = (name: string, more = "") => `controller_runtime_${name}{controller="pool"${more}}`;
const result = (name: string) => counter("reconcile_total", `,result="${name}"`);

describe("a controller", () => {
  test("works only during a term, and begins it with every key", async () => {
    const { manager, enqueue, keys, seen } = setUp(() => ({}));
    keys.push("a", "b");
    enqueue("seen-while-standing-by");
    manager.start();
    enqueue("c");
    await vi.waitFor(() => expect(seen).toEqual(["a", "b", "c"]));
    await manager.stop("drain");
    enqueue("d");
    manager.start();
    await vi.waitFor(() => expect(seen).toEqual(["a", "b", "c", "a", "b"]));
  });

  test("retries a failure until it works, and counts both", async () => {
    let failures = 3;
    const { manager, enqueue, lines, value } = setUp(() => {
      if (failures-- > 0) throw new Error("not yet");
      return {};
    });
    manager.start();
    enqueue("a");
    await vi.waitFor(async () => expect(await value(result("success"))).toBe(1));
    expect(await value(result("error"))).toBe(3);
    expect(await value(counter("reconcile_errors_total"))).toBe(3);
    expect(await value(counter("reconcile_panics_total"))).toBe(0);
    expect(await value('workqueue_retries_total{name="pool",controller="pool"}')).toBe(3);
    expect(lines[0]).toMatchObject({
      controller: "pool",
      controllerGroup: "g.example",
      controllerKind: "Pool",
      name: "a",
    });
    expect(lines[0]).toMatchObject({
      level: "error",
      error: "not yet",
      reconcileID: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test("does not retry what trying again cannot mend, until the next change", async () => {
    const { manager, enqueue, seen, value } = setUp(() => {
      throw new TerminalError("field x is wrong");
    });
    manager.start();
    enqueue("a");
    await vi.waitFor(async () => expect(await value(counter("terminal_reconcile_errors_total"))).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(seen).toEqual(["a"]);
    enqueue("a");
    await vi.waitFor(() => expect(seen).toEqual(["a", "a"]));
  });

  test("tries a lost race again, and counts and logs no error", async () => {
    let calls = 0;
    const { manager, enqueue, seen, value, lines } = setUp(() => {
      if (++calls === 1) throw new LostRace("x was changed since revision 3, read it again");
      return {};
    });
    manager.start();
    enqueue("a");
    await vi.waitFor(() => expect(seen).toEqual(["a", "a"]));
    expect(await value(counter("reconcile_errors_total"))).toBe(0);
    expect(lines.filter(({ level }) => level !== "info")).toEqual([]);
  });

  test("counts a programming error as a panic, with its stack, and lives on", async () => {
    let calls = 0;
    const { manager, enqueue, lines, value } = setUp(() => {
      if (calls++ === 0) return (undefined as unknown as { boom(): ReconcileResult }).boom();
      return {};
    });
    manager.start();
    enqueue("a");
    await vi.waitFor(async () => expect(await value(result("success"))).toBe(1));
    expect(await value(counter("reconcile_panics_total"))).toBe(1);
    expect(lines[0]!["stacktrace"]).toContain("manager.test.ts");
  });

  test("comes back when it was told to", async () => {
    let calls = 0;
    const { manager, enqueue, seen, value } = setUp(() => (calls++ === 0 ? { requeueAfterMs: 5 } : {}));
    manager.start();
    enqueue("a");
    await vi.waitFor(() => expect(seen).toEqual(["a", "a"]));
    expect(await value(result("requeue_after"))).toBe(1);
  });

  test("cuts off what takes too long, and counts it", async () => {
    const { manager, enqueue, value } = setUp(
      (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      { reconcileTimeoutMs: 10, queue: { baseMs: 60_000 } },
    );
    manager.start();
    enqueue("a");
    await vi.waitFor(async () => expect(await value(counter("reconcile_timeouts_total"))).toBe(1));
  });

  test("looks at every key again each resync period", async () => {
    const { manager, keys, seen } = setUp(() => ({}), { resyncPeriodMs: 10 });
    keys.push("a");
    manager.start();
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(2));
  });

  test("shows unfinished work while it lasts", async () => {
    const gate = Promise.withResolvers<ReconcileResult>();
    const { manager, enqueue, value } = setUp(() => gate.promise);
    manager.start();
    enqueue("ns/a");
    await vi.waitFor(async () => expect(await value(counter("active_workers"))).toBe(1));
    expect(await value('workqueue_longest_running_processor_seconds{name="pool",controller="pool"}')).toBeGreaterThan(
      0,
    );
    gate.resolve({});
    await vi.waitFor(async () => expect(await value(counter("active_workers"))).toBe(0));
    expect(await value('workqueue_unfinished_work_seconds{name="pool",controller="pool"}')).toBe(0);
  });
});

describe("stopping", () => {
  test("drain lets work under way finish and starts no more", async () => {
    const gate = Promise.withResolvers<ReconcileResult>();
    const { manager, enqueue, seen, value } = setUp(() => gate.promise, { concurrent: 1 });
    manager.start();
    enqueue("a");
    enqueue("b");
    await vi.waitFor(() => expect(seen).toEqual(["a"]));
    const stopped = manager.stop("drain");
    expect(await Promise.race([stopped.then(() => "stopped"), new Promise((r) => setTimeout(r, 20, "waits"))])).toBe(
      "waits",
    );
    gate.resolve({});
    await stopped;
    expect(seen).toEqual(["a"]);
    expect(await value(result("success"))).toBe(1);
  });

  test("cut ends work under way without counting an error", async () => {
    const { manager, enqueue, seen, value } = setUp(
      (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    manager.start();
    enqueue("a");
    await vi.waitFor(() => expect(seen).toEqual(["a"]));
    await manager.stop("cut");
    expect(await value(result("error"))).toBe(0);
  });

  test("a term cannot begin twice", () => {
    const { manager } = setUp(() => ({}));
    manager.start();
    expect(() => manager.start()).toThrow("stop it first");
  });
});
