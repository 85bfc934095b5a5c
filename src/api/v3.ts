/**
 * The six IPAM kinds in their v3 form (`projectcalico.org/v3`): the model everything above `datastore/` speaks.
 *
 * Each schema yields the TypeScript type, the CRD schema (a `.describe` on every field, CRD-only keywords through
 * `.meta`), the embedded store's validation and the reference page. Wire types are loose: a field that a newer
 * Calico adds survives a read-modify-write. 64-bit numbers are bigint.
 *
 * `.meta` holds what only the CRDs say, so that reading stays tolerant of older data: keywords for both generations, and
 * under `v1` or `v3` those of one generation. `crdRequired` makes a field required there.
 */
import { z } from "zod";
import { DEFAULT_MAX_BLOCKS_PER_HOST, IP_COOLDOWN_SECONDS_LIMIT, MAX_BLOCKS_PER_HOST_LIMIT } from "./config-limits.ts";
import { ipPoolCidrRules, ipPoolRules } from "./ippool-rules.ts";
import { condition, objectMeta, wireObject } from "./meta.ts";

export const V3_API_VERSION = "projectcalico.org/v3";

/** Sequence numbers are nanoseconds since the epoch (about 1.8e18): beyond what a double holds. */
const int64 = z.bigint().meta({ type: "integer", format: "int64" });

const atomicList = { v3: { "x-kubernetes-list-type": "atomic" } };
/** Only the v3 schemas of blocks and affinities say that a CIDR must be one. */
const cidrInV3 = { v3: { format: "cidr" } };
const UNCHANGEABLE = { rule: "self == oldSelf", reason: "FieldValueForbidden" };

const attributeMap = z.record(z.string(), z.string());
/** Attributes of an owner, such as `pod`, `namespace`, `node`. */
export type AttributeMap = Readonly<z.infer<typeof attributeMap>>;

export const allocationAttribute = wireObject({
  handle_id: z.string().optional().describe("Handle that owns the addresses which point at this entry."),
  secondary: attributeMap.optional().describe("Attributes of the active owner: node, namespace, pod, type, timestamp."),
  alternateOwnerAttrs: attributeMap.optional().describe("Attributes of the alternate owner (a migrating VM's target)."),
  releasedAt: z
    .string()
    .optional()
    .describe("When the addresses of this entry were released; present only while they cool down.")
    .meta({ format: "date-time" }),
});
export type AllocationAttribute = z.infer<typeof allocationAttribute>;

export const ipamBlockSpec = wireObject({
  cidr: z.string().describe("Range of the block, canonical and masked.").meta(cidrInV3),
  affinity: z
    .string()
    .optional()
    .describe("Owner of the block, `host:<node>` or `virtual:<name>`; absent when nobody owns it.")
    .meta({ v3: { pattern: "^(host|virtual):[a-zA-Z0-9\\.\\-_]+$" } }),
  affinityClaimTime: z.string().optional().describe("When the owner claimed the block.").meta({ format: "date-time" }),
  allocations: z
    .array(z.int().nullable())
    .describe("One entry per address: null when free, else an index into attributes.")
    .meta(atomicList),
  unallocated: z.array(z.int()).describe("Free ordinals, the next to hand out first.").meta(atomicList),
  attributes: z
    .array(allocationAttribute)
    .describe("What is known of the allocations; entries are shared between addresses.")
    .meta(atomicList),
  sequenceNumber: int64
    .optional()
    .describe("Grows by one with each write of the block; starts as nanoseconds since 1970.")
    .meta({ default: 0 }),
  sequenceNumberForAllocation: z
    .record(z.string(), int64)
    .optional()
    .describe("Per ordinal, the block's sequence number at the moment of allocation."),
  deleted: z.boolean().optional().describe("Set on a block that is being deleted; readers treat it as gone."),
  strictAffinity: z.boolean().describe("Not used any more; always false. The schema requires it."),
});
export type IPAMBlockSpec = z.infer<typeof ipamBlockSpec>;

export const AFFINITY_STATES = ["", "confirmed", "pending", "pendingDeletion"] as const;

