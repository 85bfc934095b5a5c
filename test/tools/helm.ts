/** Helm: the installed one, or one built from its Go module. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureGoPrograms } from "./go-build.ts";

const run = promisify(execFile);

/** As in helm/go.mod. */
export const helmVersion = "v4.2.4";
export const helm3Version = "v3.21.4";

const module = join(import.meta.dirname, "helm");
const build = {
  name: "helm",
  programs: [{ name: "helm", module, package: "helm.sh/helm/v4/cmd/helm" }],
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

/** Of one module with Helm 4, so that they share what is compiled for both. */
const build3 = {
  name: "helm3",
  programs: [{ name: "helm3", module, package: "helm.sh/helm/v3/cmd/helm" }],
  ldflags: [`-X helm.sh/helm/v3/internal/version.version=${helm3Version}`],
  takes: "half a minute when Helm 4 was built before, two minutes when not",
  instead: "leave these tests out",
} as const;

/** The path of a Helm 3, built into the cache like Helm 4. */
export async function ensureHelm3(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  return join(await ensureGoPrograms(build3, env), "helm3");
}

async function isInstalled(env: NodeJS.ProcessEnv): Promise<boolean> {
  const version = await run("helm", ["version", "--short"], { env }).catch(() => undefined);
  return /^v[34]\./.test(version?.stdout ?? "");
}
