/** `--metrics-secure` on a real API server: who is served over HTTPS, who is not, and with which certificate. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCertificateAuthority } from "../control-plane/certificates.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { denied, OPERATOR_USER, used } from "../support/audit.ts";
import { recordUsage } from "../support/audit-usage.ts";
import { installOperatorRole, type RunningOperator, startOperator, untilReady } from "../support/operator-process.ts";
import { eventually, FAST } from "./cluster.ts";

/** As docs/operator.md gives it to scrapers. */
const SCRAPER_ROLE = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metrics-reader}
rules:
  - nonResourceURLs: [/metrics]
    verbs: [get]
`;

let cluster: ControlPlane;
let operator: RunningOperator;
let certDir: string;
/** The authority of the certificate that is served. */
let ca: string;
let scraper: string;
let stranger: string;

beforeAll(async () => {
  cluster = await startControlPlane({ crds: "v3" });
  certDir = await mkdtemp(join(cluster.dir, "certificate-"));
  ca = await renewCertificate();
  await cluster.apply(SCRAPER_ROLE);
  scraper = await cluster.serviceAccountToken("monitoring", "prometheus", { create: true });
  stranger = await cluster.serviceAccountToken("monitoring", "stranger", { create: true });
  await bind("prometheus");
  const args = [...FAST, "--metrics-secure", `--metrics-cert-dir=${certDir}`];
  operator = await startOperator(cluster, { args });
});
afterAll(async () => {
  await operator?.stop("SIGKILL");
  await recordUsage(cluster);
  await cluster.stop();
});

/** A certificate of a new authority, as cert-manager would write it; returns the authority. */
async function renewCertificate(): Promise<string> {
  const authority = await createCertificateAuthority("metrics");
  const { certificate, privateKey } = await authority.server({ ip: ["127.0.0.1"], dns: [] });
  await writeFile(join(certDir, "tls.crt"), certificate);
  await writeFile(join(certDir, "tls.key"), privateKey);
  return authority.certificate;
}

const bind = (name: string) =>
  cluster.kubectlOk([
    "create",
    "clusterrolebinding",
    `metrics-reader-${name}`,
    "--clusterrole=metrics-reader",
    `--serviceaccount=monitoring:${name}`,
  ]);

interface Scrape {
  readonly status: number;
  readonly body: string;
}

/** One scrape over a connection of its own, trusting `trusted` alone. */
function scrape(token: string | undefined, { trusted = ca, verified = true } = {}): Promise<Scrape> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const server = { host: "127.0.0.1", port: operator.ports.metrics, path: "/metrics" };
  const options = { ...server, headers, ca: trusted, rejectUnauthorized: verified, agent: false };
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    call.on("error", reject).end();
  });
}

describe("who is served", () => {
  test("a ServiceAccount that may get /metrics", async () => {
    const { status, body } = await scrape(scraper);
    expect(status).toBe(200);
    expect(body).toMatch(/^controller_runtime_reconcile_total\{controller="installation",result="success"\} /m);
  });

  test("not one that may not, until it may", async () => {
    const refused = await scrape(stranger);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatch(/^system:serviceaccount:monitoring:stranger may not read \/metrics\. [^\n]*\n$/);
    await bind("stranger");
    await eventually(async () => (await scrape(stranger)).status).toBe(200);
  });

  test.each([
    ["no token", undefined, "No bearer token."],
    ["a token of nobody", "nonsense", "The API server does not accept this token."],
    ["a token of another cluster", otherClustersToken(), "The API server does not accept this token."],
  ])("not %s", async (_what, token, line) => {
    const { status, body } = await scrape(token);
    expect([status, body.split("\n").length]).toEqual([401, 2]);
    expect(body).toContain(line);
  });

  test("a flood of refused tokens keeps nobody out: neither who was served before, nor a token that is new", async () => {
    const newcomer = await cluster.serviceAccountToken("monitoring", "newcomer", { create: true });
    await bind("newcomer");
    const flood = Promise.all(Array.from({ length: 150 }, (_, index) => scrape(`junk-${index}`)));
    const served = await Promise.all([scrape(newcomer), scrape(scraper)]);
    expect(served.map(({ status }) => status)).toEqual([200, 200]);
    const refused = new Set((await flood).map(({ status }) => status));
    expect([...refused].filter((status) => status !== 401 && status !== 429)).toEqual([]);
  });

  test("nobody over plain HTTP", async () => {
    await expect(operator.metrics()).rejects.toThrow("fetch failed");
  });

  test("no token gets into the log", () => {
    const logged = operator.stderr.join("\n");
    for (const token of [scraper, stranger, otherClustersToken()]) expect(logged).not.toContain(token);
  });
});

/** Well-formed, but signed by a key that this API server does not have. */
function otherClustersToken(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: "https://kubernetes.default.svc", sub: "system:serviceaccount:monitoring:prometheus" };
  return `${part({ alg: "RS256", kid: "other" })}.${part(claims)}.${Buffer.alloc(256, 1).toString("base64url")}`;
}

test("a certificate that is renewed on disk is served, without a restart", async () => {
  const renewed = await renewCertificate();
  const statusWith = (trusted: string) =>
    scrape(scraper, { trusted }).then(
      ({ status }) => status,
      () => "not trusted",
    );
  await eventually(() => statusWith(renewed)).toBe(200);
  expect(await statusWith(ca)).toBe("not trusted");
  ca = renewed;
});

test("the generated role is enough: nothing was denied to the operator", async () => {
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
  const events = await cluster.auditLog();
  expect(denied(events, OPERATOR_USER)).toEqual([]);
  const calls = [...used(events, OPERATOR_USER)];
  expect(calls).toContain("create tokenreviews.authentication.k8s.io");
  expect(calls).toContain("create subjectaccessreviews.authorization.k8s.io");
});

describe("what cannot work is said at the start", () => {
  test.each([[["--metrics-secure", "--metrics-cert-dir=/nowhere"], 1, "/nowhere/tls.crt: there is no such file"]])(
    "%j",
    async (args, code, line) => {
      const failing = await startOperator(cluster, { args, waitUntilReady: false });
      expect(await failing.ended).toEqual({ code, signal: null });
      expect(failing.stderr.at(-1)).toContain(line);
    },
  );

  test("with a certificate of its own, and without the right to ask, nobody is served, and the log says which role to apply", async () => {
    const token = await cluster.serviceAccountToken("ipam-operator", "ipam-operator");
    const role = JSON.parse(await cluster.kubectlOk(["get", "clusterrole", "ipam-operator:operator", "-o", "json"]));
    const rules = role.rules.filter((rule: { resources: string[] }) => !rule.resources.includes("tokenreviews"));
    await cluster.apply(`\n${JSON.stringify({ ...role, rules })}`);
    operator = await startOperator(cluster, {
      kubeconfig: cluster.kubeconfigFor(token),
      args: [...FAST, "--metrics-secure"],
    });
    await untilReady(operator);
    await expect(scrape(scraper)).rejects.toThrow("self-signed");
    const unverified = async () => (await scrape(scraper, { verified: false })).status;
    expect(await unverified()).toBe(503);
    await eventually(() => operator.stderr.join("\n")).toContain(
      "Cannot find out who may read /metrics. Apply the operator's role",
    );
    await installOperatorRole(cluster);
    await eventually(unverified).toBe(200);
  });
});
