/** Helm as a child process, kept away from the caller's own configuration, plugins and clusters. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { vi } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import type { OperatorValues } from "../../scripts/chart/values.ts";
import { ensureHelm } from "../tools/helm.ts";

// A test here starts tens of processes; on a machine that is busy each takes seconds.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
// Here, and not in a test, where the minutes that building it may take would count against the test's time.
const helm4 = await ensureHelm();
const charts = join(import.meta.dirname, "../../helm");
export const OPERATOR_CHART = join(charts, "ipam-operator");
export const CRDS_CHART = join(charts, "ipam-operator-crds");
/** Release and namespace of the tests, as in docs/install.md. */
export const RELEASE = "ipam-operator";

export interface HelmResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Values as a user's file has them; anything goes, so that wrong ones can be given too. */
export type Values = OperatorValues | Readonly<Record<string, unknown>>;

export interface HelmOptions {
  /** Given as a values file. */
  readonly values?: Values;
  /** The cluster; without it Helm sees none. */
  readonly kubeconfig?: string;
  /** Another Helm than the one of the tests. */
  readonly program?: string;
}

/** Never throws for a non-zero exit code. */
export async function helm(args: readonly string[], options: HelmOptions = {}): Promise<HelmResult> {
  const { values, kubeconfig } = options;
  const home = mkdtempSync(join(tmpdir(), "helm-home-"));
  const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: kubeconfig ?? join(home, "none") };
  try {
    const all = [...args, ...(values === undefined ? [] : ["--values", "-"])];
    return await run(options.program ?? helm4, all, env, values === undefined ? "" : stringify(values));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** As `helm`, but throws with what Helm said when it fails; returns stdout. */
export async function helmOk(args: readonly string[], options?: HelmOptions): Promise<string> {
  const { code, stdout, stderr } = await helm(args, options);
  if (code !== 0) throw new Error(`helm ${args.join(" ")} ended with ${code}: ${stderr || stdout}`);
  return stdout;
}

async function run(
  path: string,
  args: readonly string[],
  env: Record<string, string | undefined>,
  input: string,
): Promise<HelmResult> {
  const child = spawn(path, args, { env });
  child.stdin.on("error", () => undefined); // helm may end without reading its input
  child.stdin.end(input);
  const exit = new Promise<number>((resolve, reject) => {
    child.on("error", reject).on("close", (code) => resolve(code ?? 1));
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { code, stdout, stderr };
}

/** A rendered object, as far as tests look into every one. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there, and fail where it is not
  readonly [field: string]: any;
}

/** For the version of Kubernetes that the other tests have: without a cluster a Helm assumes the one it was built for. */
const templateArgs = (chart: string) => ["template", RELEASE, chart, "--namespace", RELEASE, "--kube-version=1.36.0"];

/** `helm template`: the text. */
export const renderText = (chart: string, values: Values = {}, program?: string): Promise<string> =>
  helmOk(templateArgs(chart), { values, ...(program !== undefined && { program }) });

/** The objects of a manifest. */
export const objectsIn = (text: string): Rendered[] =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as Rendered | null) ?? []);

/** What `helm template` says when it refuses; throws when it does not. */
export async function refusal(chart: string, values: Values, program?: string): Promise<string> {
  const { code, stderr } = await helm(templateArgs(chart), { values, ...(program !== undefined && { program }) });
  if (code === 0) throw new Error(`helm template accepted ${JSON.stringify(values)}`);
  return stderr;
}

/** The one object of a kind (and name); throws where there is none or there are several. */
export function only(objects: readonly Rendered[], kind: string, name?: string): Rendered {
  const found = objects.filter((one) => one.kind === kind && (name === undefined || one.metadata.name === name));
  if (found.length !== 1) throw new Error(`expected one ${kind} ${name ?? ""}, found ${found.length}`);
  return found[0]!;
}

/** `Kind name` of each, sorted. */
export const namesOf = (objects: readonly Rendered[]): string[] =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
