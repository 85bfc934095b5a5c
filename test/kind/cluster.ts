/** What a test can do with a kind cluster, however it came to be. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { writeKubeconfig } from "../control-plane/kubeconfig.ts";
import { type Kubectl, kubectlFor } from "../control-plane/kubectl.ts";
import type { KindProgram } from "./create.ts";
import { Docker } from "./docker.ts";
import { run } from "./processes.ts";

const apiServerLimitMs = 120_000;

/** All that another process needs to use the cluster; plain data. */
export interface ClusterAccess {
  /** kind's name of the cluster. */
  readonly name: string;
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string;
  /** A folder for kubectl's cache and passing files. */
  readonly folder: string;
  /** Paths of the programs. */
  readonly programs: { readonly kind: string; readonly kubectl: string };
  /** DOCKER_HOST and the like, of the engine in which the nodes run. */
  readonly engine: Readonly<Record<string, string>>;
}

export interface Cluster extends Kubectl {
  readonly access: ClusterAccess;
  /** Names of the nodes, which are those of their containers, the control plane first. */
  nodes(): Promise<string[]>;
  /** Ends the API server as a crash would, and waits until the next one is ready. */
  restartApiServer(): Promise<void>;
  /** Ends the first container of a pod as a crash would; the kubelet starts the next one. */
  crashPod(namespace: string, pod: string): Promise<void>;
  /** What a person wants to see when something went wrong: pods, events, and the kubelets' last words. */
  logs(): Promise<string>;
}

/** The cluster that `access` leads to. */
export function clusterOf(access: ClusterAccess): Cluster {
  const docker = new Docker({ ...process.env, ...access.engine });
  const kubectl = kubectlFor(access.programs.kubectl, access.folder, (token) =>
    token === undefined ? access.kubeconfig : kubeconfigFor(access, token),
  );
  const nodes = () => nodesOf(kubectl);
  return {
    access,
    ...kubectl,
    nodes,
    restartApiServer: async () => restartApiServer(docker, kubectl, (await nodes())[0]!),
    crashPod: (namespace, pod) => crashPod(docker, kubectl, ["--namespace", namespace, pod]),
    logs: () => logsOf(docker, kubectl),
  };
}

function kubeconfigFor({ kubeconfig, folder }: ClusterAccess, token: string): string {
  const { cluster } = parse(readFileSync(kubeconfig, "utf8")).clusters[0];
  const endpoint = {
    server: cluster.server,
    caData: Buffer.from(cluster["certificate-authority-data"], "base64").toString(),
  };
  return writeKubeconfig(join(folder, `${randomUUID()}.kubeconfig`), endpoint, { token });
}

async function nodesOf({ kubectlOk }: Kubectl): Promise<string[]> {
  const role = "node-role.kubernetes.io/control-plane";
  const list = async (selector: string) =>
    (await kubectlOk(["get", "nodes", "--selector", selector, "--output", "name"])).split("\n").filter(Boolean);
  const names = [...(await list(role)), ...(await list(`!${role}`))];
  return names.map((name) => name.replace("node/", ""));
}

async function restartApiServer(docker: Docker, { kubectl }: Kubectl, node: string): Promise<void> {
  const inNode = (...command: string[]) => docker.run(["exec", node, ...command]);
  const processId = () => inNode("pgrep", "--exact", "kube-apiserver").catch(() => "");
  const before = await processId();
  await inNode("pkill", "--signal", "KILL", "--exact", "kube-apiserver");
  const started = Date.now();
  for (;;) {
    const now = await processId();
    const isNew = now !== "" && now !== before;
    if (isNew && (await kubectl(["get", "--raw", "/readyz", "--request-timeout", "5s"])).code === 0) return;
    if (Date.now() - started > apiServerLimitMs)
      throw new Error(`The API server on ${node} is not back after 2 minutes.`);
    await sleep(500);
  }
}

/** From the node: no process can send SIGKILL to the first one of its own container. */
async function crashPod(docker: Docker, { kubectlOk }: Kubectl, pod: readonly string[]): Promise<void> {
  const path = "jsonpath={.spec.nodeName} {.status.containerStatuses[0].containerID}";
  const [node = "", id = ""] = (await kubectlOk(["get", "pod", ...pod, "--output", path])).split(" ");
  const inspect = ["crictl", "inspect", "--output", "go-template", "--template", "{{.info.pid}}"];
  const process = await docker.run(["exec", node, ...inspect, id.replace(/^.*:\/\//, "")]);
  await docker.run(["exec", node, "kill", "-KILL", process.trim()]);
}

async function logsOf(docker: Docker, { kubectl }: Kubectl): Promise<string> {
  const of = async (...args: string[]) => `$ kubectl ${args.join(" ")}\n${joined(await kubectl(args))}`;
  const parts = [
    await of("get", "nodes", "--output", "wide"),
    await of("get", "pods", "--all-namespaces", "--output", "wide"),
    await of("get", "events", "--all-namespaces", "--sort-by", ".lastTimestamp"),
  ];
  const containers = await docker.list(["ps", "--filter", "label=io.x-k8s.kind.role", "--format", "{{.Names}}"]);
  for (const container of containers) {
    const journal = ["exec", container, "journalctl", "--no-pager", "--unit", "kubelet", "--lines", "40"];
    parts.push(`kubelet of ${container}:\n${await docker.run(journal).catch(String)}`);
  }
  return parts.join("\n\n");
}

const joined = ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr;

/** Writes the kubeconfig that kind gives for a cluster into `folder` and returns its path. */
export async function writeKubeconfigOf(name: string, { kind, env }: KindProgram, folder: string): Promise<string> {
  const file = join(folder, "kubeconfig");
  await writeFile(file, await run(kind, ["get", "kubeconfig", "--name", name], { env }), { mode: 0o600 });
  return file;
}
