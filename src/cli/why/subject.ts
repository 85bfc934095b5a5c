/** Whom is asked about: a pod by its name, or the next one on a node. */
import type { PodFacts } from "../../judgement/facts.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { podName } from "../../judgement/users.ts";
import { nearest } from "../nearest.ts";
import { UsageError } from "../usage-error.ts";

/**
 * `name` or `namespace/name`. A name alone may be one pod's only.
 * @throws Error where there is no such pod, or pods could not be looked at; UsageError where there are several
 */
export function podNamed(
  { pods, nodes = [], unread }: Snapshot,
  text: string,
  namespace: string | undefined,
): PodFacts {
  if (pods === undefined) {
    const { reason = "there are none where the data is kept" } = unread.find(({ part }) => part === "pods") ?? {};
    throw new Error(`pods cannot be looked at: ${reason}. Ask about the node: why --node NAME`);
  }
  const [name = "", space = namespace] = text.split("/").reverse();
  const found = pods.filter((pod) => pod.name === name && (space === undefined || pod.namespace === space));
  if (found.length === 1) return found[0]!;
  if (found.length > 1) {
    const spaces = found.map((pod) => pod.namespace).join(", ");
    throw new UsageError(`there is a pod ${name} in the namespaces ${spaces}: say which with --namespace.`);
  }
  const isNode = nodes.some((node) => node.name === text);
  const hint = isNode ? `, and a node of that name: ask with --node ${name}` : guess(pods, name);
  throw new Error(`there is no pod ${space === undefined ? name : `${space}/${name}`}${hint}`);
}

function guess(pods: readonly PodFacts[], name: string): string {
  const near = nearest(name, [...new Set(pods.map((pod) => pod.name))]);
  const pod = pods.find((candidate) => candidate.name === near);
  return pod ? `: did you mean ${podName(pod)}?` : "";
}

/** @throws Error where nodes are known, and none has this name or owns a block */
export function checkNode({ nodes, affinities }: Snapshot, name: string): void {
  if (nodes === undefined || nodes.some((node) => node.name === name)) return;
  if (affinities.some(({ spec }) => spec.node === name)) return;
  const near = nearest(
    name,
    nodes.map((node) => node.name),
  );
  throw new Error(`there is no node ${name}${near ? `: did you mean ${near}?` : ""}`);
}
