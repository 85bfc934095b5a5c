/** The Installation of Calico's own operator: it says whose IPAM gives out the addresses of the cluster. */
import type { ResourceType } from "../kube/types.ts";
import type { KubeObject } from "./meta.ts";

export const calicoInstallationResource: ResourceType = {
  group: "operator.tigera.io",
  version: "v1",
  plural: "installations",
  kind: "Installation",
};

/** The IPAM type of the Calico operator's Installations where one of them is not Calico's own. */
export function foreignIpam(installations: readonly KubeObject[]): string | undefined {
  const types = installations.map(
    ({ spec }) => (spec as { cni?: { ipam?: { type?: unknown } } } | undefined)?.cni?.ipam?.type,
  );
  return types.find((type): type is string => typeof type === "string" && type !== "" && type !== "Calico");
}

/** A clause: what is set, and what follows from it. */
export function foreignIpamText(type: string): string {
  return (
    `the Calico operator's Installation sets spec.cni.ipam.type: ${type}, so Calico's IPAM hands out no ` +
    "addresses on this cluster"
  );
}

/** The warning that every verb prints first. */
export const foreignWarning = (type: string): string => `warning: ${foreignIpamText(type)}`;
