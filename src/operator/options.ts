/**
 * The operator's flags. Each is also an environment variable (`--log-level` is IPAM_OPERATOR_LOG_LEVEL); the flag wins.
 * One table makes the command line, its help and docs/reference/operator-flags.md.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { escapeLine } from "../escape.ts";
import { VERSION } from "../version.ts";
import { misspeltVariables, VARIABLE_PREFIX } from "./environment.ts";
import { type FeatureGates, gatesText, parseFeatureGates } from "./feature-gates.ts";
import { LOG_ENCODINGS, LOG_LEVELS, type LogEncoding, type LogLevel } from "./log.ts";
import {
  type Off,
  oneOf,
  parseAddress,
  parseBoolean,
  parseCount,
  parseDuration,
  parseLoopback,
  parseText,
} from "./option-values.ts";
import type { BindAddress } from "./probes.ts";

/** Where the data is kept: chosen by the operator (`auto`), one of the two API groups, or a file of its own. */
export type DatastoreChoice = "auto" | "v1" | "v3" | { readonly embedded: string };

export interface OperatorOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly datastore: DatastoreChoice;
  readonly manifests: string;
  readonly rbacSubjects?: string;
  readonly metricsBindAddress: BindAddress | Off;
  /** HTTPS, and only for callers that the API server knows and allows. */
  readonly metricsSecure: boolean;
  /** Folder of tls.crt and tls.key for `metricsSecure`; absent: a certificate is made. */
  readonly metricsCertDir?: string;
  readonly healthProbeBindAddress: BindAddress | Off;
  readonly inspectBindAddress: BindAddress | Off;
  readonly leaderElect: boolean;
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly leaderElectReleaseOnCancel: boolean;
  readonly concurrent: number;
  readonly resyncPeriod: number;
  readonly reconcileTimeout: number;
  readonly gracefulShutdownTimeout: number;
  readonly kubeApiQps: number;
  readonly kubeApiBurst: number;
  readonly watchIdleTimeout: number;
  readonly discoveryPeriod: number;
  readonly featureGates?: FeatureGates;
  /** Undefined: warn with the embedded store, where the terminal is told in words, info on a cluster. */
  readonly logLevel?: LogLevel;
  /** Undefined: text on a terminal with the embedded store, JSON everywhere else. */
  readonly logEncoding?: LogEncoding;
}

export interface FlagRow {
  readonly name: keyof OperatorOptions;
  /** Placeholder of the value; flags without one are true or false. */
  readonly value?: string;
  /** As a person would write it; absent: none. */
  readonly default?: string;
  readonly parse?: (text: string) => unknown;
  readonly help: string;
}

/** Every flag but --help and --version, in the order of the help. */
export const FLAGS: readonly FlagRow[] = [
  flag("kubeconfig", "FILE", undefined, "Work on the cluster this file names. KUBECONFIG is not looked at."),
  flag("context", "NAME", undefined, "Context of the kubeconfig; its current one when absent."),
  flag("namespace", "NAME", undefined, "Namespace of the lease; the pod's own, or ipam-operator, when absent."),
  flag("datastore", "WHERE", "auto", "auto, v1 (crd.projectcalico.org), v3 or embedded:FILE.", parseDatastore),
  flag("manifests", "DIR", "examples", "Embedded store: folder of YAML files to read and watch."),
  flag("rbacSubjects", "FILE", undefined, "YAML file of who gets which of the product's roles."),
  flag("metricsBindAddress", "ADDRESS", ":8080", "Where /metrics is served; 0 serves none.", parseAddress),
  toggle("metricsSecure", false, "Serve /metrics over HTTPS, to callers whose token may get /metrics."),
  flag(
    "metricsCertDir",
    "DIR",
    undefined,
    "Folder of tls.crt and tls.key for --metrics-secure; self-signed if absent.",
  ),
  flag("healthProbeBindAddress", "ADDRESS", ":8081", "Where /healthz and /readyz are served; 0: none.", parseAddress),
  flag("inspectBindAddress", "ADDRESS", "0", "Node's inspector, on loopback only; 0: off.", parseLoopback),
  toggle("leaderElect", true, "Work only while holding the lease, so that replicas take turns."),
  flag("leaderElectLeaseDuration", "TIME", "15s", "How long others wait after the last renewal.", parseDuration),
  flag("leaderElectRenewDeadline", "TIME", "10s", "How long renewing is tried before giving up.", parseDuration),
  flag("leaderElectRetryPeriod", "TIME", "2s", "Time between two tries.", parseDuration),
  toggle("leaderElectReleaseOnCancel", true, "Give the lease back on a clean stop, for a fast hand-over."),
  flag("concurrent", "COUNT", "2", "Reconciliations at once, per controller.", parseCount),
  flag("resyncPeriod", "TIME", "10h", "Look at everything again this often: a safety net.", parseDuration),
  flag("reconcileTimeout", "TIME", "60s", "Longest one reconciliation may take.", parseDuration),
  flag("gracefulShutdownTimeout", "TIME", "25s", "Longest a clean stop may take.", parseDuration),
  flag("kubeApiQps", "COUNT", "50", "Requests per second to the API server, sustained.", parseCount),
  flag("kubeApiBurst", "COUNT", "100", "Requests to the API server in a burst.", parseCount),
  flag("watchIdleTimeout", "TIME", "90s", "Renew a watch that stays silent this long.", parseDuration),
  flag("discoveryPeriod", "TIME", "30s", "Look this often for an API that is not installed yet.", parseDuration),
  flag("featureGates", "GATES", undefined, `Name=true,Other=false; ${gatesText()}.`, featureGates),
  flag("logLevel", "LEVEL", undefined, `${LOG_LEVELS.join(", ")}; info, or warn if embedded.`, oneOf(LOG_LEVELS)),
  flag(
    "logEncoding",
    "FORM",
    undefined,
    "json or text; text if embedded or on a terminal, else json.",
    oneOf(LOG_ENCODINGS),
  ),
];

