/** What a user does and sees, by kubectl, in either generation of CRDs. */
import type { Installation, InstallationSpec } from "../../src/api/installation.ts";
import type { KubeObject } from "../../src/api/meta.ts";
import { resources } from "../../src/api/resources.ts";
import type { IPAMConfiguration } from "../../src/api/v3.ts";
import type { Kubectl } from "../control-plane/kubectl.ts";

export type Generation = "v1" | "v3";

interface Event extends KubeObject {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly uid?: string };
}

/** Nodes that a user adds: of no machine. */
const ADDED = "ipam-operator.io/added-by=user";

/** A user of one cluster. */
export function userOf(cluster: Kubectl, generation: Generation) {
  const type = resources.IPAMConfiguration[generation];
  // With its version: kubectl reads `ipamconfigs.crd.projectcalico.org` as the short name `ipamconfigs` of
  // `projectcalico.org` where both groups are served.
  const plural = `${type.plural}.${type.version}.${type.group}`;
  let isClean = false;
  const apply = async (object: object, args: readonly string[] = []) => {
    // Otherwise kubectl reads the whole OpenAPI document to find that a kind of ours has no strategic merge patch.
    const flags = ["--openapi-patch=false", ...args, "--filename", "-"];
    const applied = await cluster.kubectl(["apply", ...flags], { input: JSON.stringify(object) });
    if (applied.code === 0) isClean = false;
    return applied;
  };
  const installationOf = (spec: unknown, name = "default") => ({
    apiVersion: "ipam-operator.io/v1alpha1",
    kind: "Installation",
    metadata: { name },
    spec,
  });
  const get = async <T>(...args: string[]): Promise<T | undefined> => {
    const { code, stdout } = await cluster.kubectl(["get", ...args, "--output", "json", "--show-managed-fields"]);
    return code === 0 ? (JSON.parse(stdout) as T) : undefined;
  };
  let added = false;
  const user = {
    kubectlOk: cluster.kubectlOk,
    apply,
    addNode: (name: string, labels: Readonly<Record<string, string>> = {}) => {
      added = true;
      const [key = "", value = ""] = ADDED.split("=");
      return apply({ apiVersion: "v1", kind: "Node", metadata: { name, labels: { ...labels, [key]: value } } });
    },
    /** The resource's name as kubectl takes it. */
    plural,
    install: (spec: InstallationSpec) => apply(installationOf(spec)),
    tryInstall: (spec: unknown, name?: string, args?: readonly string[]) => apply(installationOf(spec, name), args),
    enforce: (ipam?: InstallationSpec["ipam"]) =>
      user.install({ managementPolicy: "Enforce", ...(ipam ? { ipam } : {}) }),
    installation: () => get<Installation>("ipaminst", "default"),
    configuration: (name = "default") => get<IPAMConfiguration>(plural, name),
    spec: async () => (await user.configuration())?.spec,
    /** Writes the configuration directly, as somebody else would. */
    configure: (spec: object, metadata: object = {}, args?: readonly string[]) =>
      apply(
        {
          apiVersion: `${type.group}/${type.version}`,
          kind: type.kind,
          metadata: { name: "default", ...metadata },
          spec,
        },
        args,
      ),
    /** Changes fields of the configuration directly. */
    patch: (spec: object) =>
      cluster.kubectlOk(["patch", plural, "default", "--type=merge", "--patch", JSON.stringify({ spec })]),
    wait: (condition: string) =>
      cluster.kubectl(["wait", `--for=condition=${condition}`, "ipaminst/default", "--timeout=60s"]),
    /** Reasons of the conditions, once the operator has answered the current spec. */
    reasons: async () => {
      const installation = await user.installation();
      if (installation?.metadata.generation !== installation?.status?.observedGeneration) return [];
      return (installation?.status?.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
    },
    message: async () => (await user.installation())?.status?.conditions?.at(-1)?.message ?? "",
    /** What was told of the Installation that is there now. */
    events: async () => {
      const uid = (await user.installation())?.metadata.uid;
      if (uid === undefined) return [];
      const list = await get<{ items: Event[] }>("events.v1.events.k8s.io", "--namespace", "default");
      const ofIt = (list?.items ?? []).filter(({ regarding }) => regarding.uid === uid);
      return ofIt.map(({ type, reason, note }) => `${type} ${reason}: ${note}`);
    },
    /** Back to a cluster with no Installation and no configuration. */
    reset: async () => {
      const stored = `${plural},ippools.${type.group}`;
      // One look is cheaper than deleting what is not there.
      if (isClean && (await cluster.kubectlOk(["get", `ipaminst,${stored}`, "--output", "name"])) === "") return;
      await cluster.kubectlOk(["delete", "ipaminst", "--all"]);
      const left = [[stored, "--all"], ...(added ? [["nodes", "--selector", ADDED]] : [])];
      await Promise.all(left.map((what) => cluster.kubectlOk(["delete", ...what])));
      added = false;
      isClean = true;
    },
  };
  return user;
}
export type User = ReturnType<typeof userOf>;
