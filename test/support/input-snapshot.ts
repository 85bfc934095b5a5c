/** A case's input as the snapshot that would be taken of a cluster with these objects. */

import { fromV1, fromV3 } from "../../src/api/conversion.ts";
import type { KubeObject } from "../../src/api/meta.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import { eventFacts, nodeFacts, podFacts, serviceFacts } from "../../src/cli/snapshot/facts.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { documents } from "./case-inputs.ts";

const PARTS = {
  IPAMBlock: "blocks",
  BlockAffinity: "affinities",
  IPAMHandle: "handles",
  IPAMConfiguration: "configurations",
  IPPool: "pools",
  IPReservation: "reservations",
} as const satisfies Record<IpamKind, keyof Snapshot>;

const READERS = {
  Node: ["nodes", nodeFacts],
  Pod: ["pods", podFacts],
  Service: ["services", serviceFacts],
  Event: ["events", eventFacts],
} as const;

export function inputSnapshot(name: string, takenAt: Date): Snapshot {
  const found: Record<string, unknown[]> = { nodes: [], pods: [], services: [], events: [], namespaces: [] };
  let datastore = "projectcalico.org/v3";
  for (const document of documents(name) as KubeObject[]) {
    const { kind, apiVersion } = document;
    if (kind in READERS) {
      const [part, read] = READERS[kind as keyof typeof READERS];
      found[part]!.push(read(document));
      continue;
    }
    if (apiVersion !== datastore) datastore = apiVersion;
    const part = PARTS[kind as IpamKind];
    const read = apiVersion.startsWith("crd.") ? fromV1 : fromV3;
    found[part] = [...(found[part] ?? []), read(kind as IpamKind, document)];
  }
  return { ...emptySnapshot(takenAt.toISOString(), datastore), ...found };
}
