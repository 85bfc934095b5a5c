/** The alerts, once each: the PrometheusRule and the table in the chart's README are made from them. */
import { stringify } from "yaml";
import { escaped, GENERATED } from "./template.ts";

export interface Alert {
  readonly name: string;
  /** PromQL; OURS stands for the label matchers of the release's series. */
  readonly expr: string;
  readonly for: string;
  readonly severity: "warning" | "critical";
  /** What it says, a sentence. */
  readonly summary: string;
  /** What to do, a sentence. */
  readonly action: string;
  /** Value that must be true for the alert to make sense. */
  readonly only?: string;
}

export const ALERTS: readonly Alert[] = [
  {
    name: "IpamOperatorDown",
    expr: "absent(up{OURS} == 1)",
    for: "10m",
    severity: "warning",
    summary: "No pod of ipam-operator can be scraped; the IPAM configuration stays as it is and is not kept.",
    action: "See `kubectl describe` and the log of its pods; `/readyz` says what is missing.",
  },
  {
    name: "IpamOperatorNoLeader",
    expr: "sum(leader_election_master_status{OURS}) == 0",
    for: "5m",
    severity: "warning",
    summary: "No pod of ipam-operator holds the lease, so nothing is reconciled.",
    action:
      "Look for 403 or conflicts about the Lease in the log; its Role must allow get, list, watch, create, update.",
    only: "leaderElection.enabled",
  },
  {
    name: "IpamOperatorReconcileErrors",
    expr: "sum by (controller) (rate(controller_runtime_reconcile_errors_total{OURS}[10m])) > 0",
    for: "15m",
    severity: "warning",
    summary: "Reconciliations have been failing for a quarter of an hour.",
    action: "Read the Installation's conditions (`kubectl get ipaminst default -o wide`), then the log.",
  },
  {
    name: "IpamOperatorPanics",
    expr: "sum by (controller) (increase(controller_runtime_reconcile_panics_total{OURS}[1h])) > 0",
    for: "0m",
    severity: "critical",
    summary: "A reconciliation ended in a programming error.",
    action: "Report it with the log line at level error.",
  },
  {
    name: "IpamOperatorBackgroundTaskFails",
    expr: "sum by (task) (increase(ipam_operator_background_task_failures_total{OURS}[1h])) > 0",
    for: "0m",
    severity: "warning",
    summary: "A background task of the operator failed unexpectedly and was started again.",
    action: "Report it with the log line at level error that names the task.",
  },
  {
    name: "IpamOperatorStuck",
    expr: "max by (controller) (workqueue_longest_running_processor_seconds{OURS}) > 180",
    for: "5m",
    severity: "critical",
    summary: "A reconciliation has run for minutes and does not end.",
    action: "Delete the pod; the other one takes over. Report it with the log.",
  },
  {
    name: "IpamOperatorApiErrors",
    expr:
      'sum(rate(rest_client_requests_total{OURS, code=~"5..|429|<error>"}[10m])) / ' +
      "sum(rate(rest_client_requests_total{OURS}[10m])) > 0.1",
    for: "15m",
    severity: "warning",
    summary: "More than a tenth of the requests to the API server fail.",
    action: "Look after the API server; the operator goes on by itself.",
  },
];

/** The release's series: what the Service of that name, in that namespace, yields. */
const OURS = 'namespace="{{ .Release.Namespace }}", job="ipam-operator"';

/** templates/prometheusrule.yaml */
export function alertsTemplate(): string {
  return `${GENERATED}{{- if .Values.metrics.prometheusRule.enabled }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: ipam-operator
  namespace: {{ .Release.Namespace | quote }}
  labels:
    {{- include "ipam-operator.labels" . | nindent 4 }}
    {{- with .Values.metrics.prometheusRule.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    - name: ipam-operator
      rules:
${ALERTS.map(ruleOf).join("")}{{- end }}
`;
}

function ruleOf(alert: Alert): string {
  const rule = {
    alert: alert.name,
    expr: alert.expr,
    for: alert.for,
    labels: { severity: alert.severity },
    annotations: { summary: alert.summary, description: `${alert.summary} ${alert.action}` },
  };
  const yaml = escaped(stringify([rule], { lineWidth: 0 })).replaceAll("OURS", OURS);
  const lines = yaml.replace(/^/gm, "        ").trimEnd();
  return alert.only ? `        {{- if .Values.${alert.only} }}\n${lines}\n        {{- end }}\n` : `${lines}\n`;
}
