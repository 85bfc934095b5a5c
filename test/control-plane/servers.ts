/** One etcd and one kube-apiserver as processes: started, stopped and started again on the same ports and data. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Endpoint } from "./api-request.ts";
import { apiServerFlags, etcdFlags, type Tokens, waitUntilReady, writeServerFiles } from "./api-server.ts";
import type { Binaries } from "./binaries.ts";
import { type CertificateAuthority, createCertificateAuthority } from "./certificates.ts";
import { type RestoreOptions, restoreSnapshot, saveSnapshot } from "./etcd-snapshot.ts";
import { type Daemon, freePorts, startDaemon } from "./processes.ts";

export interface Servers {
  readonly endpoint: Endpoint;
  readonly certificates: CertificateAuthority;
  readonly tokens: Tokens;
  /** http URL of etcd. */
  readonly etcd: string;
  /** Process ids of what runs now. */
  pids(): number[];
  startApiServer(): Promise<void>;
  stopApiServer(): Promise<void>;
  /** Saves what etcd holds to a file. */
  backUpEtcd(file: string): Promise<void>;
  /** Stops both, puts a backup in the place of etcd's data, and starts both. */
  restoreEtcd(file: string, options?: RestoreOptions): Promise<void>;
  killAll(): Promise<void>;
}

/** Starts both with all their files in `dir`, and waits until the API server is ready. */
export async function startServers(binaries: Binaries, dir: string, extraFlags: readonly string[]): Promise<Servers> {
  const certificates = await createCertificateAuthority("ipam-operator-test");
  const tokens = await writeServerFiles(dir, certificates);
  const [port, etcdPort, peerPort] = (await freePorts(3)) as [number, number, number];
  const endpoint = { server: `https://127.0.0.1:${port}`, caData: certificates.certificate };
  const flags = etcdFlags(etcdPort, peerPort);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  let etcd = await startDaemon(dir, "etcd", binaries.etcd, flags);
  let apiServer: Daemon | undefined;

  const stopApiServer = async () => apiServer?.kill();
  const startApiServer = async () => {
    await stopApiServer(); // the port must be free
    const apiFlags = apiServerFlags(port, etcdPort, extraFlags);
    apiServer = await startDaemon(dir, "kube-apiserver", binaries.kubeApiserver, apiFlags);
    await waitUntilReady(endpoint, tokens.admin, [etcd, apiServer]);
  };
  const restoreEtcd = async (file: string, options?: RestoreOptions) => {
    await stopApiServer();
    await etcd.kill();
    await rm(join(dir, "etcd"), { recursive: true });
    await restoreSnapshot(file, join(dir, "etcd"), flags, options);
    etcd = await startDaemon(dir, "etcd", binaries.etcd, flags);
    await startApiServer();
  };
  await startApiServer();
  return {
    endpoint,
    certificates,
    tokens,
    etcd: etcdUrl,
    pids: () => [etcd, apiServer].flatMap((daemon) => (daemon && !daemon.exited ? [daemon.pid] : [])),
    startApiServer,
    stopApiServer,
    backUpEtcd: (file) => saveSnapshot(etcdUrl, file),
    restoreEtcd,
    killAll: async () => void (await Promise.all([stopApiServer(), etcd.kill()])),
  };
}
