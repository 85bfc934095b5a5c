/** All that a cluster has. */
import type { Kubectl } from "../control-plane/kubectl.ts";

/** `Kind name` (with its namespace) of everything on the cluster but events, sorted. */
export async function everything({ kubectlOk }: Pick<Kubectl, "kubectlOk">): Promise<string[]> {
  const kinds = (await kubectlOk(["api-resources", "--verbs=list", "--output=name"])).trim().split("\n");
  const wanted = kinds.filter((kind) => !kind.startsWith("events") && !kind.startsWith("componentstatuses"));
  const columns = "custom-columns=K:.kind,G:.apiVersion,NS:.metadata.namespace,N:.metadata.name";
  const text = await kubectlOk(["get", wanted.join(","), "-A", "--no-headers", "--ignore-not-found", "-o", columns]);
  return text
    .trim()
    .split("\n")
    .map((line) => line.split(/\s+/))
    .map(([kind, , namespace, name]) => `${kind} ${namespace === "<none>" ? "" : `${namespace}/`}${name}`)
    .sort();
}
