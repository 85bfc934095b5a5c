/**
 * The field tables of Calico's CRDs, in one line a field: type, whether required, default, limits. Where the two
 * generations differ: `[v1, v3]`.
 */
import type { IpamKind } from "../../src/api/v3.ts";

type Field = string | readonly [v1: string, v3: string];

const encapsulation = "string enum=Never,Always,CrossSubnet";

export const FIELD_TABLES: Readonly<Record<IpamKind, Readonly<Record<string, Field>>>> = {
  IPAMBlock: {
    cidr: ["string required", "string required format=cidr"],
    affinity: ["string", "string pattern=^(host|virtual):[a-zA-Z0-9\\.\\-_]+$"],
    affinityClaimTime: "string format=date-time",
    allocations: ["array<integer?> required", "array<integer?> required list=atomic"],
    unallocated: ["array<integer> required", "array<integer> required list=atomic"],
    attributes: ["array<object> required", "array<object> required list=atomic"],
    "attributes[].handle_id": "string",
    "attributes[].secondary": "map<string>",
    "attributes[].alternateOwnerAttrs": "map<string>",
    "attributes[].releasedAt": "string format=date-time",
    sequenceNumber: "integer format=int64 default=0",
    sequenceNumberForAllocation: "map<integer format=int64>",
    deleted: "boolean",
    strictAffinity: "boolean required",
  },
  BlockAffinity: {
    state: ["string required", "string required enum=,confirmed,pending,pendingDeletion"],
    node: "string required",
    type: "string",
    cidr: ["string required", "string required format=cidr"],
    deleted: ["string required", "boolean required default=false"],
  },
  IPAMHandle: { handleID: "string required", block: "map<integer> required", deleted: "boolean" },
  IPAMConfiguration: {
    strictAffinity: ["boolean required", "boolean required default=false"],
    autoAllocateBlocks: ["boolean required", "boolean required default=true"],
    maxBlocksPerHost: [
      "integer minimum=0 maximum=2147483647",
      "integer format=int32 minimum=0 maximum=1000000 default=0",
    ],
    kubeVirtVMAddressPersistence: "string enum=Enabled,Disabled",
    ipCooldownSeconds: ["integer minimum=0 maximum=1200", "integer format=int32 minimum=0 maximum=1200"],
  },
  IPPool: {
    cidr: "string required format=cidr maxLength=48",
    vxlanMode: encapsulation,
    ipipMode: encapsulation,
    natOutgoing: "boolean",
    disabled: "boolean",
    disableBGPExport: "boolean",
    blockSize: "integer minimum=0 maximum=128",
    nodeSelector: "string maxLength=1024 default=all()",
    namespaceSelector: "string maxLength=1024",
    allowedUses: "array<string enum=Workload,Tunnel,LoadBalancer> maxItems=10 list=set",
    assignmentMode: "string enum=Automatic,Manual default=Automatic",
  },
  IPReservation: { reservedCIDRs: "array<string format=cidr> list=set" },
};

/** The part of a served schema that the tables speak of. */
export interface ServedSchema {
  readonly type?: string;
  readonly nullable?: boolean;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: ServedSchema;
  readonly additionalProperties?: ServedSchema;
  readonly properties?: Readonly<Record<string, ServedSchema>>;
  readonly required?: readonly string[];
  readonly "x-kubernetes-list-type"?: string;
  readonly [limit: string]: unknown;
}

/** A served schema as such a table. */
export function fieldTable(schema: ServedSchema, prefix = ""): Record<string, string> {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
      [`${prefix}${name}`, line(field, schema.required?.includes(name))],
      ...Object.entries(fieldTable(field.items ?? field, `${prefix}${name}${field.items ? "[]." : "."}`)),
    ]),
  );
}

const limits = ["format", "pattern", "minimum", "maximum", "maxLength", "maxItems"];

function line(schema: ServedSchema, required = false): string {
  const listType = schema["x-kubernetes-list-type"];
  return [
    typeName(schema),
    required && "required",
    schema.enum && `enum=${schema.enum}`,
    ...limits.map((limit) => schema[limit] !== undefined && `${limit}=${schema[limit]}`),
    schema.default !== undefined && `default=${schema.default}`,
    listType && `list=${listType}`,
  ]
    .filter(Boolean)
    .join(" ");
}

function typeName({ type, items, additionalProperties, nullable }: ServedSchema): string {
  if (items) return `array<${line(items)}>`;
  if (additionalProperties) return `map<${line(additionalProperties)}>`;
  return `${type}${nullable ? "?" : ""}`;
}
