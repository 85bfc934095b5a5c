/** Entry of `ipamctl` and `kubectl ipam`: streams, signals and the exit code. */
import { basename } from "node:path";
import { escapeLine } from "../escape.ts";
import { runProgram } from "./program.ts";
import type { Io } from "./session.ts";
import { EXIT } from "./verb.ts";

/** kubectl finds its plugins by their name. */
const program = basename(process.argv[1] ?? "").startsWith("kubectl-ipam") ? "kubectl ipam" : "ipamctl";
const stop = new AbortController();

/** The first Ctrl-C stops cleanly; whoever asks again does not want to wait. */
function interrupt(): void {
  if (stop.signal.aborted) process.exit(EXIT.interrupted);
  stop.abort(new Error("interrupted"));
}
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);
// Whoever reads our output may have seen enough: `ipamctl show | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`${program}: the answer cannot be written: ${escapeLine(error.message)}\n`, () =>
    process.exit(EXIT.error),
  );
});
// Nobody hears what goes wrong with saying something.
process.stderr.on("error", () => {});

const { stdout, stderr, env } = process;
/** Its code is loaded when there is something to ask. */
async function ask(question: string): Promise<string> {
  const terminal = await import("./terminal.ts");
  return terminal.ask(question, process.stdin, stderr, stop.signal);
}
const io: Io = {
  stdout,
  stderr,
  env,
  now: () => new Date(),
  signal: stop.signal,
  // Opening it takes longer than all that `--help` does.
  get ask() {
    return process.stdin.isTTY ? ask : undefined;
  },
};
process.exitCode = await runProgram(process.argv.slice(2), io, program);
