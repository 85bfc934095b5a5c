/**
 * Finds etcd, kube-apiserver and kubectl in the folder `KUBEBUILDER_ASSETS`, or builds them once from their Go modules
 * into a cache outside the checkout.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureGoPrograms, type GoBuild } from "../tools/go-build.ts";

export const kubernetesVersion = "1.36.3";
/** The folder of the go.mod that pins Kubernetes and all it is made of. */
export const kubernetesModule = join(import.meta.dirname, "kubernetes");
const etcdModule = join(import.meta.dirname, "etcd");

const versionVariables = {
  gitVersion: `v${kubernetesVersion}`,
  gitMajor: "1",
  gitMinor: "36",
  gitTreeState: "clean",
  buildDate: "2026-01-01T00:00:00Z",
};
/** Linker flags that tell a Kubernetes program its version. */
export const versionStamps = Object.entries(versionVariables).map(
  ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
);

const build: GoBuild = {
  name: "control-plane",
  programs: [
    { name: "etcd", module: etcdModule, package: "go.etcd.io/etcd/server/v3" },
    { name: "kube-apiserver", module: kubernetesModule, package: "k8s.io/kubernetes/cmd/kube-apiserver" },
    { name: "kubectl", module: kubernetesModule, package: "k8s.io/kubernetes/cmd/kubectl" },
  ],
  ldflags: versionStamps,
  takes: "about one minute when Go has compiled them before, seven on two cores when not",
  instead: "set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl",
};

/** Paths of the programs a control plane is made of. */
export interface Binaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubectl: string;
}

/** Finds the programs, or builds them (7 minutes with an empty Go cache on two cores); says on stderr when it builds. */
export async function ensureBinaries(env: NodeJS.ProcessEnv = process.env): Promise<Binaries> {
  const given = env["KUBEBUILDER_ASSETS"];
  if (given) return checked(given);
  return buildBinaries(env);
}

/** As `ensureBinaries`, but whatever `KUBEBUILDER_ASSETS` says: static programs of `kubernetesVersion`. */
export async function buildBinaries(env: NodeJS.ProcessEnv = process.env): Promise<Binaries> {
  return binariesIn(await ensureGoPrograms(build, env));
}

const binariesIn = (folder: string): Binaries => ({
  etcd: join(folder, "etcd"),
  kubeApiserver: join(folder, "kube-apiserver"),
  kubectl: join(folder, "kubectl"),
});

function checked(folder: string): Binaries {
  const missing = build.programs.filter(({ name }) => !existsSync(join(folder, name))).map(({ name }) => name);
  if (missing.length === 0) return binariesIn(folder);
  throw new Error(
    `KUBEBUILDER_ASSETS is ${folder}, which lacks ${missing.join(", ")}. ` +
      "Point it to a folder with etcd, kube-apiserver and kubectl, or unset it to have them built.",
  );
}
