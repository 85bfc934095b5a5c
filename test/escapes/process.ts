/** Runs a program of ours and keeps every character that it writes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
export const OPERATOR = "src/main.ts";
export const IPAMCTL = "src/cli/main.ts";

export interface Told {
  readonly code: number | null;
  readonly text: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Asks the program to stop as soon as what it has written matches; it otherwise ends by itself. */
  readonly until?: RegExp;
}

/** Both streams, as one text. */
export async function run(program: string, args: readonly string[], { env, until }: RunOptions = {}): Promise<Told> {
  const child = spawn(process.execPath, [join(root, program), ...args], {
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (until?.test(text)) child.kill("SIGTERM");
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, text };
}
