/**
 * Which value of the chart sets which flag of the operator. Type, default and description of such a value are the
 * flag's own, so that they stand once, in src/operator/options.ts.
 */
import { z } from "zod";
import { LOG_ENCODINGS, LOG_LEVELS } from "../../src/operator/log.ts";
import { FLAGS, type FlagRow, flagText, type OperatorOptions } from "../../src/operator/options.ts";

/** The value of each flag, `GROUP.NAME`; null: the chart sets the flag by other means, or it has no use in a pod. */
export const FLAG_VALUES = {
  kubeconfig: null,
  context: null,
  namespace: null,
  datastore: "operator.datastore",
  manifests: null,
  rbacSubjects: null,
  metricsBindAddress: null,
  metricsSecure: "metrics.secure",
  metricsCertDir: null,
  healthProbeBindAddress: null,
  inspectBindAddress: null,
  leaderElect: "leaderElection.enabled",
  leaderElectLeaseDuration: "leaderElection.leaseDuration",
  leaderElectRenewDeadline: "leaderElection.renewDeadline",
  leaderElectRetryPeriod: "leaderElection.retryPeriod",
  leaderElectReleaseOnCancel: "leaderElection.releaseOnCancel",
  concurrent: "operator.concurrent",
  resyncPeriod: "operator.resyncPeriod",
  reconcileTimeout: "operator.reconcileTimeout",
  gracefulShutdownTimeout: "operator.gracefulShutdownTimeout",
  kubeApiQps: "operator.kubeApiQps",
  kubeApiBurst: "operator.kubeApiBurst",
  watchIdleTimeout: "operator.watchIdleTimeout",
  discoveryPeriod: "operator.discoveryPeriod",
  featureGates: "operator.featureGates",
  logLevel: "logs.level",
  logEncoding: "logs.encoding",
} as const satisfies Record<keyof OperatorOptions, string | null>;

/** Flags whose row says less, or more, than a pod needs to know. */
const IN_A_POD: { readonly [name in keyof OperatorOptions]?: z.ZodType } = {
  datastore: z
    .enum(["auto", "v1", "v3"])
    .default("auto")
    .describe("Where Calico's data is: auto, v1 (crd.projectcalico.org) or v3 (projectcalico.org)."),
  metricsSecure: z
    .boolean()
    .default(true)
    .describe("Serve /metrics over HTTPS, to callers whose token may get /metrics. False: plain HTTP, to everybody."),
  logLevel: z.enum(LOG_LEVELS).default("info").describe("Least level that is logged."),
  logEncoding: z.enum(LOG_ENCODINGS).default("json").describe("Form of a log line."),
};

/** The values of one group that set a flag, by their name in the group. */
export function flagValues(group: string): Record<string, z.ZodType> {
  const placed = FLAGS.flatMap((row) => {
    const [where, name] = FLAG_VALUES[row.name]?.split(".") ?? [];
    return where === group && name !== undefined ? [[name, typeOf(row)] as const] : [];
  });
  return Object.fromEntries(placed);
}

const DURATION = /^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/;

function typeOf(row: FlagRow): z.ZodType {
  const known = IN_A_POD[row.name];
  if (known !== undefined) return known;
  const standard = row.default ?? "";
  const type = {
    TIME: () => z.string().regex(DURATION).default(standard),
    COUNT: () => z.int().min(1).max(999_999).default(Number(standard)),
    GATES: () => z.string().default(standard),
    "": () => z.boolean().default(standard === "true"),
  }[row.value ?? ""];
  if (type === undefined)
    throw new Error(`scripts/chart/flags.ts: --${row.name} takes ${row.value}: say its type there`);
  return type().describe(row.help);
}

/** Flags that the Deployment's template sets from a value that is not the flag's own. */
const SET_OTHERWISE: { readonly [name in keyof OperatorOptions]?: string } = {
  metricsBindAddress: "metrics.port",
  metricsCertDir: "metrics.certSecret",
  healthProbeBindAddress: "probes.port",
  rbacSubjects: "rbac.subjects",
};

/**
 * Templates: these values as arguments; the value that sets each flag, so that no argument sets it besides; and the
 * values that are times, by their names.
 */
export function flagsTemplate(): string {
  const set = FLAGS.flatMap((row) => {
    const path = FLAG_VALUES[row.name];
    return path === null ? [] : [{ row, path }];
  });
  const settingOf = ({ name }: FlagRow) => FLAG_VALUES[name] ?? SET_OTHERWISE[name];
  return [
    definition(
      "flags",
      set.map(({ row, path }) => argument(row, `.Values.${path}`)),
    ),
    definition(
      "flagValues",
      FLAGS.flatMap((row) => (settingOf(row) ? [`"${flagText(row.name)}": ${settingOf(row)}`] : [])),
    ),
    definition(
      "times",
      set.flatMap(({ row, path }) => (row.value === "TIME" ? [`"${path}": {{ .Values.${path} | quote }}`] : [])),
    ),
  ].join("\n");
}

const definition = (name: string, lines: readonly string[]) =>
  `{{- define "ipam-operator.${name}" -}}\n${lines.join("\n")}\n{{- end }}\n`;

/** Counts are cut to integers: Helm holds numbers as floats and prints a million as 1e+06. */
function argument(row: FlagRow, value: string): string {
  if (row.value === "COUNT") return `- ${flagText(row.name)}={{ ${value} | int }}`;
  if (row.value !== "GATES") return `- ${flagText(row.name)}={{ ${value} }}`;
  return `{{- with ${value} }}\n- {{ printf "${flagText(row.name)}=%s" . | quote }}\n{{- end }}`;
}
