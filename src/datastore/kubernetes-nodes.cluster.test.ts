/** Nodes of a real API server, in both generations: labels for selectors, read or followed, missing, and forbidden. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../../test/faults/proxy.ts";
import { createIpam } from "../ipam/client.ts";
import { connect } from "../kube/rest.ts";
import type { KubeClient } from "../kube/types.ts";
import { cachedDatastore } from "./cached.ts";
import { connectKubernetes } from "./connect.ts";
import { poolOf } from "./contract/objects.ts";
import type { Datastore } from "./datastore.ts";
import { codecOf } from "./flavours.ts";
import { openKubernetes } from "./kubernetes.ts";

const POOLS = [
  ["rack-1", "10.1.0.0/24", 'rack == "r1"'],
  ["rack-2", "10.2.0.0/24", 'rack == "r2"'],
] as const;

describe.each(["v1", "v3"] as const)("on a %s cluster", (flavour) => {
  let cluster: ControlPlane;
  let proxy: FaultProxy;
  let client: KubeClient;
  const stores: Datastore[] = [];
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    proxy = await startFaultProxy(cluster);
    client = await connect({ kubeconfig: proxy.kubeconfig });
    const datastore = openKubernetes({ client, flavour });
    for (const [name, cidr, nodeSelector] of POOLS) await datastore.create(poolOf(name, cidr, { nodeSelector }));
  });
  afterAll(async () => {
    await client?.close();
    await proxy?.stop();
    await cluster?.stop();
  });
  let host: string;
  let n = 0;
  beforeEach(() => {
    host = `host-${n++}`;
  });
  afterEach(async () => {
    proxy.clear();
    await Promise.all(stores.splice(0).map((store) => store.close()));
  });

  const node = (labels: object, annotations = {}) =>
    cluster.apply(`apiVersion: v1\nkind: Node\nmetadata: ${JSON.stringify({ name: host, labels, annotations })}\n`);
  const label = (text: string) => cluster.kubectlOk(["label", "--overwrite", "node", host, text]);
  const direct = async () => connectKubernetes({ kubeconfig: proxy.kubeconfig });
  const followed = async () => {
    const cached = cachedDatastore(await direct());
    await cached.synced();
    return cached;
  };
  const open = async (how: () => Promise<Datastore>) => {
    const datastore = await how();
    stores.push(datastore);
    return createIpam({ datastore, hostname: host });
  };
  const nodeReads = () => proxy.requestsMatching({ path: "/api/v1/nodes/", method: "GET" }).length;

  describe.each([
    ["a short-lived process", direct],
    ["a long-lived process", followed],
  ] as const)("%s", (_what, how) => {
    /** The pool that an address comes from, and how often the node was read. */
    const drawnFrom = async ({ autoAssign }: Awaited<ReturnType<typeof open>>) => {
      const before = nodeReads();
      const { v4 } = await autoAssign({ num4: 1, intendedUse: "Workload" });
      const pool = POOLS.find(([, cidr]) => v4!.ips[0]!.startsWith(cidr.slice(0, 5)));
      return { pool: pool?.[0], reads: nodeReads() - before };
    };
    const READS = how === direct ? 1 : 0;

    test("draws from the pool that selects the node by its labels", async () => {
      await node({ rack: "r1" });
      expect(await drawnFrom(await open(how))).toEqual({ pool: "rack-1", reads: READS });
    });

    test("overlays the labels of Calico's annotation by Kubernetes' own", async () => {
      await node({}, { "projectcalico.org/labels": '{"rack":"r2"}' });
      const ipam = await open(how);
      expect(await drawnFrom(ipam)).toEqual({ pool: "rack-2", reads: READS });
      await label("rack=r1");
      await expect.poll(() => drawnFrom(ipam)).toEqual({ pool: "rack-1", reads: READS });
    });

    test("sees a label that is changed later", async () => {
      await node({ rack: "r1" });
      const ipam = await open(how);
      expect(await drawnFrom(ipam)).toEqual({ pool: "rack-1", reads: READS });
      await label("rack=r2");
      await expect.poll(() => drawnFrom(ipam)).toEqual({ pool: "rack-2", reads: READS });
    });

    test("sees a node that joins later, and one that is gone", async () => {
      const ipam = await open(how);
      const missing = { name: "IpamError", code: "NodeNotFound", message: expect.stringContaining(host) };
      await expect(drawnFrom(ipam)).rejects.toMatchObject(missing);
      const { items } = await openKubernetes({ client, flavour }).list("BlockAffinity");
      expect(items.filter(({ spec }) => spec.node === host)).toEqual([]);
      await node({ rack: "r1" });
      await expect(drawnFrom(ipam)).resolves.toMatchObject({ pool: "rack-1" });
      await cluster.kubectlOk(["delete", "node", host]);
      const signal = AbortSignal.timeout(20_000);
      const refused = async () => ipam.autoAssign({ num4: 1, intendedUse: "Workload" }, { signal });
      await expect.poll(() => refused().catch((error: unknown) => error)).toMatchObject(missing);
    });

    test("goes on by single reads while nodes cannot be listed or watched", async () => {
      proxy.fail({ path: /nodes$/ }, { status: 500, times: Number.POSITIVE_INFINITY });
      await node({ rack: "r2" });
      const datastore = how === direct ? await direct() : cachedDatastore(await direct(), { onError: () => {} });
      expect(await drawnFrom(await open(async () => datastore))).toEqual({ pool: "rack-2", reads: 1 });
    });
  });

  describe("a role that may not read nodes", () => {
    const { group } = codecOf(flavour, "IPPool").resource;
    let kubeconfig: string;
    beforeAll(async () => {
      await cluster.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: no-nodes}
rules: [{apiGroups: [${group}], resources: ["*"], verbs: ["*"]}]
`);
      await cluster.kubectlOk(["create", "clusterrolebinding", "no-nodes", "--clusterrole=no-nodes", "--user=jane"]);
      kubeconfig = cluster.kubeconfigFor(cluster.janeToken);
    });
    const open = () => connectKubernetes({ kubeconfig, apiGroup: flavour });
    const says = (verb: string) => ({
      name: "DatastoreError",
      code: "Unauthorized",
      kind: "Node",
      message: expect.stringMatching(new RegExp(`"jane" cannot ${verb} .*Grant this user "${verb}" on nodes$`)),
    });

    test("is told what to grant", async () => {
      const datastore = await open();
      stores.push(datastore);
      const ipam = createIpam({ datastore, hostname: host });
      await expect(ipam.autoAssign({ num4: 1, intendedUse: "Workload" })).rejects.toMatchObject(says("get"));
    });

    test("does not wait for ever to follow them, and is told as well", async () => {
      const errors: unknown[] = [];
      const cached = cachedDatastore(await open(), { onError: (kind, error) => errors.push([kind, error]) });
      stores.push(cached);
      await cached.synced();
      const refusals = errors.map(() => ["Node", expect.objectContaining(says("list"))]); // it is tried again meanwhile
      expect(errors.length).toBeGreaterThan(0);
      expect(errors).toEqual(refusals);
    });
  });
});
