/** kubectl as a child process, kept away from the caller's own configuration and cache. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlOptions {
  /** Fed to standard input. */
  readonly input?: string;
  /** Calls as the holder of this token instead of the admin. */
  readonly token?: string;
}

/** Runs `program` with a home folder of its own; never throws for a non-zero exit code. */
export async function runKubectl(
  program: string,
  args: readonly string[],
  { home, kubeconfig, input = "" }: { home: string; kubeconfig: string; input?: string | undefined },
): Promise<KubectlResult> {
  const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: kubeconfig };
  const child = spawn(program, args, { env, cwd: process.cwd() });
  child.stdin.on("error", () => undefined); // kubectl may end without reading its input
  child.stdin.end(input);
  const exit = new Promise<number>((resolve, reject) => {
    child.on("error", reject).on("close", (code) => resolve(code ?? 1));
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { code, stdout, stderr };
}
