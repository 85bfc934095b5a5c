/**
 * The six IPAM kinds in their v1 form (`crd.projectcalico.org/v1`), as they lie in an older cluster's storage. Written
 * as the differences from the v3 form; nothing but `conversion.ts` and the v1 side of the Kubernetes backend speaks it.
 */
import { z } from "zod";
import { objectMeta } from "./meta.ts";
import {
  blockAffinitySpec,
  type IpamKind,
  ipamBlockSpec,
  ipamConfigurationSpec,
  ipamHandleSpec,
  ipPoolSpec,
  ipPoolStatus,
  ipReservationSpec,
} from "./v3.ts";

export const V1_API_VERSION = "crd.projectcalico.org/v1";
/** Annotation in which the reference keeps metadata that it does not trust the v1 object itself with. */
export const V1_METADATA_ANNOTATION = "projectcalico.org/metadata";

/** In v1 the mark of deletion is text, and the state is any text. */
export const v1BlockAffinitySpec = blockAffinitySpec.extend({
  state: z.string().describe("Where the claim stands: confirmed, pending, pendingDeletion; empty means confirmed."),
  deleted: z.string().describe('"true" on an affinity that is being deleted, else "false".'),
});

/** In v1 the two switches have no default, and must be there. */
export const v1IpamConfigSpec = ipamConfigurationSpec.required({ strictAffinity: true, autoAllocateBlocks: true });

const wireObject = <K extends string, S extends z.ZodType>(kind: K, spec: S) =>
  z.looseObject({ apiVersion: z.literal(V1_API_VERSION), kind: z.literal(kind), metadata: objectMeta, spec });

/** Schema per kind, of the whole object; by the kind's v3 name, though v1 calls the configuration IPAMConfig. */
export const v1Schemas = {
  IPAMBlock: wireObject("IPAMBlock", ipamBlockSpec),
  BlockAffinity: wireObject("BlockAffinity", v1BlockAffinitySpec),
  IPAMHandle: wireObject("IPAMHandle", ipamHandleSpec),
  IPAMConfiguration: wireObject("IPAMConfig", v1IpamConfigSpec),
  IPPool: wireObject("IPPool", ipPoolSpec).extend({ status: ipPoolStatus.optional() }),
  IPReservation: wireObject("IPReservation", ipReservationSpec),
} as const satisfies Record<IpamKind, z.ZodType>;

/** The v1 object type of a kind: `V1<"BlockAffinity">`. */
export type V1<K extends IpamKind> = z.infer<(typeof v1Schemas)[K]>;
