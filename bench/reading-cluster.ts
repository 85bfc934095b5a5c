/** An API server whose etcd was filled directly: through the API half a million objects would take an hour. */
import { randomUUID } from "node:crypto";
import { resources } from "../src/api/resources.ts";
import type { IpamKind, V3 } from "../src/api/v3.ts";
import { printJson } from "../src/kube/json.ts";
import { startControlPlane } from "../test/control-plane/control-plane.ts";
import { affinityAt, bigPool, blockAt, handlesAt } from "./reading-data.ts";

export interface SeededCluster {
  /** Of a user who may read the IPAM data, and no pods: there are none. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** Etcd takes no more in one transaction. */
const MOST_OPERATIONS = 128;

export async function startSeededCluster(blocks: number): Promise<SeededCluster> {
  const cluster = await startControlPlane({ crds: "v3" });
  try {
    const verbs = ["--verb=get,list", "--resource=*.projectcalico.org,customresourcedefinitions.apiextensions.k8s.io"];
    await cluster.kubectlOk(["create", "clusterrole", "jane", ...verbs]);
    await cluster.kubectlOk(["create", "clusterrolebinding", "jane", "--clusterrole=jane", "--user=jane"]);
    await cluster.stopApiServer();
    await fill(cluster.etcd, blocks);
    await cluster.startApiServer();
    return { kubeconfig: cluster.kubeconfigFor(cluster.janeToken), stop: cluster.stop };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function fill(etcd: string, blocks: number): Promise<void> {
  let batch: object[] = [put(bigPool)];
  for (let index = 0; index < blocks; index++) {
    batch.push(put(blockAt(index)), put(affinityAt(index)), ...handlesAt(index).map(put));
    while (batch.length >= MOST_OPERATIONS) {
      await transaction(etcd, batch.slice(0, MOST_OPERATIONS));
      batch = batch.slice(MOST_OPERATIONS);
    }
  }
  if (batch.length > 0) await transaction(etcd, batch);
}

async function transaction(etcd: string, success: readonly object[]): Promise<void> {
  const answer = await fetch(`${etcd}/v3/kv/txn`, { method: "POST", body: JSON.stringify({ success }) });
  if (!answer.ok) throw new Error(`etcd refused to be filled: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** An object as an API server would have stored it. */
function put<K extends IpamKind>(object: V3<K>): object {
  const { group, plural } = resources[object.kind as IpamKind].v3;
  const metadata = { ...object.metadata, uid: randomUUID(), generation: 1, creationTimestamp: "2026-01-02T03:04:05Z" };
  const key = base64(`/registry/${group}/${plural}/${object.metadata.name}`);
  return { request_put: { key, value: base64(printJson({ ...object, metadata })) } };
}
