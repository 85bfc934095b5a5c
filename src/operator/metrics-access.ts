/** Who may read /metrics: callers that the API server knows by their token, and whose user may get that path. */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "pino";
import { z } from "zod";
import type { KubeObject } from "../api/meta.ts";
import { escapeLine } from "../escape.ts";
import { isKubeError, type KubeClient, KubeError, type ResourceType } from "../kube/types.ts";
import { FairQueue } from "./fair-queue.ts";
import { errorText } from "./log.ts";
import type { MakeServer, Reply } from "./probes.ts";
import type { OperatorProcess } from "./process.ts";
import { RecentMap } from "./recent-map.ts";
import { openCertificate, selfSignedServer } from "./serving-certificate.ts";

/**
 * @param source where the caller is: its address
 * @returns why the caller is not served; undefined: it is
 */
export type Admit = (authorization: string | undefined, source?: string) => Promise<Reply | undefined>;

/** What `--metrics-secure` puts before /metrics. */
export interface ScrapeGuard {
  readonly makeServer: MakeServer;
  readonly admit: Admit;
}

/**
 * @param certDir folder of the certificate; absent: one is made
 * @throws when `certDir` has no usable certificate
 */
export async function openScrapeGuard(
  client: KubeClient,
  certDir: string | undefined,
  { log, onTaskFailure }: Pick<OperatorProcess, "log" | "onTaskFailure">,
): Promise<ScrapeGuard> {
  const makeServer =
    certDir === undefined ? selfSignedServer(hostname()) : openCertificate(certDir, log, { onTaskFailure });
  return { makeServer: await makeServer, admit: createMetricsAccess({ client, log }) };
}

export interface MetricsAccessOptions {
  readonly client: Pick<KubeClient, "create">;
  readonly log: Logger;
}

const KEEP_PERMITTED_MS = 60_000;
/** From this age on an admission that is used is reviewed beside that, so that no scrape waits for a slow API server. */
const RENEW_AFTER_MS = 20_000;
const KEEP_REFUSED_MS = 10_000;
/** A token that was permitted, and its address, go first for so long. */
const KNOWN_MS = 2 * 3_600_000;
const MOST_PERMITTED = 64;
const MOST_REFUSED = 1024;
const ASK_TIMEOUT_MS = 4_000;
/** Of tokens that were never permitted: a flood must not use up the operator's own calls to the API server. */
const REVIEWS = { places: 8, kept: 2, perSecond: 10, waitingPerSource: 32, waiting: 256, patienceMs: 5_000 } as const;

/** Asks the API server about each token, and remembers the answer for a while under the token's hash. */
export function createMetricsAccess(options: MetricsAccessOptions): Admit {
  const access = new MetricsAccess(reviewer(options));
  return async (authorization, source = "") => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) return unauthorized("No bearer token. Send 'Authorization: Bearer TOKEN'.");
    return access.replyTo(token, source);
  };
}

type Verdict = Reply | undefined;

/** Tokens that were permitted, that were refused, and that are being reviewed have each their own bound. */
class MetricsAccess {
  readonly #review: (token: string) => Promise<Verdict>;
  readonly #permitted = new RecentMap<number>(MOST_PERMITTED, KNOWN_MS);
  readonly #permittedSources = new RecentMap<true>(MOST_PERMITTED, KNOWN_MS);
  readonly #refused = new RecentMap<Verdict>(MOST_REFUSED, KEEP_REFUSED_MS);
  readonly #reviews = new Map<string, Promise<Verdict>>();
  readonly #queue = new FairQueue(REVIEWS, (source) => this.#permittedSources.get(source) !== undefined);

  constructor(review: (token: string) => Promise<Verdict>) {
    this.#review = review;
  }

