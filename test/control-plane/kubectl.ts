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

export interface Kubectl {
  /** Never throws for a non-zero exit code. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>;
  /** As `kubectl`, but throws with what kubectl said when it fails; returns stdout. */
  kubectlOk(args: readonly string[], options?: KubectlOptions): Promise<string>;
}

/** kubectl at `program` with `home` as its home folder and the kubeconfig that `kubeconfigOf` gives for a token. */
export function kubectlFor(program: string, home: string, kubeconfigOf: (token?: string) => string): Kubectl {
  const kubectl: Kubectl["kubectl"] = (args, { token, input = "" } = {}) => {
    const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: kubeconfigOf(token) };
    return run(program, args, env, input);
  };
  const kubectlOk: Kubectl["kubectlOk"] = async (args, options) => {
    const { code, stdout, stderr } = await kubectl(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${stderr || stdout}`);
    return stdout;
  };
  return { kubectl, kubectlOk };
}

async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input: string,
): Promise<KubectlResult> {
  const child = spawn(program, args, { env });
  child.stdin.on("error", () => undefined); // kubectl may end without reading its input
  child.stdin.end(input);
  const exit = new Promise<number>((resolve, reject) => {
    child.on("error", reject).on("close", (code) => resolve(code ?? 1));
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { code, stdout, stderr };
}
