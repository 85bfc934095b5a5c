/** Helm: the installed one, or one built from its Go module. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureGoPrograms } from "./go-build.ts";

const run = promisify(execFile);

/** As in helm/go.mod. */
export const helmVersion = "v4.2.4";

const build = {
  name: "helm",
  programs: [{ name: "helm", module: join(import.meta.dirname, "helm"), package: "helm.sh/helm/v4/cmd/helm" }],
  ldflags: [`-X helm.sh/helm/v4/internal/version.version=${helmVersion}`],
  takes: "about two minutes on two cores",
  instead: "install helm 3 or 4",
} as const;

/**
 * The path of a helm to call: `HELM` when set, else the one on the PATH when it is Helm 3 or 4, else one built into the
 * cache, which it says on stderr.
 */
export async function ensureHelm(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  if (env["HELM"]) return env["HELM"];
  if (await isInstalled(env)) return "helm";
  return join(await ensureGoPrograms(build, env), "helm");
}

async function isInstalled(env: NodeJS.ProcessEnv): Promise<boolean> {
  const version = await run("helm", ["version", "--short"], { env }).catch(() => undefined);
  return /^v[34]\./.test(version?.stdout ?? "");
}