  async replyTo(token: string, source: string): Promise<Verdict> {
    const key = createHash("sha256").update(token).digest("base64");
    const permittedAt = this.#permitted.get(key);
    if (permittedAt === undefined)
      return this.#refused.get(key) ?? this.#once(key, () => this.#unknown(key, token, source));
    const age = performance.now() - permittedAt;
    if (age < RENEW_AFTER_MS) return undefined;
    // Tokens that were permitted do not wait among strangers; there are few of them.
    const renewed = this.#once(key, () => this.#reviewed(key, token, source));
    return age < KEEP_PERMITTED_MS ? undefined : renewed;
  }

  /** Callers at the same time share one review, which never rejects. */
  #once(key: string, review: () => Promise<Verdict>): Promise<Verdict> {
    const known = this.#reviews.get(key);
    if (known !== undefined) return known;
    const begun = review().finally(() => this.#reviews.delete(key));
    this.#reviews.set(key, begun);
    return begun;
  }

  async #unknown(key: string, token: string, source: string): Promise<Verdict> {
    const work = async () => ({ verdict: await this.#reviewed(key, token, source) });
    const answer = await this.#queue.run({ source, first: isInDate(token), work });
    return answer === undefined ? line(429, "Too many new tokens at once; try again in 10 s.") : answer.verdict;
  }

  async #reviewed(key: string, token: string, source: string): Promise<Verdict> {
    const verdict = await this.#review(token);
    if (verdict === undefined) {
      this.#permitted.set(key, performance.now());
      this.#permittedSources.set(source, true);
    } else if (verdict.status !== 503) {
      this.#permitted.delete(key);
      this.#refused.set(key, verdict);
    } else if (this.#permitted.get(key) === undefined) this.#refused.set(key, verdict);
    return verdict;
  }
}

/** A JSON Web Token that is not over yet, as those of ServiceAccounts are: worth a review before anything else. */
function isInDate(token: string): boolean {
  const [, claims, signature] = token.split(".");
  if (!claims || !signature) return false;
  try {
    const { exp } = JSON.parse(Buffer.from(claims, "base64url").toString()) as { exp?: number };
    return exp !== undefined && exp * 1000 > Date.now();
  } catch {
    return false;
  }
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

const user = z.object({
  username: z.string().optional(),
  uid: z.string().optional(),
  groups: z.array(z.string()).optional(),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});
const tokenStatus = z.object({ authenticated: z.boolean().optional(), user: user.optional() });
const accessStatus = z.object({ allowed: z.boolean() });

async function reviewToken(client: MetricsAccessOptions["client"], token: string): Promise<Reply | undefined> {
  const { authenticated, user } = await ask(client, TOKEN_REVIEW, tokenStatus, { token });
  if (authenticated !== true || user === undefined) {
    return unauthorized("The API server does not accept this token. Send a current one of this cluster.");
  }
  const { username = "", uid, groups, extra } = user;
  const nonResourceAttributes = { path: "/metrics", verb: "get" };
  const spec = { user: username, uid, groups, extra, nonResourceAttributes };
  const { allowed } = await ask(client, SUBJECT_ACCESS_REVIEW, accessStatus, spec);
  if (allowed) return undefined;
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
  schema: z.ZodType<Status>,
  spec: unknown,
): Promise<Status> {
  const review = { apiVersion: `${type.group}/${type.version}`, kind: type.kind, metadata: { name: "" }, spec };
  const answer = await client.create<KubeObject>(type, review, { timeoutMs: ASK_TIMEOUT_MS });
  const { data, error } = schema.safeParse(answer.status);
  if (data !== undefined) return data;
  const { path = [], message = "" } = error?.issues[0] ?? {};
  const field = ["status", ...path].join(".");
  throw new KubeError("ServerError", `the API server answered a ${type.kind} wrongly: ${field}: ${message}`);
}

function unauthorized(text: string): Reply {
  return { ...line(401, text), headers: { "www-authenticate": "Bearer" } };
}
function line(status: number, text: string): Reply {
  return { status, body: `${escapeLine(text)}\n` };
}
