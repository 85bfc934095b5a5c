/** Who may read /metrics: callers that the API server knows by their token, and whose user may get that path. */
import { createHash } from "node:crypto";
import type { Logger } from "pino";
import type { KubeObject } from "../api/meta.ts";
import { escapeLine } from "../escape.ts";
import { isKubeError, type KubeClient, type ResourceType } from "../kube/types.ts";
import { errorText } from "./log.ts";
import type { MakeServer, Reply } from "./probes.ts";
import { openCertificate } from "./serving-certificate.ts";

/** @returns why the caller is not served; undefined: it is */
export type Admit = (authorization: string | undefined) => Promise<Reply | undefined>;

/** What `--metrics-secure` puts before /metrics. */
export interface ScrapeGuard {
  readonly makeServer: MakeServer;
  readonly admit: Admit;
}

/** @throws when `certDir` has no usable certificate */
export async function openScrapeGuard(client: KubeClient, certDir: string, log: Logger): Promise<ScrapeGuard> {
  return { makeServer: await openCertificate(certDir, log), admit: createMetricsAccess({ client, log }) };
}

export interface MetricsAccessOptions {
  readonly client: Pick<KubeClient, "create">;
  readonly log: Logger;
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number;
}

const KEEP_ALLOWED_MS = 60_000;
const KEEP_REFUSED_MS = 10_000;
/** So many tokens are remembered, and so many new ones looked at in ten seconds: a flood must not use up the API calls. */
const MOST_KEPT = 64;
const ASK_TIMEOUT_MS = 4_000;

interface Kept {
  readonly reply: Promise<Reply | undefined>;
  until: number;
}

/** Asks the API server about each token once, and remembers the answer for a while under the token's hash. */
export function createMetricsAccess(options: MetricsAccessOptions): Admit {
  const { now = () => performance.now() } = options;
  const kept = new Map<string, Kept>();
  const review = reviewer(options);
  return async (authorization) => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) return unauthorized("No bearer token. Send 'Authorization: Bearer TOKEN'.");
    const askedAt = now();
    for (const [key, { until }] of kept) if (until <= askedAt) kept.delete(key);
    const key = createHash("sha256").update(token).digest("base64");
    const known = kept.get(key);
    if (known !== undefined) return known.reply;
    if (kept.size >= MOST_KEPT) return line(429, "Too many different tokens at once; try again in 10 s.");
    const entry: Kept = { reply: review(token), until: askedAt + KEEP_REFUSED_MS };
    kept.set(key, entry);
    const reply = await entry.reply;
    if (reply === undefined) entry.until = askedAt + KEEP_ALLOWED_MS;
    return reply;
  };
}

/** Never rejects: without an answer nobody is served, and the reason is logged once. */
function reviewer({ client, log }: MetricsAccessOptions): (token: string) => Promise<Reply | undefined> {
  let told = "";
  return async (token) => {
    try {
      const refusal = await reviewToken(client, token);
      told = "";
      return refusal;
    } catch (error) {
      const text = errorText(error);
      if (text !== told) log.warn({ error }, `Cannot find out who may read /metrics.${remedy(error)}`);
      told = text;
      return line(503, "The API server could not be asked who may read /metrics; the operator's log says why.");
    }
  };
}

function remedy(error: unknown): string {
  return isKubeError(error, "Forbidden") ? " Apply the operator's role: kubectl apply -f rbac/operator.yaml" : "";
}

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

async function reviewToken(client: MetricsAccessOptions["client"], token: string): Promise<Reply | undefined> {
  const { authenticated, user } = await ask<{ authenticated?: boolean; user?: User }>(client, TOKEN_REVIEW, { token });
  if (authenticated !== true || user === undefined) {
    return unauthorized("The API server does not accept this token. Send a current one of this cluster.");
  }
  const { username = "", uid, groups, extra } = user;
  const nonResourceAttributes = { path: "/metrics", verb: "get" };
  const spec = { user: username, uid, groups, extra, nonResourceAttributes };
  const { allowed } = await ask<{ allowed?: boolean }>(client, SUBJECT_ACCESS_REVIEW, spec);
  if (allowed === true) return undefined;
  return line(
    403,
    `${username} may not read /metrics. Bind a ClusterRole to it with verb get on nonResourceURL /metrics.`,
  );
}

const TOKEN_REVIEW: ResourceType = {
  group: "authentication.k8s.io",
  version: "v1",
  plural: "tokenreviews",
  kind: "TokenReview",
};
const SUBJECT_ACCESS_REVIEW: ResourceType = {
  group: "authorization.k8s.io",
  version: "v1",
  plural: "subjectaccessreviews",
  kind: "SubjectAccessReview",
};

/** A review is answered, not stored; the API server wants it without a name. */
async function ask<Status>(
  client: MetricsAccessOptions["client"],
  type: ResourceType,
  spec: unknown,
): Promise<Partial<Status>> {
  const review = { apiVersion: `${type.group}/${type.version}`, kind: type.kind, metadata: { name: "" }, spec };
  const answer = await client.create<KubeObject>(type, review, { timeoutMs: ASK_TIMEOUT_MS });
  return (answer.status ?? {}) as Partial<Status>;
}

function unauthorized(text: string): Reply {
  return { ...line(401, text), headers: { "www-authenticate": "Bearer" } };
}
function line(status: number, text: string): Reply {
  return { status, body: `${escapeLine(text)}\n` };
}
