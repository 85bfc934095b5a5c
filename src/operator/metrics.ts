/**
 * The operator's metrics: names and labels are controller-runtime's, verbatim, so that dashboards and alerts made for
 * any operator work. One table; docs/reference/metrics.md is generated from it.
 */
import { readdirSync } from "node:fs";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { escapeLine } from "../escape.ts";

interface MetricRow {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
  /** Read when scraped, for what the process knows anyway. */
  readonly read?: () => number;
}

// controller-runtime's bucket lists (pkg/internal/controller/metrics and pkg/metrics/workqueue).
const RECONCILE_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const QUEUE_SECONDS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];

export const RECONCILE_RESULTS = ["success", "error", "requeue", "requeue_after"] as const;
export type ReconcileOutcome = (typeof RECONCILE_RESULTS)[number];

const controller = ["controller"];
const queue = ["name", "controller"];

/** Every metric the operator exposes, in the order it exposes them. */
export const METRICS = [
  counter("controller_runtime_reconcile_total", "Reconciliations per controller, by result.", ["controller", "result"]),
  counter("controller_runtime_reconcile_errors_total", "Reconciliations that ended in an error.", controller),
  counter(
    "controller_runtime_terminal_reconcile_errors_total",
    "Errors that trying again cannot mend; not retried until the next change.",
    controller,
  ),
  counter(
    "controller_runtime_reconcile_panics_total",
    "Reconciliations that ended in a programming error.",
    controller,
  ),
  counter("controller_runtime_reconcile_timeouts_total", "Reconciliations cut off at their time limit.", controller),
  histogram(
    "controller_runtime_reconcile_time_seconds",
    "Duration of a reconciliation.",
    controller,
    RECONCILE_SECONDS,
  ),
  gauge("controller_runtime_max_concurrent_reconciles", "Most reconciliations at once.", controller),
  gauge("controller_runtime_active_workers", "Reconciliations running now.", controller),
  gauge("workqueue_depth", "Keys waiting in the queue.", [...queue, "priority"]),
  counter("workqueue_adds_total", "Keys added to the queue.", queue),
  histogram("workqueue_queue_duration_seconds", "How long a key waits before it is worked on.", queue, QUEUE_SECONDS),
  histogram("workqueue_work_duration_seconds", "How long working on a key takes.", queue, QUEUE_SECONDS),
  gauge("workqueue_unfinished_work_seconds", "Seconds spent so far on work that has not ended, summed.", queue),
  gauge("workqueue_longest_running_processor_seconds", "Seconds the longest running work has taken so far.", queue),
  counter("workqueue_retries_total", "Keys added again after a failure.", queue),
  counter("rest_client_requests_total", "Requests to the API server; code <error> where no answer came.", [
    "code",
    "method",
    "host",
  ]),
  counter(
    "ipam_operator_background_task_failures_total",
    "Failures that a background task does not handle itself; the task starts again. Each is a line at level error.",
    ["task"],
  ),
  gauge("leader_election_master_status", "1 while this process holds the lease, 0 while it stands by.", ["name"]),
  { ...counter("process_cpu_seconds_total", "CPU time the process has used.", []), read: cpuSeconds },
  { ...gauge("process_resident_memory_bytes", "Resident memory.", []), read: () => process.memoryUsage.rss() },
  { ...gauge("process_heap_bytes", "Heap in use.", []), read: () => process.memoryUsage().heapUsed },
  { ...gauge("process_open_fds", "Open file descriptors; -1 where the system does not say.", []), read: openFiles },
  { ...gauge("process_start_time_seconds", "When the process started, seconds since 1970.", []), read: startTime },
] as const satisfies readonly MetricRow[];

function counter<N extends string>(name: N, help: string, labels: readonly string[]) {
  return { name, type: "counter", help, labels } as const;
}
function gauge<N extends string>(name: N, help: string, labels: readonly string[]) {
  return { name, type: "gauge", help, labels } as const;
}
function histogram<N extends string>(name: N, help: string, labels: readonly string[], buckets: readonly number[]) {
  return { name, type: "histogram", help, labels, buckets } as const;
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
function startTime(): number {
  return Math.round(Date.now() / 1000 - process.uptime());
}
function openFiles(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return -1;
  }
}

