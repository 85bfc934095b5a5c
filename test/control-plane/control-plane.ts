/**
 * A real etcd and kube-apiserver for one test suite: clean, on free loopback ports, gone with the process that started
 * it. There is no controller-manager: no default ServiceAccounts, no aggregated ClusterRoles, no garbage collection.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AuditEvent, readAuditLog } from "./audit-log.ts";
import { type Binaries, ensureBinaries } from "./binaries.ts";
import type { CertificateAuthority } from "./certificates.ts";
import { applyCrds, type CrdChoice } from "./crds.ts";
import type { RestoreOptions } from "./etcd-snapshot.ts";
import { type Credentials, writeKubeconfig } from "./kubeconfig.ts";
import { type Kubectl, kubectlFor } from "./kubectl.ts";
import { startGuardian } from "./processes.ts";
import { type Servers, startServers } from "./servers.ts";
import { requestServiceAccountToken, type TokenOptions } from "./service-account-token.ts";

export type { AuditEvent } from "./audit-log.ts";
export type { KubectlOptions, KubectlResult } from "./kubectl.ts";

export interface ControlPlaneOptions {
  /** Extra kube-apiserver flags. */
  readonly args?: readonly string[];
  /** CRDs of `crds/` to install. Default "none". */
  readonly crds?: CrdChoice;
}

/** One running API server, and the ways in. */
export interface ControlPlane extends Kubectl {
  /** https URL. */
  readonly server: string;
  /** The certificate authority of server and clients, PEM. */
  readonly caData: string;
  readonly certificates: CertificateAuthority;
  readonly adminToken: string;
  /** Token of the user `jane`, who may do nothing. */
  readonly janeToken: string;
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  /** The temporary folder; files put here go with the control plane. */
  readonly dir: string;
  /** http URL of etcd: for data that the API server would take too long for. */
  readonly etcd: string;
  /** Process ids of what runs now. */
  pids(): number[];
  /** Writes a kubeconfig with a client certificate (default: an admin's) and returns its path. */
  clientCertKubeconfig(user?: string, groups?: readonly string[]): Promise<string>;
  /** Writes a kubeconfig for `token` and returns its path. */
  kubeconfigFor(token: string): string;
  serviceAccountToken(namespace: string, name: string, options?: TokenOptions): Promise<string>;
  /** kubectl apply of YAML text or of a file or folder. */
  apply(yamlOrPath: string): Promise<void>;
  /** Every request answered so far, over restarts too. */
  auditLog(): Promise<AuditEvent[]>;
  stopApiServer(): Promise<void>;
  startApiServer(): Promise<void>;
  restartApiServer(): Promise<void>;
  /** Saves what etcd holds to a file. */
  backUpEtcd(file: string): Promise<void>;
  /** Restores etcd from such a file as an administrator does: API server and etcd are stopped meanwhile. */
  restoreEtcd(file: string, options?: RestoreOptions): Promise<void>;
  /** Kills everything and removes the temporary folder. */
  stop(): Promise<void>;
}

/** Starts a clean etcd and kube-apiserver and waits until it is ready. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await ensureBinaries();
  const dir = mkdtempSync(join(tmpdir(), "ipam-operator-control-plane-"));
  const killAndRemove = startGuardian(dir);
  try {
    const servers = await startServers(binaries, dir, options.args ?? []);
    const stop = () => servers.killAll().then(killAndRemove);
    const controlPlane = { ...accessTo(servers, binaries, dir), stop };
    await applyCrds(controlPlane, options.crds ?? "none");
    return controlPlane;
  } catch (error) {
    await killAndRemove();
    throw error;
  }
}

function accessTo(servers: Servers, binaries: Binaries, dir: string): Omit<ControlPlane, "stop"> {
  const { endpoint, certificates, tokens, etcd, pids, startApiServer, stopApiServer, backUpEtcd, restoreEtcd } =
    servers;
  const newKubeconfig = (credentials: Credentials) =>
    writeKubeconfig(join(dir, `${randomUUID()}.kubeconfig`), endpoint, credentials);
  const kubeconfigFor = (token: string) => newKubeconfig({ token });
  const kubeconfig = kubeconfigFor(tokens.admin);
  const kubectl = kubectlFor(binaries.kubectl, dir, (token) =>
    token === undefined ? kubeconfig : kubeconfigFor(token),
  );
  return {
    ...endpoint,
    ...kubectl,
    certificates,
    adminToken: tokens.admin,
    janeToken: tokens.jane,
    kubeconfig,
    dir,
    etcd,
    pids,
    clientCertKubeconfig: async (user = "certificate-admin", groups = ["system:masters"]) =>
      newKubeconfig(await certificates.client(user, groups)),
    kubeconfigFor,
    serviceAccountToken: (namespace, name, options) =>
      requestServiceAccountToken(endpoint, tokens.admin, { namespace, name, ...options }),
    apply: (yamlOrPath) => apply(kubectl, yamlOrPath),
    auditLog: () => readAuditLog(join(dir, "audit.log")),
    stopApiServer,
    startApiServer,
    backUpEtcd,
    restoreEtcd,
    restartApiServer: () => stopApiServer().then(startApiServer),
  };
}

async function apply({ kubectlOk }: Kubectl, yamlOrPath: string): Promise<void> {
  const isPath = !yamlOrPath.includes("\n") && existsSync(yamlOrPath);
  if (isPath) await kubectlOk(["apply", "--filename", yamlOrPath]);
  else await kubectlOk(["apply", "--filename", "-"], { input: yamlOrPath });
}
