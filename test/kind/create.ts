/** kind's own commands that make and remove a cluster. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { run } from "./processes.ts";

export interface NewCluster {
  readonly name: string;
  readonly workers: number;
  /** The node image; default: the one that kind pulls. */
  readonly image?: string;
  /** Where the API server listens; default: a free port of 127.0.0.1. */
  readonly apiServer?: { readonly address: string; readonly port: number };
  /** For what can be had without an image registry only. */
  readonly kubeProxyMode?: "nftables";
}

/** The path of `kind` and the environment it runs in, which leads to its Docker engine. */
export interface KindProgram {
  readonly kind: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Makes a cluster and waits until its nodes are ready; its kubeconfig and configuration are put into `folder`. */
export async function createCluster({ kind, env }: KindProgram, cluster: NewCluster, folder: string): Promise<string> {
  const config = join(folder, "kind.yaml");
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(config, stringify(configOf(cluster)));
  const image = cluster.image === undefined ? [] : ["--image", cluster.image];
  const files = ["--config", config, "--kubeconfig", kubeconfig];
  const create = ["create", "cluster", "--name", cluster.name, ...image, ...files, "--wait", "5m", "--retain"];
  await run(kind, create, { env });
  return kubeconfig;
}

export async function listClusters({ kind, env }: KindProgram): Promise<string[]> {
  const listed = await run(kind, ["get", "clusters", "--quiet"], { env });
  return listed.split("\n").filter((line) => line !== "");
}

function configOf({ workers, apiServer, kubeProxyMode }: NewCluster) {
  return {
    kind: "Cluster",
    apiVersion: "kind.x-k8s.io/v1alpha4",
    networking: {
      ipFamily: "ipv4",
      ...(kubeProxyMode && { kubeProxyMode }),
      ...(apiServer && { apiServerAddress: apiServer.address, apiServerPort: apiServer.port }),
    },
    kubeadmConfigPatches: hasCgroupV1() ? [stringify(kubeletOnCgroupV1)] : [],
    nodes: [{ role: "control-plane" }, ...Array.from({ length: workers }, () => ({ role: "worker" }))],
  };
}

/** By default the kubelet refuses to start there. */
const kubeletOnCgroupV1 = {
  kind: "KubeletConfiguration",
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  failCgroupV1: false,
};

const hasCgroupV1 = () => existsSync("/sys/fs/cgroup/memory");