type Row = (typeof METRICS)[number];
type NamesOf<T extends Row["type"]> = Extract<Row, { type: T }>["name"];
type Labels = Readonly<Record<string, string>>;

/** Counts and measures. Names are checked by the compiler against the table. */
export interface Metrics {
  count(name: NamesOf<"counter">, labels: Labels, by?: number): void;
  set(name: NamesOf<"gauge">, labels: Labels, value: number): void;
  add(name: NamesOf<"gauge">, labels: Labels, by: number): void;
  observe(name: NamesOf<"histogram">, labels: Labels, seconds: number): void;
  /** Before each scrape, for gauges that follow from the clock. */
  beforeScrape(refresh: () => void): void;
  /** Prometheus text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** One registry per call, so that a test, or two operators in one process, never share counts. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const byName = new Map<string, Counter | Gauge | Histogram>();
  for (const row of METRICS) byName.set(row.name, metricOf(row, registry));
  const get = <M>(name: string): M => byName.get(name) as M;
  const refreshers: (() => void)[] = [];
  return {
    contentType: registry.contentType,
    count: (name, labels, by = 1) => get<Counter>(name).inc(escaped(labels), by),
    set: (name, labels, value) => get<Gauge>(name).set(escaped(labels), value),
    add: (name, labels, by) => get<Gauge>(name).inc(escaped(labels), by),
    observe: (name, labels, seconds) => get<Histogram>(name).observe(escaped(labels), seconds),
    beforeScrape: (refresh) => refreshers.push(refresh),
    text: () => {
      for (const refresh of refreshers) refresh();
      return registry.metrics();
    },
  };
}

function escaped(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, escapeLine(value)]));
}

function metricOf(row: MetricRow, registry: Registry): Counter | Gauge | Histogram {
  const common = { name: row.name, help: row.help, labelNames: [...row.labels], registers: [registry] };
  const { read } = row;
  if (row.type === "histogram") return new Histogram({ ...common, buckets: [...(row.buckets ?? [])] });
  if (row.type === "gauge") return new Gauge({ ...common, ...(read && { collect: collectGauge(read) }) });
  return new Counter({ ...common, ...(read && { collect: collectCounter(read) }) });
}

function collectGauge(read: () => number) {
  return function (this: Gauge): void {
    this.set(read());
  };
}
function collectCounter(read: () => number) {
  return function (this: Counter): void {
    this.reset();
    this.inc(read());
  };
}

/** Every series of one controller and its queue, at zero: a rate() over an absent series would hide the first error. */
export function zeroController(metrics: Metrics, name: string, concurrency: number): void {
  const labels = { controller: name };
  for (const result of RECONCILE_RESULTS) metrics.count("controller_runtime_reconcile_total", { ...labels, result }, 0);
  metrics.count("controller_runtime_reconcile_errors_total", labels, 0);
  metrics.count("controller_runtime_terminal_reconcile_errors_total", labels, 0);
  metrics.count("controller_runtime_reconcile_panics_total", labels, 0);
  metrics.count("controller_runtime_reconcile_timeouts_total", labels, 0);
  metrics.set("controller_runtime_max_concurrent_reconciles", labels, concurrency);
  metrics.set("controller_runtime_active_workers", labels, 0);
  const queueLabels = { name, controller: name };
  metrics.set("workqueue_depth", { ...queueLabels, priority: "" }, 0);
  metrics.count("workqueue_adds_total", queueLabels, 0);
  metrics.count("workqueue_retries_total", queueLabels, 0);
  metrics.set("workqueue_unfinished_work_seconds", queueLabels, 0);
  metrics.set("workqueue_longest_running_processor_seconds", queueLabels, 0);
}

/** The reference page of this table, by path. */
export function generateMetricsReference(): Map<string, string> {
  const rows = METRICS.map(
    ({ name, type, labels, help }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ") || "–"} | ${help} |`,
  );
  const page = [
    "# Metrics",
    "",
    "Generated from `src/operator/metrics.ts`; change it there.",
    "",
    "Served as Prometheus text on `--metrics-bind-address` (default `:8080`), path `/metrics`. Names and labels are those",
    "of controller-runtime, so dashboards and alerts made for other operators work unchanged.",
    "",
    "| metric | type | labels | meaning |",
    "|---|---|---|---|",
    ...rows,
    "",
  ];
  return new Map([["docs/reference/metrics.md", page.join("\n")]]);
}
