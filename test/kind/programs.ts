/** The Go programs of a kind cluster that is made without an image registry, each at the version that a go.mod pins. */
import { join } from "node:path";
import { buildBinaries, kubernetesModule, kubernetesVersion, versionStamps } from "../control-plane/binaries.ts";
import { ensureGoPrograms, type GoBuild } from "../tools/go-build.ts";

export const nodeModule = join(import.meta.dirname, "node");

const instead = "name a kind cluster that is there already with --kind";

const kubernetes: GoBuild = {
  name: "kubernetes",
  programs: ["kubeadm", "kubelet", "kube-controller-manager", "kube-scheduler", "kube-proxy"].map((name) => ({
    name,
    module: kubernetesModule,
    package: `k8s.io/kubernetes/cmd/${name}`,
  })),
  ldflags: versionStamps,
  takes: "about one minute when Go has compiled them before, four on two idle cores when not",
  instead,
};

const plugins = "github.com/containernetworking/plugins/plugins";
const containerd = "github.com/containerd/containerd/v2/cmd";
const lean = "no_aufs,no_zfs,no_btrfs,no_devmapper"; // snapshotters that no kind node uses

const node: GoBuild = {
  name: "kind-programs",
  programs: [
    { name: "kind", package: "sigs.k8s.io/kind" },
    { name: "containerd", package: `${containerd}/containerd`, tags: lean },
    { name: "containerd-shim-runc-v2", package: `${containerd}/containerd-shim-runc-v2`, tags: lean },
    { name: "ctr", package: `${containerd}/ctr`, tags: lean },
    { name: "crictl", package: "sigs.k8s.io/cri-tools/cmd/crictl" },
    { name: "host-local", package: `${plugins}/ipam/host-local` },
    { name: "loopback", package: `${plugins}/main/loopback` },
    { name: "ptp", package: `${plugins}/main/ptp` },
    { name: "coredns", package: "./coredns" },
    { name: "podnet", package: "./podnet" },
    { name: "pause", package: "./pause" },
    { name: "bounded-runc", package: "./bounded-runc" },
  ].map((program) => ({ ...program, module: nodeModule })),
  takes: "about one minute when Go has compiled them before, three on two idle cores when not",
  instead,
};

/** Paths of all programs, by name. */
export type Programs = (name: string) => string;

export { kubernetesVersion };

/** The path of kind, which is built when it is not there yet. */
export async function kindProgram(): Promise<string> {
  return join(await ensureGoPrograms(node), "kind");
}

/** Finds all programs in the cache, or builds them (15 minutes with an empty Go cache on two idle cores). */
export async function ensurePrograms(): Promise<Programs> {
  const controlPlane = await buildBinaries();
  const kubernetesFolder = await ensureGoPrograms(kubernetes);
  const nodeFolder = await ensureGoPrograms(node);
  const paths = new Map([
    ...Object.entries({ etcd: controlPlane.etcd, kubectl: controlPlane.kubectl }),
    ["kube-apiserver", controlPlane.kubeApiserver],
    ...kubernetes.programs.map(({ name }) => [name, join(kubernetesFolder, name)] as const),
    ...node.programs.map(({ name }) => [name, join(nodeFolder, name)] as const),
  ]);
  return (name) => paths.get(name)!;
}
