/**
 * A real etcd and kube-apiserver for one test suite: clean, on free loopback ports, gone with the process that started
 * it. There is no controller-manager: no default ServiceAccounts, no aggregated ClusterRoles, no garbage collection.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiRequest } from "./api-request.ts";
import { apiServerFlags, etcdFlags, waitUntilReady, writeServerFiles } from "./api-server.ts";
import { type AuditEvent, readAuditLog } from "./audit-log.ts";
import { type Binaries, ensureBinaries } from "./binaries.ts";
import { type CertificateAuthority, createCertificateAuthority } from "./certificates.ts";
import { applyCrds, type CrdChoice } from "./crds.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { type KubectlOptions, type KubectlResult, runKubectl } from "./kubectl.ts";
import { type Daemon, freePorts, startDaemon, startGuardian } from "./processes.ts";

export type { AuditEvent } from "./audit-log.ts";
export type { KubectlOptions, KubectlResult } from "./kubectl.ts";

export interface ControlPlaneOptions {
  /** Extra kube-apiserver flags. */
  readonly args?: readonly string[];
  /** CRDs of `crds/` to install. Default "none". */
  readonly crds?: CrdChoice;
}

/** One running API server, and the ways in. */
export interface ControlPlane {
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
  /** Process ids of what runs now. */
  pids(): number[];
  /** Writes a kubeconfig with a client certificate (default: an admin's) and returns its path. */
  clientCertKubeconfig(user?: string, groups?: readonly string[]): Promise<string>;
  /** Writes a kubeconfig for `token` and returns its path. */
  kubeconfigFor(token: string): string;
  /** A ServiceAccount's token; `create` makes namespace and ServiceAccount where they are missing. */
  serviceAccountToken(namespace: string, name: string, options?: { readonly create?: boolean }): Promise<string>;
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>;
  /** As `kubectl`, but throws with what kubectl said when it fails; returns stdout. */
  kubectlOk(args: readonly string[], options?: KubectlOptions): Promise<string>;
  /** kubectl apply of YAML text or of a file or folder. */
  apply(yamlOrPath: string): Promise<void>;
  /** Every request answered so far, over restarts too. */
  auditLog(): Promise<AuditEvent[]>;
  stopApiServer(): Promise<void>;
  startApiServer(): Promise<void>;
  restartApiServer(): Promise<void>;
  /** Kills everything and removes the temporary folder. */
  stop(): Promise<void>;
}

/** Starts a clean etcd and kube-apiserver and waits until it is ready. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await ensureBinaries();
  const dir = mkdtempSync(join(tmpdir(), "ipam-operator-control-plane-"));
  const removeAll = startGuardian(dir);
  try {
    const controlPlane = await start(binaries, dir, options.args ?? [], removeAll);
    await applyCrds(controlPlane, options.crds ?? "none");
    return controlPlane;
  } catch (error) {
    await removeAll();
    throw error;
  }
}

async function start(
  binaries: Binaries,
  dir: string,
  extraFlags: readonly string[],
  removeAll: () => Promise<void>,
): Promise<ControlPlane> {
  const ca = await createCertificateAuthority("ipam-operator-test");
  const tokens = await writeServerFiles(dir, ca);
  const [port, etcdPort, peerPort] = (await freePorts(3)) as [number, number, number];
  const endpoint = { server: `https://127.0.0.1:${port}`, caData: ca.certificate };
  const etcd = await startDaemon(dir, "etcd", binaries.etcd, etcdFlags(etcdPort, peerPort));
  let apiServer: Daemon | undefined;

  const startApiServer = async () => {
    const flags = apiServerFlags(port, etcdPort, extraFlags);
    apiServer = await startDaemon(dir, "kube-apiserver", binaries.kubeApiserver, flags);
    await waitUntilReady(endpoint, tokens.admin, apiServer);
  };
  const stopApiServer = async () => apiServer?.kill();
  const kubeconfigFor = (token: string) =>
    writeKubeconfig(join(dir, `${randomUUID()}.kubeconfig`), endpoint, { token });
  const kubeconfig = kubeconfigFor(tokens.admin);
  const kubectl = (args: readonly string[], { token, input }: KubectlOptions = {}) =>
    runKubectl(binaries.kubectl, args, {
      home: dir,
      kubeconfig: token === undefined ? kubeconfig : kubeconfigFor(token),
      input,
    });
  const kubectlOk = async (args: readonly string[], options?: KubectlOptions) => {
    const { code, stdout, stderr } = await kubectl(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}: ${stderr || stdout}`);
    return stdout;
  };

  await startApiServer();
  return {
    ...endpoint,
    certificates: ca,
    adminToken: tokens.admin,
    janeToken: tokens.jane,
    kubeconfig,
    dir,
    pids: () => [etcd, apiServer].filter((daemon) => daemon && !daemon.exited).map((daemon) => daemon!.pid),
    clientCertKubeconfig: async (user = "certificate-admin", groups = ["system:masters"]) =>
      writeKubeconfig(join(dir, `${randomUUID()}.kubeconfig`), endpoint, await ca.client(user, groups)),
    kubeconfigFor,
    serviceAccountToken: (namespace, name, { create = false } = {}) => requestToken(namespace, name, create),
    kubectl,
    kubectlOk,
    apply: async (yamlOrPath) => {
      const isPath = !yamlOrPath.includes("\n") && existsSync(yamlOrPath);
      if (isPath) await kubectlOk(["apply", "--filename", yamlOrPath]);
      else await kubectlOk(["apply", "--filename", "-"], { input: yamlOrPath });
    },
    auditLog: () => readAuditLog(join(dir, "audit.log")),
    stopApiServer,
    startApiServer,
    restartApiServer: async () => {
      await stopApiServer();
      await startApiServer();
    },
    stop: async () => {
      await Promise.all([stopApiServer(), etcd.kill()]);
      await removeAll();
    },
  };

  async function requestToken(namespace: string, name: string, create: boolean): Promise<string> {
    const post = async (path: string, body: unknown, ...accepted: number[]) => {
      const answer = await apiRequest(endpoint, tokens.admin, "POST", path, body);
      if (!accepted.includes(answer.status)) throw new Error(`POST ${path}: ${answer.status} ${answer.body}`);
      return JSON.parse(answer.body);
    };
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    if (create) {
      await post("/api/v1/namespaces", { metadata: { name: namespace } }, 201, 409);
      await post(accounts, { metadata: { name } }, 201, 409);
    }
    const spec = { expirationSeconds: 7200 };
    return (
      await post(
        `${accounts}/${name}/token`,
        { kind: "TokenRequest", apiVersion: "authentication.k8s.io/v1", spec },
        201,
      )
    ).status.token;
  }
}
