/** Asks the person at the terminal one thing. */
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { escapeLine } from "../escape.ts";

/**
 * The line that was typed; empty where the input ended instead. The terminal stays as it is, so that Ctrl-C is the
 * process's own signal.
 */
export async function ask(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  signal: AbortSignal,
): Promise<string> {
  const lines = createInterface({ input, output, terminal: false });
  try {
    const ended = once(lines, "close", { signal }).then(() => "");
    return await Promise.race([lines.question(escapeLine(question), { signal }), ended]);
  } finally {
    lines.close();
  }
}
