/** How to install Calico's kinds where no Calico is. Wherever CRDs are advised, these words say how. */

/** The files' rules for pools call CEL's `cidr()`, which came with 1.30 and is let into new CRDs from 1.31 on. */
const FILES_NEED = "Kubernetes 1.31 or later";

/** @param version of the API group: the folder's name */
export function installAdvice(version: string): string {
  const chart = `helm upgrade --install ipam-operator-crds helm/ipam-operator-crds --set ipamCRDs=${version}`;
  return `kubectl apply --server-side -f crds/${version}/ (${FILES_NEED}), or ${chart}, or install Calico's own`;
}
