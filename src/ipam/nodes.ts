/** What pools are selected by: labels of nodes and of namespaces. Nodes are read through a function the caller gives. */

import type { Labelled, Labels } from "../api/selector-node.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import { IpamError } from "./errors.ts";

export type { Labelled } from "../api/selector-node.ts";

/** Reads a node; undefined where there is none of that name. */
export type NodeReader = (name: string, options: CallOptions) => Promise<Labelled | undefined>;

/** Without a cluster there are no Node objects: any host may draw, and has no labels. */
export const anyNode: NodeReader = async () => ({});

const CALICO_LABELS = "projectcalico.org/labels";

/** A node's labels: those Calico keeps in an annotation, overlaid by Kubernetes' own. */
export function nodeLabels(node: Labelled): Labels {
  const { labels = {}, annotations = {} } = node.metadata ?? {};
  return { ...annotated(annotations[CALICO_LABELS]), ...labels };
}

function annotated(text: string | undefined): Labels {
  if (text === undefined) return {};
  try {
    return JSON.parse(text) as Labels;
  } catch (cause) {
    const message = `the node's annotation ${CALICO_LABELS} is no JSON map: ${text}`;
    throw new IpamError("InvalidArgument", message, { cause });
  }
}
