/** The TypeScript examples of a page, run as they stand there, each in a process of its own. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");

/** The blocks marked `ts`, in the order of the page. */
export function examplesOf(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
}

/** What an example prints, a line each. The package's name stands for the checkout's sources. */
export async function linesOf(example: string, env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), "ipam-example-"));
  try {
    const file = join(dir, "example.mts");
    writeFileSync(file, example.replace('"ipam-operator"', JSON.stringify(join(root, "src/index.ts"))));
    const options = { env: { PATH: process.env["PATH"], NO_COLOR: "1", ...env }, timeout: 150_000 };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], options);
    if (stderr !== "") throw new Error(stderr);
    return stdout.trimEnd().split("\n");
  } finally {
    rmSync(dir, { recursive: true });
  }
}
