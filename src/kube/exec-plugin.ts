/**
 * Credentials from a program named in the kubeconfig (client.authentication.k8s.io): run once for all who wait, and
 * again before what it gave expires.
 */
import { execFile } from "node:child_process";
import { fitsIntoHeader } from "./credential-files.ts";
import { LARGEST_CREDENTIAL, sizeText } from "./limits.ts";
import { KubeError } from "./types.ts";

/** `users[].user.exec` of a kubeconfig. */
export interface ExecSpec {
  readonly apiVersion?: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
}

export interface ExecCredential {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  readonly expirationTimestamp?: string;
}

export interface ExecPlugin {
  /** @throws KubeError Unauthorized that quotes the first line of the program's standard error */
  get(): Promise<ExecCredential>;
  /** Run the program anew on the next `get`. */
  renew(): void;
}

const TIMEOUT_MS = 60_000;
const EARLY_MS = 60_000;

/** Makes the plugin; the program runs on the first `get`. `cluster` is told to it where the kubeconfig asks for that. */
export function execPlugin(spec: ExecSpec, cluster: object): ExecPlugin {
  let credential: Promise<ExecCredential> | undefined;
  let running = false;
  let staleAt = Number.POSITIVE_INFINITY;
  const forget = () => {
    credential = undefined;
  };

  async function obtain(): Promise<ExecCredential> {
    running = true;
    try {
      const obtained = await run(spec, cluster);
      staleAt = staleTime(obtained, Date.now());
      return obtained;
    } catch (error) {
      forget();
      throw error;
    } finally {
      running = false;
    }
  }
  return {
    get: () => {
      if (!running && Date.now() >= staleAt) forget();
      credential ??= obtain();
      return credential;
    },
    renew: () => {
      if (!running) forget(); // many calls are refused together: the first renews for all
    },
  };
}

/** A minute before the end; for a short life at four fifths of it, so that the program does not run for every call. */
export function staleTime({ expirationTimestamp }: ExecCredential, now: number): number {
  if (expirationTimestamp === undefined) return Number.POSITIVE_INFINITY;
  const expiry = Date.parse(expirationTimestamp);
  return expiry - Math.min(EARLY_MS, (expiry - now) / 5);
}

async function run(spec: ExecSpec, cluster: object): Promise<ExecCredential> {
  const info = {
    apiVersion: spec.apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, ...(spec.provideClusterInfo && { cluster }) },
  };
  const own = Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value]));
  const env = { ...process.env, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(
    spec.command,
    spec.args ?? [],
    { env, timeout: TIMEOUT_MS, maxBuffer: LARGEST_CREDENTIAL },
    (error, stdout, stderr) => (error ? reject(failure(spec, error, stderr)) : resolve(stdout)),
  );
  return credentialOf(spec, await promise);
}

/** What the program printed holds secrets: nothing of it, nor a parser's excerpt, may get into a message. */
function credentialOf(spec: ExecSpec, stdout: string): ExecCredential {
  let printed: unknown;
  try {
    printed = JSON.parse(stdout);
  } catch {
    throw refuse(spec, "did not print JSON");
  }
  const { status } = Object(printed) as { readonly status?: unknown };
  const problem = credentialProblem(Object(status));
  if (problem !== undefined) throw refuse(spec, `printed ${problem}`);
  return status as ExecCredential;
}

const TEXTS = ["token", "clientCertificateData", "clientKeyData", "expirationTimestamp"] as const;

function credentialProblem(status: Readonly<Record<string, unknown>>): string | undefined {
  const wrong = TEXTS.find((field) => status[field] !== undefined && typeof status[field] !== "string");
  if (wrong !== undefined) return `a status.${wrong} that is not a text`;
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status as ExecCredential;
  if (!token && !clientCertificateData) return "neither a token nor a client certificate";
  if (token && !fitsIntoHeader(token)) return "a status.token that does not fit into a header";
  if (clientCertificateData && !clientKeyData) return "a client certificate without its key";
  const isTime = expirationTimestamp === undefined || !Number.isNaN(Date.parse(expirationTimestamp));
  return isTime ? undefined : "a status.expirationTimestamp that is not a time";
}

function failure(spec: ExecSpec, error: Error & { code?: unknown; killed?: boolean }, stderr: string): KubeError {
  const said = stderr.trim().split("\n")[0];
  const hint = spec.installHint?.trim().replace(/\s*\n\s*/g, " ");
  if (error.code === "ENOENT") return refuse(spec, `was not found${hint ? `: ${hint}` : ""}`);
  if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER")
    return refuse(spec, `printed more than ${sizeText(LARGEST_CREDENTIAL)}, the limit for its output`);
  if (error.killed) return refuse(spec, `did not end within ${TIMEOUT_MS / 1000} s`);
  return refuse(spec, `failed${said ? `: ${said}` : ` with exit code ${error.code}`}`);
}

function refuse(spec: ExecSpec, problem: string): KubeError {
  return new KubeError("Unauthorized", `credential plugin ${spec.command} ${problem}`);
}