export const blockAffinitySpec = wireObject({
  state: z.enum(AFFINITY_STATES).describe("Where the claim stands; empty on data older than states (means confirmed)."),
  node: z.string().describe("Host that claims the block."),
  type: z.string().optional().describe("`host` or `virtual`; absent means host."),
  cidr: z.string().describe("Range of the claimed block.").meta(cidrInV3),
  deleted: z
    .boolean()
    .describe("Set on an affinity that is being deleted; readers treat it as gone.")
    .meta({ v3: { default: false } }),
});
export type BlockAffinitySpec = z.infer<typeof blockAffinitySpec>;

export const ipamHandleSpec = wireObject({
  handleID: z.string().describe("The handle, with its creator's spelling."),
  block: z.record(z.string(), z.int()).describe("Number of addresses of this handle per block, by the block's CIDR."),
  deleted: z.boolean().optional().describe("Set on a handle that is being deleted; readers treat it as gone."),
});
export type IPAMHandleSpec = z.infer<typeof ipamHandleSpec>;

export const vmAddressPersistence = z.enum(["Enabled", "Disabled"]);
/** Whether a KubeVirt VM keeps its address across restart and migration. */
export type VMAddressPersistence = z.infer<typeof vmAddressPersistence>;

export const ipamConfigurationSpec = wireObject({
  strictAffinity: z
    .boolean()
    .optional()
    .describe("True: addresses come only from the node's own blocks, none are borrowed.")
    .meta({ crdRequired: true, v3: { default: false } }),
  autoAllocateBlocks: z
    .boolean()
    .optional()
    .describe("False: nodes claim no new blocks. Absent means true.")
    .meta({ crdRequired: true, v3: { default: true } }),
  maxBlocksPerHost: z
    .int()
    .optional()
    .describe(
      `Most blocks one node may own. 0 means the library's default, ${DEFAULT_MAX_BLOCKS_PER_HOST}. ` +
        "Above 0 needs strictAffinity: true.",
    )
    .meta({
      minimum: 0,
      v1: { maximum: 2_147_483_647 },
      v3: { maximum: MAX_BLOCKS_PER_HOST_LIMIT, format: "int32", default: 0 },
    }),
  kubeVirtVMAddressPersistence: vmAddressPersistence
    .optional()
    .describe("Whether a KubeVirt VM keeps its address across restart and migration. Absent means Enabled."),
  ipCooldownSeconds: z
    .int()
    .optional()
    .describe(`Seconds a released address rests before it can be handed out again, 0 to ${IP_COOLDOWN_SECONDS_LIMIT}.`)
    .meta({ minimum: 0, maximum: IP_COOLDOWN_SECONDS_LIMIT, v3: { format: "int32" } }),
});
/** The configuration as it is stored: what is absent has its default. */
export type IPAMConfigurationSpec = z.infer<typeof ipamConfigurationSpec>;

const encapsulationMode = { enum: ["Never", "Always", "CrossSubnet"] };
const selector = { maxLength: 1024 };

export const ipPoolSpec = wireObject({
  cidr: z
    .string()
    .describe("Range of the pool, strictly masked; cannot be changed.")
    .meta({
      format: "cidr",
      maxLength: 48,
      "x-kubernetes-validations": [{ ...UNCHANGEABLE, message: "cidr cannot be changed" }, ...ipPoolCidrRules],
    }),
  vxlanMode: z
    .string()
    .optional()
    .describe("VXLAN encapsulation: Never, Always or CrossSubnet; Never when absent.")
    .meta(encapsulationMode),
  ipipMode: z
    .string()
    .optional()
    .describe("IP-in-IP encapsulation, IPv4 only: Never, Always or CrossSubnet; Never when absent.")
    .meta(encapsulationMode),
  natOutgoing: z.boolean().optional().describe("Whether traffic that leaves the pool is masqueraded."),
  disabled: z.boolean().optional().describe("True: no new addresses from this pool."),
  disableBGPExport: z.boolean().optional().describe("True: routes of this pool are not exported over BGP."),
  blockSize: z
    .int()
    .optional()
    .describe(
      "Prefix length of the pool's blocks, 20 to 32 for IPv4 (26 when absent or 0), 116 to 128 for IPv6 (122); " +
        "cannot be changed.",
    )
    .meta({
      minimum: 0,
      maximum: 128,
      "x-kubernetes-validations": [{ ...UNCHANGEABLE, message: "blockSize cannot be changed" }],
    }),
  nodeSelector: z
    .string()
    .optional()
    .describe("Nodes that may draw from the pool; all() when absent.")
    .meta({ ...selector, default: "all()" }),
  namespaceSelector: z
    .string()
    .optional()
    .describe("Namespaces whose pods may draw from the pool; any when absent.")
    .meta(selector),
  allowedUses: z
    .array(z.string().meta({ enum: ["Workload", "Tunnel", "LoadBalancer"] }))
    .optional()
    .describe("Workload, Tunnel, LoadBalancer; Workload and Tunnel when absent or empty.")
    .meta({ maxItems: 10, "x-kubernetes-list-type": "set" }),
  assignmentMode: z
    .string()
    .optional()
    .describe("Automatic, or Manual: only when the pool is asked for by name.")
    .meta({ enum: ["Automatic", "Manual"], default: "Automatic" }),
}).meta({ "x-kubernetes-validations": ipPoolRules });
export type IPPoolSpec = z.infer<typeof ipPoolSpec>;

