/** Data that people really have, on a real API server of either generation: an editor's `gc` frees nothing that is alive. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/api/meta.ts";
import type { IPAMBlock, IpamKind } from "../../src/api/v3.ts";
import { podAddresses } from "../../src/cli/snapshot/pod-addresses.ts";
import type { Stored } from "../../src/datastore/datastore.ts";
import { allocationsOf } from "../../src/judgement/allocations.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { connect } from "../../src/kube/rest.ts";
import { isKubeError, type KubeClient, type ResourceType } from "../../src/kube/types.ts";
import { documents } from "../support/case-inputs.ts";
import { inputSnapshot } from "../support/input-snapshot.ts";
import { affinity, handle, pool, usedBlock } from "../support/ipam-data.ts";
import { type EditorCluster, startEditorCluster } from "./editor-cluster.ts";
import { rowsOf } from "./writing-site.ts";

const core = (plural: string, kind: string, namespaced = false): ResourceType => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});
const [PODS, NODES] = [core("pods", "Pod", true), core("nodes", "Node")];
const ACCOUNTS = core("serviceaccounts", "ServiceAccount", true);
const IPAM_PARTS = ["pools", "blocks", "affinities", "handles"] as const satisfies readonly (keyof Snapshot)[];

/** Also where it is there from an earlier test. */
async function ensure(client: KubeClient, type: ResourceType, object: KubeObject, namespace?: string): Promise<void> {
  try {
    await client.create(type, object, namespace === undefined ? {} : { namespace });
  } catch (error) {
    if (!isKubeError(error, "AlreadyExists")) throw error;
  }
}

async function runPod(client: KubeClient, { metadata, spec, status }: KubeObject): Promise<void> {
  const { namespace = "" } = metadata;
  await ensure(client, core("namespaces", "Namespace"), {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace },
  });
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await ensure(client, ACCOUNTS, account, namespace);
  const created = await client.create<KubeObject>(
    PODS,
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: { automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }], ...(spec as object) },
    },
    { namespace },
  );
  if (status) await client.updateStatus(PODS, { ...created, status }, { namespace });
}

describe.each(["v1", "v3"] as const)("on a %s cluster", (flavour) => {
  let on: EditorCluster;
  let client: KubeClient;
  beforeAll(async () => {
    on = await startEditorCluster(flavour);
    client = await connect({ kubeconfig: on.plane.kubeconfig });
  });
  beforeEach(async () => {
    await on.reset();
    await on.store.delete(await on.store.get("IPPool", "pods"));
    await on.plane.kubectl(["delete", "pods", "-A", "--all", "--grace-period=0", "--force"]);
    await on.plane.kubectl(["delete", "nodes", "--all"]);
  });
  afterAll(async () => {
    await client?.close();
    await on?.stop();
  });

  const put = async (objects: readonly { readonly kind: string }[]) => {
    for (const object of objects) await on.store.create(object as Stored<IpamKind>);
  };
  const blocks = async () => (await on.store.list("IPAMBlock")).items as readonly IPAMBlock[];
  /** Addresses of running pods that blocks hold, and the blocks that hold one. */
  const alive = async () => {
    const pods = (await client.list<KubeObject>(PODS)).items;
    const used = new Set(pods.flatMap(podAddresses));
    const held = (await blocks()).flatMap((block) =>
      Array.from(allocationsOf(block), ({ address }) => `${address} in ${block.spec.cidr}`),
    );
    return held.filter((text) => used.has(text.split(" ")[0]!)).sort();
  };
  const load = async (name: string) => {
    const snapshot = inputSnapshot(name, new Date());
    for (const part of IPAM_PARTS) await put(snapshot[part]);
    for (const document of documents(name) as KubeObject[]) {
      const { metadata, kind } = document;
      if (kind === "Node") await ensure(client, NODES, { apiVersion: "v1", kind, metadata });
      if (kind === "Pod") await runPod(client, document);
    }
  };

  it.each([
    ["TRY-03", "r01-overlapping-block-sizes.yaml"],
    ["TRY-04", "r07-empty-block-with-a-pod-in-it.yaml"],
    ["TRY-04", "r07b-gone-and-unowned.yaml"],
  ])("%s, %s: gc frees nothing alive", async (_id, name) => {
    await load(name);
    const [held, ranges] = [await alive(), (await blocks()).map(({ spec }) => spec.cidr)];
    const pods = (await client.list<KubeObject>(PODS)).items.flatMap(podAddresses);
    const ran = await on.json("gc", "--grace", "0");
    expect(ran.code, ran.stderr).toBe(0);
    expect(await alive()).toEqual(held);
    // A block that a pod lives in stays, also where it does not hold the pod's address.
    const stay = ranges.filter((cidr) => held.some((text) => text.endsWith(` in ${cidr}`)));
    const left = (await blocks()).map(({ spec }) => spec.cidr);
    expect(left).toEqual(expect.arrayContaining(stay));
    if (held.length === 0) expect([pods.length > 0, left]).toEqual([true, ranges]);
  });

  it("TRY-07: an address of a pod that was never scheduled, on a node that is gone, is freed", async () => {
    await put([pool("pods", "10.0.0.0/28", { blockSize: 30 })]);
    const secondary = { namespace: "shop", node: "dead", pod: "pend" };
    await put([
      usedBlock("10.0.0.0/30", "dead", { 1: { handle_id: "k8s-pod-network.pend", secondary } }),
      affinity("dead", "10.0.0.0/30"),
      handle("k8s-pod-network.pend", { "10.0.0.0/30": 1 }),
    ]);
    await runPod(client, { apiVersion: "v1", kind: "Pod", metadata: { name: "pend", namespace: "shop" } });
    const ran = await on.json("gc", "--grace", "0");
    expect(ran.code, ran.stderr).toBe(0);
    expect(rowsOf(ran)).toContain("done release 10.0.0.1");
  });
});
