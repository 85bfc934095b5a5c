/** What one etcd and one kube-apiserver need to start: their files in a temporary folder, and their flags. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { apiRequest, type Endpoint } from "./api-request.ts";
import { auditPolicy } from "./audit-log.ts";
import type { CertificateAuthority } from "./certificates.ts";
import type { Daemon } from "./processes.ts";

/** Tokens of the two users that exist from the start. */
export interface Tokens {
  /** In system:masters: may do everything. */
  readonly admin: string;
  /** User `jane`: authenticated, no rights. */
  readonly jane: string;
}

/** Writes certificates, keys, tokens and the audit policy to `dir`. */
export async function writeServerFiles(dir: string, ca: CertificateAuthority): Promise<Tokens> {
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text, { mode: 0o600 });
  const serving = await ca.server({ ip: ["127.0.0.1"], dns: ["localhost", "kubernetes.default.svc"] });
  const serviceAccounts = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const tokens = { admin: randomUUID(), jane: randomUUID() };
  write("ca.crt", ca.certificate);
  write("server.crt", serving.certificate);
  write("server.key", serving.privateKey);
  write("service-accounts.key", serviceAccounts.privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  write("service-accounts.pub", serviceAccounts.publicKey.export({ type: "spki", format: "pem" }).toString());
  write("tokens.csv", `${tokens.admin},admin,admin,"system:masters"\n${tokens.jane},jane,jane\n`);
  write("audit-policy.json", JSON.stringify(auditPolicy));
  write("audit.log", "");
  return tokens;
}

/** Flags of an etcd that keeps its data in the temporary folder and never waits for the disk. */
export function etcdFlags(clientPort: number, peerPort: number): string[] {
  const client = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    "--name=test",
    "--data-dir=etcd",
    "--unsafe-no-fsync",
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=test=${peer}`,
    "--log-level=warn",
  ];
}

/** Flags of a kube-apiserver on the files of `writeServerFiles`; `extra` comes last and wins. */
export function apiServerFlags(port: number, etcdPort: number, extra: readonly string[]): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--tls-cert-file=server.crt",
    "--tls-private-key-file=server.key",
    "--client-ca-file=ca.crt",
    "--token-auth-file=tokens.csv",
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-account-key-file=service-accounts.pub",
    "--service-account-signing-key-file=service-accounts.key",
    "--service-cluster-ip-range=10.96.0.0/16",
    // Nobody makes the ServiceAccount `default` that this plugin would ask of every pod.
    "--disable-admission-plugins=ServiceAccount",
    "--audit-policy-file=audit-policy.json",
    "--audit-log-path=audit.log",
    "--audit-log-mode=blocking",
    "--event-ttl=1h",
    "--endpoint-reconciler-type=none",
    "--profiling=false",
    ...extra,
  ];
}

/** Waits until the API server says that it is ready, or fails with what the processes behind it printed last. */
export async function waitUntilReady(endpoint: Endpoint, token: string, daemons: readonly Daemon[]): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await isReady(endpoint, token))) {
    const ended = daemons.find(({ exited }) => exited);
    if (ended) throw new Error(`${ended.name} ended before the API server was ready:\n${ended.tail()}`);
    if (Date.now() > deadline) throw new Error(`The API server was not ready within 60 s:\n${daemons.at(-1)?.tail()}`);
    await sleep(50);
  }
}

async function isReady(endpoint: Endpoint, token: string): Promise<boolean> {
  const answer = await apiRequest(endpoint, token, "GET", "/readyz").catch(() => undefined);
  return answer?.status === 200;
}