const { status, reason, message, lastTransitionTime, observedGeneration } = condition.shape;
/** A condition as Calico's controllers write it: of what the CRDs ask for, reading needs type and status only. */
export const poolCondition = wireObject({
  type: z.string().describe("Aspect of the pool: Allocatable."),
  status: z.string().describe(status.description!).meta({ enum: status.options }),
  reason: reason.optional().meta({ crdRequired: true }),
  message: message.optional().meta({ crdRequired: true }),
  lastTransitionTime: z
    .string()
    .optional()
    .describe(lastTransitionTime.description!)
    .meta({ crdRequired: true, format: "date-time" }),
  observedGeneration,
});

export const ipPoolStatus = wireObject({
  conditions: z
    .array(poolCondition)
    .optional()
    .describe("Allocatable: whether addresses are handed out from the pool, and if not, why.")
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] }),
});

export const ipReservationSpec = wireObject({
  reservedCIDRs: z
    .array(z.string().meta({ format: "cidr" }))
    .optional()
    .describe("Ranges and addresses that are never handed out automatically.")
    .meta({ "x-kubernetes-list-type": "set" }),
});
export type IPReservationSpec = z.infer<typeof ipReservationSpec>;

const kindObject = <K extends string, S extends z.ZodType>(kind: K, spec: S) =>
  wireObject({
    apiVersion: z.literal(V3_API_VERSION),
    kind: z.literal(kind),
    metadata: objectMeta,
    spec,
  });

/** Schema per kind, of the whole object. */
export const v3Schemas = {
  IPAMBlock: kindObject("IPAMBlock", ipamBlockSpec),
  BlockAffinity: kindObject("BlockAffinity", blockAffinitySpec),
  IPAMHandle: kindObject("IPAMHandle", ipamHandleSpec),
  IPAMConfiguration: kindObject("IPAMConfiguration", ipamConfigurationSpec),
  IPPool: kindObject("IPPool", ipPoolSpec).extend({ status: ipPoolStatus.optional() }),
  IPReservation: kindObject("IPReservation", ipReservationSpec),
} as const;

/** The six kinds of IPAM data. */
export type IpamKind = keyof typeof v3Schemas;
/** The object type of a kind: `V3<"IPAMBlock">`. */
export type V3<K extends IpamKind> = z.infer<(typeof v3Schemas)[K]>;

/** A block of addresses: who owns it, and which of them are allocated to whom. */
export type IPAMBlock = V3<"IPAMBlock">;
/** A host's claim of a block. */
export type BlockAffinity = V3<"BlockAffinity">;
/** How many addresses a handle has in which blocks. */
export type IPAMHandle = V3<"IPAMHandle">;
/** The one configuration of a cluster's IPAM. */
export type IPAMConfiguration = V3<"IPAMConfiguration">;
/** A range from which blocks are cut, and who may draw from it. */
export type IPPool = V3<"IPPool">;
/** Ranges and addresses that are never handed out automatically. */
export type IPReservation = V3<"IPReservation">;
