/** Programs that are run to their end, here and in namespaces of their own. */
import { type SpawnOptions, spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Fed to standard input: text, a stream, or the content of a file. */
  readonly input?: string | Readable | { readonly file: string };
  /** Milliseconds after which it is killed. */
  readonly timeout?: number;
}

/** Runs a program to its end and returns what it printed; a failure is an error that ends with what it said. */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { env = process.env, cwd, timeout } = options;
  const child = spawn(program, args, { env, cwd, timeout, stdio: ["pipe", "pipe", "pipe"] } as SpawnOptions);
  const exit = new Promise<string | number>((resolve, reject) => {
    child.on("error", reject).on("close", (code, signal) => resolve(signal ?? code ?? 1));
  });
  child.stdin!.on("error", () => undefined); // it may end without reading its input
  readableOf(options.input).pipe(child.stdin!);
  const [stdout, stderr, status] = await Promise.all([text(child.stdout!), text(child.stderr!), exit]);
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${lastLines(stderr + stdout)}`);
  return stdout;
}

function readableOf(input: RunOptions["input"] = ""): Readable {
  if (typeof input === "string") return Readable.from([input]);
  return "file" in input ? createReadStream(input.file) : input;
}

const lastLines = (output: string) => output.trimEnd().split("\n").slice(-30).join("\n");

/** Runs a program whose mounts and processes go with it, however it ends. */
export function runIsolated(program: string, args: readonly string[], options?: RunOptions): Promise<string> {
  return run("unshare", [...namespaces, program, ...args], options);
}

/** For unshare: the first process is killed when unshare is, and with it all others. */
export const namespaces = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
