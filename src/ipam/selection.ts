/** Whom the selectors of pools select. */
import { parseSelector, type Selector, SelectorError } from "../api/selector.ts";
import type { Labels } from "../api/selector-node.ts";
import type { IPPool } from "../api/v3.ts";
import { IpamError, isIpamError } from "./errors.ts";
import { type Labelled, nodeLabels } from "./nodes.ts";

/** Whether a pool's nodeSelector selects the node. @throws IpamError MalformedObject: the selector or the labels are none */
export function selectsNode(pool: IPPool, node: Labelled): boolean {
  return selectionOf(node)(pool);
}

/** The same for many pools: the node's labels are read once, and only where a selector asks for them. */
export function selectionOf(node: Labelled): (pool: IPPool) => boolean {
  let labels: Labels | undefined;
  return (pool) =>
    matches(pool, "nodeSelector", () => {
      labels ??= nodeLabels(node);
      return labels;
    });
}

/**
 * Whether a pool's namespaceSelector selects the namespace; one that is not known has no labels.
 * @throws IpamError MalformedObject: the selector is none
 */
export function selectsNamespace(pool: IPPool, namespace: Labelled | undefined): boolean {
  return matches(pool, "namespaceSelector", () => namespace?.metadata?.labels ?? {});
}

/** Why nobody can tell whom a pool selects; undefined where it can be told. */
export function selectorProblem(pool: IPPool): IpamError | undefined {
  try {
    for (const field of ["nodeSelector", "namespaceSelector"] as const) matches(pool, field, () => ({}));
    return undefined;
  } catch (error) {
    if (isIpamError(error, "MalformedObject")) return error;
    throw error;
  }
}

const isAll = (text: string | undefined): text is "" | undefined => !text || text === "all()";

/** Whether a pool is for every node, so that none need be read. */
export function selectsAllNodes(pool: IPPool): boolean {
  return isAll(pool.spec.nodeSelector);
}

function matches(
  { metadata, spec }: IPPool,
  field: "nodeSelector" | "namespaceSelector",
  labels: () => Labels,
): boolean {
  const text = spec[field];
  if (isAll(text)) return true;
  try {
    return parsedOnce(text).matches(labels());
  } catch (cause) {
    if (!(cause instanceof SelectorError)) throw cause;
    throw new IpamError("MalformedObject", `IPPool "${metadata.name}", spec.${field}: ${cause.message}`, { cause });
  }
}

const parsed = new Map<string, Selector>();
const MOST_PARSED = 16_384;

/** Selectors are few and asked often: one of the same text is the same. */
function parsedOnce(text: string): Selector {
  const known = parsed.get(text);
  if (known) return known;
  if (parsed.size >= MOST_PARSED) parsed.clear();
  const selector = parseSelector(text);
  parsed.set(text, selector);
  return selector;
}
