/** Real objects on a real API server: nodes, pods and a Service whose addresses the real library allocated. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../src/api/meta.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient, ResourceType } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { apiOf, clusterInformationCrd } from "../installation/fixtures.ts";
import type { Generation } from "../installation/user.ts";
import { pool } from "../support/ipam-data.ts";

const core = (plural: string, kind: string, namespaced = true): ResourceType => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});
const PODS = core("pods", "Pod");
const SERVICES = core("services", "Service");
const NODES = core("nodes", "Node", false);
const namespace = "default";
/** Stands in places that a bundle must not take along. */
export const SECRET = "hunter2";

export interface Fixture {
  readonly cluster: ControlPlane;
  readonly client: KubeClient;
  readonly datastore: Datastore;
  readonly ipam: Ipam;
  /** Kubeconfig of a user who may do what docs/ipamctl.md asks for reading, and nothing else. */
  readonly reader: string;
  stop(): Promise<void>;
}

export async function startFixture(generation: Generation): Promise<Fixture> {
  const cluster = await startControlPlane({ crds: generation });
  await installCalicoKinds(cluster, generation);
  const client = await connect({ kubeconfig: cluster.kubeconfig });
  const datastore = openKubernetes({ client, flavour: generation });
  const ipam = createIpam({ datastore, blockOrder: () => 0n, windowsHost: false });
  const tunnels = { "projectcalico.org/IPv4VXLANTunnelAddr": "10.0.0.0", "example.org/note": SECRET };
  await client.create<KubeObject>(NODES, named("Node", "node-a", { annotations: tunnels }));
  await client.create<KubeObject>(NODES, named("Node", "node-b"));
  await fill(client, datastore, ipam);
  await cluster.apply(readersRole());
  await cluster.kubectlOk(["create", "clusterrolebinding", "jane", "--clusterrole=ipamctl-reader", "--user=jane"]);
  const stop = async () => {
    await client.close();
    await cluster.stop();
  };
  return { cluster, client, datastore, ipam, reader: cluster.kubeconfigFor(cluster.janeToken), stop };
}

const named = (kind: string, name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind,
  metadata: { name, ...metadata },
});

async function installCalicoKinds(cluster: ControlPlane, generation: Generation): Promise<void> {
  const information = clusterInformationCrd(generation);
  const { group, version } = apiOf(generation);
  const kind = "KubeControllersConfiguration";
  const plural = "kubecontrollersconfigurations";
  const names = { kind, plural, singular: kind.toLowerCase() };
  const controllers = {
    ...information,
    metadata: { name: `${plural}.${group}` },
    spec: { ...information.spec, names },
  };
  const crds = [information, controllers];
  for (const crd of crds) await cluster.apply(JSON.stringify(crd));
  const definitions = crds.map(({ metadata }) => `crd/${metadata.name}`);
  await cluster.kubectlOk(["wait", "--for=condition=Established", "--timeout=30s", ...definitions]);
  const calico = (of: string, spec: object) =>
    JSON.stringify({ apiVersion: `${group}/${version}`, kind: of, metadata: { name: "default" }, spec });
  await cluster.apply(
    calico("ClusterInformation", { clusterGUID: "0123abcd", calicoVersion: "v3.32.0", datastoreReady: true }),
  );
  await cluster.apply(calico(kind, { controllers: { loadBalancer: { assignIPs: "AllServices" } } }));
}

async function fill(client: KubeClient, datastore: Datastore, ipam: Ipam): Promise<void> {
  await datastore.create(
    pool("lb", "10.4.0.0/29", { blockSize: 30, allowedUses: ["LoadBalancer"], nodeSelector: "all()" }),
  );
  await datastore.create(pool("p4", "10.0.0.0/28", { blockSize: 30 }));
  await assignTunnel(ipam);
  for (const name of ["web-0", "web-1"]) {
    const attrs = { pod: name, namespace, node: "node-b" };
    const asked = {
      num4: 1,
      handleID: `k8s-pod-network.${name}`,
      hostname: "node-b",
      intendedUse: "Workload",
      attrs,
    } as const;
    const { v4 } = await ipam.autoAssign(asked);
    await createPod(client, name, v4!.ips[0]!.split("/")[0]!);
  }
  const attrs = { service: "ingress", namespace, type: "LoadBalancer" };
  const asked = {
    num4: 1,
    handleID: "lb-ingress",
    hostname: "load-balancer",
    intendedUse: "LoadBalancer",
    attrs,
  } as const;
  const { v4 } = await ipam.autoAssign(asked);
  await createService(client, v4!.ips[0]!.split("/")[0]!);
}

/** The first address of the first block: what the node's annotation says. */
async function assignTunnel(ipam: Ipam): Promise<void> {
  const attrs = { node: "node-a", type: "vxlanTunnelAddress" };
  const asked = {
    num4: 1,
    handleID: "vxlan-tunnel-addr-node-a",
    hostname: "node-a",
    intendedUse: "Tunnel",
    attrs,
  } as const;
  await ipam.autoAssign(asked);
}

/** The role of the page, as it stands there. */
function readersRole(): string {
  const page = readFileSync(join(import.meta.dirname, "../../docs/ipamctl.md"), "utf8");
  return /```yaml\n([\s\S]*?)```/.exec(page)![1]!;
}

/** A pod on node-b; without an address it is waiting for one. */
export async function createPod(client: KubeClient, name: string, address?: string): Promise<void> {
  const spec = {
    nodeName: "node-b",
    containers: [{ name: "c", image: "none", env: [{ name: "PASSWORD", value: SECRET }] }],
  };
  const metadata = { namespace, annotations: { "example.org/note": SECRET } };
  const created = await client.create<KubeObject>(PODS, { ...named("Pod", name, metadata), spec }, { namespace });
  if (address === undefined) return;
  const status = { phase: "Running", podIP: address, podIPs: [{ ip: address }] };
  await client.updateStatus<KubeObject>(PODS, { ...created, status }, { namespace });
}

/** What the kubelet tells when the CNI plugin could not give a pod an address. */
export async function createEvent(client: KubeClient, pod: string, message: string): Promise<void> {
  const { uid } = (await client.get<KubeObject>(PODS, pod, { namespace })).metadata;
  const event = {
    ...named("Event", `${pod}.1`, { namespace }),
    involvedObject: { kind: "Pod", namespace, name: pod, uid, apiVersion: "v1" },
    ...{ reason: "FailedCreatePodSandBox", type: "Warning", message, count: 3 },
    ...{ firstTimestamp: new Date().toISOString(), lastTimestamp: new Date().toISOString() },
    source: { component: "kubelet" },
  };
  await client.create<KubeObject>(core("events", "Event"), event, { namespace });
}

async function createService(client: KubeClient, address: string): Promise<void> {
  const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
  const created = await client.create<KubeObject>(
    SERVICES,
    { ...named("Service", "ingress", { namespace }), spec },
    { namespace },
  );
  const status = { loadBalancer: { ingress: [{ ip: address }] } };
  await client.updateStatus<KubeObject>(SERVICES, { ...created, status }, { namespace });
}
