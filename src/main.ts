/** The operator's entry: reads the flags, says where it works and why, and runs until it is asked to stop. */
import { escapeLine, escapeText } from "./escape.ts";
import { strangeVariables } from "./operator/environment.ts";
import { createLogger, type LogEncoding } from "./operator/log.ts";
import { type OperatorOptions, parseOptions, UsageError, VARIABLES } from "./operator/options.ts";
import { choosePlace, kubeconfigHint, newStoreHint, type Place } from "./operator/place.ts";
import { createProcess, surviveUnownedRejections } from "./operator/process.ts";
import { stopOnSignals } from "./operator/shutdown.ts";
import { VERSION } from "./version.ts";

/** Usage errors, as `sysexits` and most tools have it. */
const USAGE = 2;

async function main(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv);
  if ("print" in options) {
    process.stdout.write(escapeText(options.print));
    return 0;
  }
  return run(options, choosePlace(options));
}

async function run(options: OperatorOptions, place: Place): Promise<number> {
  const level = options.logLevel ?? (place.kind === "embedded" ? "warn" : "info");
  const log = createLogger({ level, encoding: options.logEncoding ?? encodingFor(place) });
  for (const sentence of strangeVariables(VARIABLES, process.env)) log.warn(sentence);
  const operator = createProcess(options, log, stopOnSignals(log, options.gracefulShutdownTimeout));
  surviveUnownedRejections(operator);
  // Imported when it is needed: the embedded store works without the cluster's libraries, and the other way round.
  if (place.kind === "cluster") {
    const { runCluster } = await import("./operator/cluster/run.ts");
    return runCluster(place, operator);
  }
  process.stdout.write(greeting(place));
  const { runEmbedded } = await import("./operator/embedded.ts");
  return runEmbedded(place.path, operator);
}

/** A person reads a terminal, a machine everything else. */
function encodingFor(place: Place): LogEncoding {
  return place.kind === "embedded" || process.stderr.isTTY ? "text" : "json";
}

function greeting(place: Place & { kind: "embedded" }): string {
  const lines = [
    `ipam-operator ${VERSION}`,
    `Working on the embedded store ${place.path}, because ${place.why}.`,
    newStoreHint(place),
    kubeconfigHint(place),
  ];
  return `${lines
    .filter((line) => line !== undefined)
    .map(escapeLine)
    .join("\n")}\n\n`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const usage = error instanceof UsageError;
  process.stderr.write(`ipam-operator: ${escapeLine(error instanceof Error ? error.message : String(error))}\n`);
  // Whatever the failure left open must not keep the process: supervisors start it again once it has ended.
  process.exit(usage ? USAGE : 1);
}
