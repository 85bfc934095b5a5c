/** What a person wants to see of a cluster when a test of the product failed on it. */
import type { Cluster } from "../kind/cluster.ts";
import { PRODUCT } from "./product.ts";
import type { Shell } from "./shell.ts";

const SELECTED = `--namespace ${PRODUCT} --selector app.kubernetes.io/name=${PRODUCT}`;
const COMMANDS = [
  `helm history ${PRODUCT} --namespace ${PRODUCT}`,
  `kubectl logs ${SELECTED} --prefix --tail=150 --ignore-errors`,
  `kubectl describe pods ${SELECTED}`,
  `kubectl get leases --namespace ${PRODUCT} --output yaml`,
  "kubectl get ipaminst --output yaml",
  "kubectl get ipamconfigurations.v3.projectcalico.org --output yaml",
  "kubectl get ippools.v3.projectcalico.org,blockaffinities.v3.projectcalico.org,ipamblocks.v3.projectcalico.org",
  `kubectl get clusterroles,clusterrolebindings --selector app.kubernetes.io/part-of=${PRODUCT}`,
  `kubectl get clusterroles,clusterrolebindings --selector app.kubernetes.io/managed-by=${PRODUCT} --output wide`,
];

/** The operator's logs and objects, then pods, events and kubelets of the cluster. */
export async function productReport(cluster: Cluster, shell: Shell): Promise<string> {
  const parts: string[] = [];
  for (const command of COMMANDS) parts.push(`$ ${command}\n${await shell(command).catch(String)}`);
  return [...parts, await cluster.logs()].join("\n\n");
}
