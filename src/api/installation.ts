/**
 * The user-facing `Installation` (`ipam-operator.io/v1alpha1`): what an admin writes, and what the operator answers.
 * The spec is strict (unknown fields are refused) and only ever the user's; the status is only ever the operator's.
 */
import { z } from "zod";
import { DEFAULT_MAX_BLOCKS_PER_HOST, IP_COOLDOWN_SECONDS_LIMIT, MAX_BLOCKS_PER_HOST_LIMIT } from "./config-limits.ts";
import { condition, objectMeta } from "./meta.ts";
import { vmAddressPersistence } from "./v3.ts";

export const INSTALLATION_API_VERSION = "ipam-operator.io/v1alpha1";
export const INSTALLATION_KIND = "Installation";
/** The only name an Installation, and an IPAMConfiguration, may have. */
export const SINGLETON_NAME = "default";

export const MANAGEMENT_POLICIES = ["Observe", "Enforce", "Paused"] as const;
export type ManagementPolicy = (typeof MANAGEMENT_POLICIES)[number];

export const ipamSettings = z.strictObject({
  strictAffinity: z
    .boolean()
    .optional()
    .describe("True: pods get addresses only from blocks their node owns; nothing is borrowed. Needed on Windows."),
  autoAllocateBlocks: z
    .boolean()
    .optional()
    .describe("False: nodes claim no new blocks and allocate only from those they own. Needs strictAffinity: true."),
  maxBlocksPerHost: z
    .int()
    .min(0)
    .max(MAX_BLOCKS_PER_HOST_LIMIT)
    .optional()
    .describe(
      `Most blocks one node may own, 0 to ${MAX_BLOCKS_PER_HOST_LIMIT}. ` +
        `0 means the default, ${DEFAULT_MAX_BLOCKS_PER_HOST}. Above 0 needs strictAffinity: true.`,
    ),
  ipCooldownSeconds: z
    .int()
    .min(0)
    .max(IP_COOLDOWN_SECONDS_LIMIT)
    .optional()
    .describe(
      `Seconds a released address rests before it is handed out again, 0 to ${IP_COOLDOWN_SECONDS_LIMIT}. ` +
        "0 frees it at once.",
    ),
  kubeVirtVMAddressPersistence: vmAddressPersistence
    .optional()
    .describe("Enabled: a KubeVirt VM keeps its address across restart and live migration."),
});
/** The five settings, each optional: an absent one is not managed. */
export type IpamSettings = z.infer<typeof ipamSettings>;
export const IPAM_FIELDS = [
  "strictAffinity",
  "autoAllocateBlocks",
  "maxBlocksPerHost",
  "ipCooldownSeconds",
  "kubeVirtVMAddressPersistence",
] as const satisfies readonly (keyof IpamSettings)[];
/** The name of one of the five settings. */
export type IpamField = (typeof IPAM_FIELDS)[number];

export const installationSpec = z.strictObject({
  managementPolicy: z
    .enum(MANAGEMENT_POLICIES)
    .describe("Observe: report differences, write nothing. Enforce: keep the configuration so. Paused: touch nothing."),
  ipam: ipamSettings
    .optional()
    .describe("The settings to manage. One that is absent is not managed: its stored value stays."),
});
/** What a user asks for. */
export type InstallationSpec = z.infer<typeof installationSpec>;

/** Where a field's effective value comes from. */
export const FIELD_SOURCES = ["Installation", "Existing", "Default"] as const;

/** Values of fields travel as text in lists, because the five fields have three types. */
const fieldValue = z.string().describe("The value, as text.");

export const installationStatus = z.object({
  observedGeneration: z.int().optional().describe("The metadata.generation this status was made from."),
  conditions: z
    .array(condition)
    .optional()
    .describe("Ready, and while they apply Reconciling or Stalled.")
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], maxItems: 8 }),
  effective: z
    .object({
      strictAffinity: z.boolean().optional().describe("Value in force."),
      autoAllocateBlocks: z.boolean().optional().describe("Value in force."),
      maxBlocksPerHost: z.int().optional().describe(`Value in force; 0 means ${DEFAULT_MAX_BLOCKS_PER_HOST}.`),
      ipCooldownSeconds: z.int().optional().describe("Value in force, in seconds."),
      kubeVirtVMAddressPersistence: z.string().optional().describe("Value in force."),
    })
    .optional()
    .describe("The configuration the cluster's IPAM works with now, defaults filled in."),
  fields: z
    .array(
      z.object({
        name: z.enum(IPAM_FIELDS).describe("The field."),
        value: fieldValue,
        source: z
          .enum(FIELD_SOURCES)
          .describe("Installation: managed here. Existing: found stored. Default: stored nowhere."),
      }),
    )
    .optional()
    .describe("For each field its effective value and where it comes from.")
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], maxItems: 8 }),
  adopted: z
    .array(z.object({ name: z.enum(IPAM_FIELDS).describe("The field."), value: fieldValue }))
    .optional()
    .describe("The values found stored at first contact, before this product wrote anything.")
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], maxItems: 8 }),
  applied: z
    .array(z.object({ name: z.enum(IPAM_FIELDS).describe("The field."), value: fieldValue }))
    .optional()
    .describe("The values that were last in force by this operator's hand: what differs from one of them is drift.")
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], maxItems: 8 }),
  adoptedAt: z.iso.datetime().optional().describe("When the values in adopted were found."),
  datastore: z
    .object({
      apiGroup: z.string().describe("API group and version in use, or `embedded`."),
      chosenBy: z.string().describe("How it was chosen: Flag, Migration, Discovery or Embedded, and a short reason."),
    })
    .optional()
    .describe("Where the configuration is kept."),
  drift: z
    .array(
      z.object({
        name: z.enum(IPAM_FIELDS).describe("The field."),
        found: fieldValue,
        wanted: fieldValue,
        manager: z
          .string()
          .describe("Who wrote it: a manager's name from managedFields, or in words what is known without one."),
        time: z.iso.datetime().describe("When it was last reverted."),
        corrections: z
          .array(z.iso.datetime())
          .describe("When it was reverted within the last ten minutes.")
          .meta({ "x-kubernetes-list-type": "atomic", maxItems: 8 }),
        suspended: z
          .boolean()
          .optional()
          .describe("True: it was reverted too often. The operator stops until the spec or the field changes."),
        pending: z
          .boolean()
          .optional()
          .describe("True: it is about to be reverted. Written first, so that a crash loses nothing."),
      }),
    )
    .optional()
    .describe("Per field, the last time another writer changed it and the operator reverted it.")
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], maxItems: 8 }),
  lastDrift: z.string().optional().describe("The latest drift in one sentence."),
  warnings: z
    .array(
      z.object({
        type: z.string().describe("What kind of warning."),
        message: z.string().describe("What is likely to go wrong and what to change."),
      }),
    )
    .optional()
    .describe("What is allowed but likely to surprise.")
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], maxItems: 16 }),
});
export type InstallationStatus = z.infer<typeof installationStatus>;

export const installation = z.object({
  apiVersion: z.literal(INSTALLATION_API_VERSION),
  kind: z.literal(INSTALLATION_KIND),
  metadata: objectMeta,
  spec: installationSpec,
  status: installationStatus.optional(),
});
/** The user's object: what is asked for, and the operator's answer. */
export type Installation = z.infer<typeof installation>;
