/** How to install a kind that the cluster does not serve. Wherever CRDs are advised, these words say how. */
import { installationResource, resources } from "./resources.ts";

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** The files' rules for pools call CEL's `cidr()`, which came with 1.30 and is let into new CRDs from 1.31 on. */
const FILES_NEED = "Kubernetes 1.31 or later";

/** Calico's kinds of an API group. @param version of the group: the folder's name */
export function installAdvice(version: string): string {
  const chart = `helm upgrade --install ipam-operator-crds helm/ipam-operator-crds --set ipamCRDs=${version}`;
  return `kubectl apply --server-side -f crds/${version}/ (${FILES_NEED}), or ${chart}, or install Calico's own`;
}

/** Undefined for kinds that are neither ours nor Calico's IPAM. */
export function adviceFor({ group, version, plural }: Kind): string | undefined {
  if (group === installationResource.group) return `kubectl apply --server-side -f crds/${group}_${plural}.yaml`;
  const isCalicos = Object.values(resources).some(({ v1, v3 }) =>
    [v1, v3].some((resource) => resource.group === group && resource.plural === plural),
  );
  return isCalicos ? installAdvice(version) : undefined;
}
