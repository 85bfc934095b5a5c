/** What a bundle's lines hold, and how each is read: a bundle comes from elsewhere, so nothing in it is taken on trust. */
import { z } from "zod";
import { fromV3 } from "../../api/conversion.ts";
import type { IpamKind } from "../../api/v3.ts";
import {
  clusterInformationFacts,
  controllersFacts,
  eventFacts,
  namespaceFacts,
  nodeFacts,
  podFacts,
  serviceFacts,
  vmFacts,
} from "../../judgement/facts.ts";

/** How a file says that it is ours. */
export const BUNDLE = { bundle: "ipam-operator.io/v1alpha1" } as const;

const ipam = (kind: IpamKind) => (value: unknown) => fromV3(kind, value as object);
const facts = (schema: z.ZodType) => (value: unknown) => schema.parse(value);

/** Parts with a line per object, and the reader of one. */
export const READERS = {
  blocks: ipam("IPAMBlock"),
  affinities: ipam("BlockAffinity"),
  handles: ipam("IPAMHandle"),
  configurations: ipam("IPAMConfiguration"),
  pools: ipam("IPPool"),
  reservations: ipam("IPReservation"),
  nodes: facts(nodeFacts),
  namespaces: facts(namespaceFacts),
  pods: facts(podFacts),
  vms: facts(vmFacts),
  services: facts(serviceFacts),
  events: facts(eventFacts),
} as const satisfies Record<string, (value: unknown) => unknown>;
export type ListPart = keyof typeof READERS;
export const LISTS = Object.keys(READERS) as ListPart[];
/** Parts that every snapshot has. */
export const ALWAYS = ["blocks", "affinities", "handles", "configurations", "pools", "reservations"] as const;

/** Parts in the first line. */
export const VALUES = ["clusterInformation", "controllers", "foreignIpam", "malformed", "unread"] as const;

const malformed = z.object({ kind: z.string(), name: z.string(), reason: z.string() });
const unread = z.object({ part: z.string(), reason: z.string() });

export const firstLine = z.object({
  bundle: z.literal(BUNDLE.bundle),
  takenAt: z.iso.datetime(),
  datastore: z.string(),
  lists: z.array(z.enum(LISTS)),
  clusterInformation: clusterInformationFacts.optional(),
  controllers: controllersFacts.optional(),
  foreignIpam: z.string().optional(),
  malformed: z.array(malformed),
  unread: z.array(unread),
});
export const lastLine = z.object({ objects: z.int() });