function flag(
  name: keyof OperatorOptions,
  value: string,
  standard: string | undefined,
  help: string,
  parse?: (text: string) => unknown,
): FlagRow {
  return { name, value, help, ...(standard !== undefined && { default: standard }), ...(parse && { parse }) };
}
function toggle(name: keyof OperatorOptions, standard: boolean, help: string): FlagRow {
  return { name, default: String(standard), help, parse: parseBoolean };
}

/** Why the command line cannot be used: one line for standard error. The process then exits with 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Text to print instead of running: the help or the version. */
export interface Printout {
  readonly print: string;
}

/** @throws UsageError naming the flag or variable, the value, and what would be right */
export function parseOptions(
  argv: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): OperatorOptions | Printout {
  let printed = "";
  const command = commandOf(env).configureOutput({ writeOut: (text) => (printed += text), writeErr: () => {} });
  try {
    command.parse([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { print: printed };
    throw new UsageError(`${error.message.replace(/^error: /, "").replaceAll("\n", " ")} See --help.`);
  }
  const [misspelt] = misspeltVariables(VARIABLES, env);
  if (misspelt !== undefined) throw new UsageError(misspelt);
  return checked(command.opts<OperatorOptions>());
}

function commandOf(env: NodeJS.ProcessEnv): Command {
  const command = new Command("ipam-operator")
    .description("Keeps a cluster's IPAM configuration as one Installation says.")
    .version(`ipam-operator ${VERSION} (node ${process.version})`, "--version", "Print the version.")
    .helpOption("--help", "Print this help.")
    .allowExcessArguments(false)
    .exitOverride();
  for (const row of FLAGS) command.addOption(optionOf(row, env));
  return command;
}

function optionOf(row: FlagRow, env: NodeJS.ProcessEnv): Option {
  const long = flagText(row.name);
  const option = new Option(row.value === undefined ? `${long} [true|false]` : `${long} <${row.value}>`, row.help);
  const parse = row.parse ?? parseText;
  option.argParser(parse);
  const variable = envName(row.name);
  const text = env[variable] || row.default;
  if (text !== undefined) option.default(parsedFrom(env[variable] ? variable : long, text, parse), escapeLine(text));
  return option;
}

function parsedFrom(source: string, text: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`${source} '${text}' is invalid. ${(error as Error).message}`);
  }
}

/** A retry may come later than its period by so much: a deadline below that would give up before it. */
const RETRY_JITTER = 1.2;

/** Rules between flags. */
function checked(options: OperatorOptions): OperatorOptions {
  const {
    leaderElectLeaseDuration: lease,
    leaderElectRenewDeadline: deadline,
    leaderElectRetryPeriod: retry,
  } = options;
  if (lease <= deadline || deadline <= retry * RETRY_JITTER) {
    throw new UsageError(
      "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, " +
        `and that longer than ${RETRY_JITTER} times --leader-elect-retry-period.`,
    );
  }
  if (options.context !== undefined && options.kubeconfig === undefined) {
    throw new UsageError("--context needs --kubeconfig.");
  }
  checkMetrics(options);
  if (typeof options.datastore === "object" && options.kubeconfig !== undefined) {
    throw new UsageError("--datastore embedded:FILE and --kubeconfig exclude each other: leave one out.");
  }
  return options;
}

function checkMetrics({ metricsSecure, metricsCertDir }: OperatorOptions): void {
  if (!metricsSecure && metricsCertDir !== undefined) {
    throw new UsageError("--metrics-cert-dir is only used with --metrics-secure: add that, or leave both out.");
  }
}

/** A flag as a person writes it: `--log-level`. */
export function flagText(name: keyof OperatorOptions): string {
  return `--${kebab(name)}`;
}
function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
/** The environment variable of a flag. */
function envName(name: string): string {
  return `${VARIABLE_PREFIX}${kebab(name).replaceAll("-", "_").toUpperCase()}`;
}

/** The variables of all flags. */
export const VARIABLES: readonly string[] = FLAGS.map(({ name }) => envName(name));

function parseDatastore(text: string): DatastoreChoice {
  if (text === "auto" || text === "v1" || text === "v3") return text;
  if (text.startsWith("embedded:") && text.length > "embedded:".length) return { embedded: text.slice(9) };
  throw new InvalidArgumentError("Give auto, v1, v3 or embedded:FILE.");
}

function featureGates(text: string): FeatureGates {
  try {
    return parseFeatureGates(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

/** The reference page of this table, by path. */
export function generateFlagsReference(): Map<string, string> {
  const rows = FLAGS.map(
    (row) => `| \`${flagText(row.name)}\` | \`${envName(row.name)}\` | ${row.default ?? "–"} | ${row.help} |`,
  );
  const page = [
    "# Flags of the operator",
    "",
    "Generated from `src/operator/options.ts`; change it there. The flag wins over the variable. Times, from 1ms to 500h, are",
    "written as Go writes them (`500ms`, `30s`, `1h30m`). A flag that cannot be used, or a variable that is nearly one of",
    "these, ends the process with exit code 2; of any other variable that begins with `IPAM_OPERATOR_` the log warns.",
    "",
    "| flag | variable | default | meaning |",
    "|---|---|---|---|",
    ...rows,
    "",
  ];
  return new Map([["docs/reference/operator-flags.md", page.join("\n")]]);
}
