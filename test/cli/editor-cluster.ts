/** A real API server of one generation with what Calico puts beside its data, and `ipamctl` run on it as an editor. */
import { roleName } from "../../rbac/permissions.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Io } from "../../src/cli/session.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { apiGroups, codecOf, type Flavour } from "../../src/datastore/flavours.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { apiOf, clusterInformationCrd, openCrd } from "../installation/fixtures.ts";
import { denied } from "../support/audit.ts";
import { recordUsage } from "../support/audit-usage.ts";
import { deleteAll } from "../support/cluster-store.ts";
import { pool } from "../support/ipam-data.ts";
import type { Ran } from "./ipamctl.ts";

const EDITOR = "system:serviceaccount:kube-system:editor";

export interface EditorCluster {
  readonly plane: ControlPlane;
  readonly proxy: FaultProxy;
  /** Without faults, and with all rights. */
  readonly store: Datastore;
  readonly ipam: Ipam;
  create(object: object): Promise<unknown>;
  /** Creates an object as it is given. */
  putRaw(kind: IpamKind, name: string, spec: object): Promise<unknown>;
  lock(isLocked: boolean): Promise<unknown>;
  /** Runs a verb as the editor; `throughProxy`, where faults are. */
  run(args: readonly string[], throughProxy?: boolean, io?: Partial<Io>): Promise<Ran>;
  /** The same, told yes, with its answer as JSON. */
  json(...args: string[]): Promise<Ran>;
  /** Codes that `check` finds. */
  codes(): Promise<string[]>;
  /** An address for a pod, which need not be there. */
  allocate(pod: string): Promise<string>;
  runPod(name: string, ip: string): Promise<void>;
  /** One pool and nothing else, unlocked. */
  reset(): Promise<void>;
  /** What the editor was refused. */
  refused(): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startEditorCluster(flavour: Flavour): Promise<EditorCluster> {
  const plane = await startControlPlane({ crds: flavour });
  const proxy = await startFaultProxy(plane);
  const create = (object: object) => plane.kubectlOk(["create", "-f", "-"], { input: JSON.stringify(object) });
  await surroundings(plane, flavour, create);
  const token = await plane.serviceAccountToken("kube-system", "editor", { create: true });
  const binding = ["create", "clusterrolebinding", "editor", `--clusterrole=${roleName("editor")}`];
  await plane.kubectlOk([...binding, "--serviceaccount=kube-system:editor"]);
  const client = await connect({ kubeconfig: plane.kubeconfig });
  const store = openKubernetes({ client, flavour });
  const ipam = createIpam({ datastore: store, windowsHost: false });
  const [direct, faulty] = [plane.kubeconfigFor(token), proxy.kubeconfigFor(token)];
  const patch = (args: readonly string[], value: object) =>
    plane.kubectlOk(["patch", ...args, "--type=merge", "-p", JSON.stringify(value)]);
  const run = (args: readonly string[], throughProxy = false, io: Partial<Io> = {}) =>
    ipamctlOn(throughProxy ? faulty : direct, args, io);
  const lock = (isLocked: boolean) =>
    patch([`clusterinformations.${apiOf(flavour).group}`, "default"], { spec: { datastoreReady: !isLocked } });
  return {
    plane,
    proxy,
    store,
    ipam,
    create,
    lock,
    run,
    json: (...args) => run([...args, "--yes", "-o", "json"]),
    codes: async () => {
      const { stdout } = await run(["check", "--second-look", "0", "-o", "json"]);
      return Object.keys(JSON.parse(stdout).counts);
    },
    putRaw: (kind, name, spec) => {
      const { resource } = codecOf(flavour, kind);
      const object = { apiVersion: apiGroups[flavour], kind: resource.kind, metadata: { name }, spec };
      return client.create(resource, object as never);
    },
    allocate: async (pod) => {
      const attrs = { namespace: "shop", pod, node: "node-a" };
      const asked = { num4: 1, handleID: `h.${pod}`, hostname: "node-a", intendedUse: "Workload" } as const;
      const { v4 } = await ipam.autoAssign({ ...asked, attrs });
      return v4!.ips[0]!.split("/")[0]!;
    },
    runPod: async (name, ip) => {
      const spec = { nodeName: "node-a", containers: [{ name: "c", image: "i" }], automountServiceAccountToken: false };
      await create({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "shop" }, spec });
      const status = { phase: "Running", podIP: ip, podIPs: [{ ip }] };
      await patch(["pod", "-n", "shop", name, "--subresource=status"], { status });
    },
    reset: async () => {
      await deleteAll(plane, flavour);
      await plane.kubectl(["delete", "pods", "-n", "shop", "--all", "--grace-period=0", "--force"]);
      await plane.kubectl(["delete", "ipaminstallations", "--all"]);
      await store.create({ ...pool("pods", "10.0.0.0/24", { blockSize: 28, natOutgoing: true }), kind: "IPPool" });
      await lock(false);
    },
    refused: async () => denied(await plane.auditLog(), EDITOR),
    stop: async () => {
      await recordUsage(plane, { [EDITOR]: "editor" });
      await client.close();
      await proxy.stop();
      await plane.stop();
    },
  };
}

/** Roles, Calico's own kinds, a node, and a namespace that pods can be made in without controllers. */
async function surroundings(plane: ControlPlane, flavour: Flavour, create: (object: object) => Promise<unknown>) {
  await plane.kubectlOk(["apply", "-f", "rbac/"]);
  const controllers = { kind: "KubeControllersConfiguration", plural: "kubecontrollersconfigurations" };
  await create(clusterInformationCrd(flavour));
  await create(openCrd({ ...apiOf(flavour), ...controllers }));
  await plane.kubectlOk(["wait", "--for=condition=Established", "crd", "--all"]);
  const metadata = { name: "default" };
  const spec = { clusterGUID: "guid-of-the-test", datastoreReady: true };
  await create({ apiVersion: apiGroups[flavour], kind: "ClusterInformation", metadata, spec });
  const linux = { "kubernetes.io/os": "linux" };
  await create({ apiVersion: "v1", kind: "Node", metadata: { name: "node-a", labels: linux } });
  await create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  await create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "shop" } });
}

async function ipamctlOn(kubeconfig: string, args: readonly string[], io: Partial<Io>): Promise<Ran> {
  let [stdout, stderr] = ["", ""];
  const code = await runProgram([...args, "--kubeconfig", kubeconfig], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    env: {},
    now: () => new Date(),
    signal: new AbortController().signal,
    ...io,
  });
  return { code, stdout, stderr };
}
