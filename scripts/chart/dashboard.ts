/** The Grafana dashboard: one panel a line; files/dashboard.json is made from it. */

/** Title, unit as Grafana names it, and queries by their legend; OURS stands for the matchers of the chosen operator. */
type Panel = readonly [title: string, unit: string, queries: Readonly<Record<string, string>>];

const quantile = (metric: string, by: string) =>
  `histogram_quantile(0.99, sum by (le, ${by}) (rate(${metric}_bucket{OURS}[$__rate_interval])))`;
const rate = (metric: string, by: string) => `sum by (${by}) (rate(${metric}{OURS}[$__rate_interval]))`;

export const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Reconciliation: [
    [
      "Reconciliations by result",
      "ops",
      { "{{controller}} {{result}}": rate("controller_runtime_reconcile_total", "controller, result") },
    ],
    [
      "Reconciliation time, 99 %",
      "s",
      { "{{controller}}": quantile("controller_runtime_reconcile_time_seconds", "controller") },
    ],
    [
      "Errors",
      "ops",
      {
        "{{controller}} errors": rate("controller_runtime_reconcile_errors_total", "controller"),
        "{{controller}} not retried": rate("controller_runtime_terminal_reconcile_errors_total", "controller"),
        "{{controller}} timeouts": rate("controller_runtime_reconcile_timeouts_total", "controller"),
        "{{controller}} panics": rate("controller_runtime_reconcile_panics_total", "controller"),
        "background task {{task}}": rate("ipam_operator_background_task_failures_total", "task"),
      },
    ],
    ["Leader", "bool", { "{{pod}}": "leader_election_master_status{OURS}" }],
  ],
  "Work queues": [
    ["Depth", "short", { "{{name}}": "sum by (name) (workqueue_depth{OURS})" }],
    ["Wait in the queue, 99 %", "s", { "{{name}}": quantile("workqueue_queue_duration_seconds", "name") }],
    ["Longest running work", "s", { "{{name}}": "max by (name) (workqueue_longest_running_processor_seconds{OURS})" }],
    ["Retries", "ops", { "{{name}}": rate("workqueue_retries_total", "name") }],
  ],
  "API server and process": [
    ["Requests by code", "reqps", { "{{method}} {{code}}": rate("rest_client_requests_total", "method, code") }],
    [
      "Memory",
      "bytes",
      { "{{pod}} resident": "process_resident_memory_bytes{OURS}", "{{pod}} heap": "process_heap_bytes{OURS}" },
    ],
    ["CPU", "percentunit", { "{{pod}}": "rate(process_cpu_seconds_total{OURS}[$__rate_interval])" }],
    ["Open files", "short", { "{{pod}}": "process_open_fds{OURS}" }],
  ],
};

const OURS = 'namespace="$namespace", job="ipam-operator"';
const datasource = { type: "prometheus", uid: "$" + "{datasource}" };
const WIDTH = 6;
const HEIGHT = 8;

/** files/dashboard.json */
export function dashboardFile(): string {
  const dashboard = {
    uid: "ipam-operator",
    title: "ipam-operator",
    tags: ["ipam-operator"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: variables() },
    panels: Object.entries(ROWS).flatMap(([title, panels], row) => rowOf(title, panels, row)),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

const variables = () => [
  { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
  {
    name: "namespace",
    label: "Namespace",
    type: "query",
    datasource,
    query: 'label_values(leader_election_master_status{job="ipam-operator"}, namespace)',
    refresh: 2,
  },
];

function rowOf(title: string, panels: readonly Panel[], row: number): object[] {
  const y = row * (HEIGHT + 1);
  const id = row * 10 + 1;
  const header = { id, type: "row", title, collapsed: false, panels: [], gridPos: { x: 0, y, w: 24, h: 1 } };
  return [header, ...panels.map((panel, index) => panelOf(panel, id + 1 + index, { x: index * WIDTH, y: y + 1 }))];
}

function panelOf([title, unit, queries]: Panel, id: number, place: { readonly x: number; readonly y: number }): object {
  return {
    id,
    type: "timeseries",
    title,
    datasource,
    gridPos: { ...place, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      legendFormat,
      expr: expr.replaceAll("OURS", OURS),
    })),
  };
}
