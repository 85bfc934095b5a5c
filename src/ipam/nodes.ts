/** What pools are selected by: the labels of nodes. Nodes are read through a function. */

import type { Labelled, Labels } from "../api/selector-node.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { IpamError } from "./errors.ts";

export type { Labelled } from "../api/selector-node.ts";

/** Reads a node; undefined where there is none of that name. */
export type NodeReader = (name: string, options: CallOptions) => Promise<Labelled | undefined>;

/** Without a cluster there are no Node objects: any host may draw, and has no labels. */
export const anyNode: NodeReader = async () => ({});

const CALICO_LABELS = "projectcalico.org/labels";

/** The same reader for the length of one call: each node is read once. */
export function readOnce(nodes: NodeReader): NodeReader {
  const begun = new Map<string, Promise<Labelled | undefined>>();
  return (name, options) => {
    const node = begun.get(name) ?? nodes(name, options);
    begun.set(name, node);
    return node;
  };
}

/** A node's labels: those Calico keeps in an annotation, overlaid by Kubernetes' own. @throws IpamError MalformedObject */
export function nodeLabels(node: Labelled): Labels {
  const { labels = {}, annotations = {} } = node.metadata ?? {};
  return { ...annotated(annotations[CALICO_LABELS]), ...labels };
}

function annotated(text: string | undefined): Labels {
  if (text === undefined) return {};
  const labels = parsed(text) ?? {};
  const isMap = typeof labels === "object" && !Array.isArray(labels);
  if (isMap && Object.values(labels).every((label) => typeof label === "string")) return labels as Labels;
  throw new IpamError(
    "MalformedObject",
    `the node's annotation ${CALICO_LABELS} is no JSON map of texts, such as {"rack":"r1"}: ${text}. Correct it on the node`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // which is no map
  }
}
