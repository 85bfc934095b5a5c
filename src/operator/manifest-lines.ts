/** The way back from a field of a parsed document to its line. */
import { isCollection, isMap, isScalar, type LineCounter, type Node, type Pair } from "yaml";
import type { YamlDocument } from "../kube/yaml.ts";

/** The line of a field; of what holds it where the field itself is missing. */
export type LineOf = (path: readonly PropertyKey[]) => number;

export function lineFinder(document: YamlDocument, lines: LineCounter): LineOf {
  const keys = new Map<Node, ReadonlyMap<unknown, Pair<Node, Node>>>();
  const pairIn = (node: Node | null | undefined, key: PropertyKey) => {
    if (!isMap<Node, Node>(node)) return undefined;
    // Made once: thousands of problems may be in one map.
    if (!keys.has(node))
      keys.set(node, new Map(node.items.map((pair) => [isScalar(pair.key) ? pair.key.value : undefined, pair])));
    return keys.get(node)!.get(key);
  };
  return (path) => {
    let node: Node | null | undefined = document.contents;
    let offset = node?.range?.[0] ?? 0;
    for (const key of path) {
      const pair = pairIn(node, key);
      offset = pair?.key.range?.[0] ?? offset;
      node = pair === undefined && isCollection(node) ? (node.get(key, true) as Node | undefined) : pair?.value;
    }
    return lines.linePos(offset).line;
  };
}
