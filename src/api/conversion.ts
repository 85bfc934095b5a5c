/**
 * The one module that converts between what the API servers hold (v1 and v3 wire objects) and the model (v3).
 *
 * Nothing either form can express is lost, unknown fields included. What has two spellings gets one: null and, for
 * `affinity` and `type`, the empty text become absent; missing lists, maps and marks that the schema requires get their
 * empty value; in v1 a limit of zero is absent and an absent switch its default. The input is never changed.
 */
import type { z } from "zod";
import { canonicalCidr } from "../net/cidr.ts";
import { ConversionError, type Subject, schemaError } from "./conversion-error.ts";
import { copy, type Fields, isFields, mapFields, mapValues, withoutNulls } from "./fields.ts";
import { type ObjectMeta, objectMeta } from "./meta.ts";
import { readPoolStatus } from "./pool-status.ts";
import { type Resource, resources } from "./resources.ts";
import { type V1, V1_API_VERSION } from "./v1.ts";
import { withAnnotation, withoutAnnotation } from "./v1-metadata.ts";
import { allocationAttribute, type IpamKind, type V3, V3_API_VERSION, v3Schemas } from "./v3.ts";

export { ConversionError } from "./conversion-error.ts";

/** Reads an object of a `crd.projectcalico.org/v1` cluster. @throws ConversionError */
export function fromV1<K extends IpamKind>(kind: K, wire: object): V3<K> {
  return read(kind, resources[kind].v1, wire, withoutAnnotation);
}

/** Reads an object of a `projectcalico.org/v3` cluster. @throws ConversionError */
export function fromV3<K extends IpamKind>(kind: K, wire: object): V3<K> {
  return read(kind, resources[kind].v3, wire, (metadata) => metadata);
}

/** The object as a `crd.projectcalico.org/v1` cluster stores it. @throws ConversionError */
export function toV1<K extends IpamKind>(kind: K, object: V3<K>): V1<K> {
  const { metadata, spec, ...rest } = checked(kind, subjectOf(resources[kind].v1, object, false), copy(object));
  return {
    ...rest,
    apiVersion: V1_API_VERSION,
    kind: resources[kind].v1.kind,
    metadata: withAnnotation(metadata as ObjectMeta),
    spec: (v1SpecWriters[kind] ?? same)(spec as Fields),
  } as unknown as V1<K>;
}

/** The object as a `projectcalico.org/v3` cluster stores it. @throws ConversionError */
export function toV3<K extends IpamKind>(kind: K, object: V3<K>): V3<K> {
  return checked(kind, subjectOf(resources[kind].v3, object, false), copy(object));
}

type SpecConverter = (spec: Fields) => Fields;
const same: SpecConverter = (spec) => spec;

/** What older data of either generation lacks or spells differently. */
const specReaders: Partial<Record<IpamKind, SpecConverter>> = {
  IPAMBlock: (spec) => ({
    allocations: [],
    unallocated: [],
    attributes: [],
    strictAffinity: false,
    ...mapFields(spec, {
      affinity: blankIsAbsent,
      attributes: (list) => (Array.isArray(list) ? list.map(readAttribute) : list),
      sequenceNumber: toBigint,
      sequenceNumberForAllocation: (numbers) => (isFields(numbers) ? mapValues(numbers, toBigint) : numbers),
      deleted: readMark,
    }),
  }),
  BlockAffinity: (spec) => ({
    state: "",
    deleted: false,
    ...mapFields(spec, { type: blankIsAbsent, deleted: readMark }),
  }),
  IPAMHandle: (spec) => ({ block: {}, ...mapFields(spec, { deleted: readMark }) }),
};

/** What v1 spells differently. Its configuration requires both switches and leaves limits of zero out. */
const v1SpecWriters: Partial<Record<IpamKind, SpecConverter>> = {
  BlockAffinity: (spec) => mapFields(spec, { deleted: String }),
  IPAMConfiguration: (spec) => ({
    strictAffinity: false,
    autoAllocateBlocks: true,
    ...mapFields(spec, { maxBlocksPerHost: zeroIsAbsent, ipCooldownSeconds: zeroIsAbsent }),
  }),
};

const blankIsAbsent = (value: unknown) => (value === "" ? undefined : value);
const zeroIsAbsent = (value: unknown) => (value === 0 ? undefined : value);
const readAttribute = (value: unknown) => (isFields(value) ? withoutNulls(value, allocationAttribute) : value);

/** A number beyond the safe range was rounded by whoever parsed it; the schema then refuses it as no bigint. */
const toBigint = (value: unknown) => (Number.isSafeInteger(value) ? BigInt(value as number) : value);
const toNumber = (value: unknown) =>
  typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;

const TRUE = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE = ["", "0", "f", "F", "FALSE", "false", "False"];

/** The mark of deletion; v1 affinities have it as text, which Go's ParseBool reads. */
function readMark(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return TRUE.includes(value) || (FALSE.includes(value) ? false : value);
}

function read<K extends IpamKind>(
  kind: K,
  resource: Resource,
  wire: object,
  metadataOf: (metadata: Fields, subject: Subject) => Fields,
): V3<K> {
  const subject = subjectOf(resource, wire, true);
  const object = withoutNulls(copy(wire, toNumber) as Fields, v3Schemas[kind]);
  expectType(object, subject);
  return checked(kind, subject, {
    ...mapFields(object, kind === "IPPool" ? { status: readPoolStatus } : {}),
    apiVersion: V3_API_VERSION,
    kind,
    metadata: metadataOf(part(object, "metadata", objectMeta, subject), subject),
    spec: (specReaders[kind] ?? same)(part(object, "spec", v3Schemas[kind].shape.spec, subject)),
  });
}

/** Items of a list may come without type; another type than the one asked for is a mistake. */
function expectType(object: Fields, subject: Subject): void {
  const { group, version, kind } = subject.resource;
  for (const [field, expected] of [
    ["apiVersion", `${group}/${version}`],
    ["kind", kind],
  ] as const) {
    const found = object[field] ?? expected;
    if (found !== expected) throw new ConversionError(subject, field, `is ${JSON.stringify(found)}, not "${expected}"`);
  }
}

function part(object: Fields, name: "metadata" | "spec", schema: z.ZodObject, subject: Subject): Fields {
  const value = object[name] ?? {};
  if (!isFields(value)) throw new ConversionError(subject, name, "is not an object");
  return withoutNulls(value, schema);
}

/** The object itself, not the schema's output, which drops keys named `__proto__`. */
function checked<K extends IpamKind>(kind: K, subject: Subject, object: unknown): V3<K> {
  const result = v3Schemas[kind].safeParse(object);
  if (!result.success) throw schemaError(subject, object, result.error);
  const { cidr } = (object as { spec: { cidr?: string } }).spec;
  if (cidr !== undefined && canonicalCidr(cidr) === undefined) {
    throw new ConversionError(subject, "spec.cidr", `is ${JSON.stringify(cidr)}, which is no CIDR`);
  }
  return object as V3<K>;
}

function subjectOf(resource: Resource, object: object, stored: boolean): Subject {
  const { metadata } = object as { metadata?: { name?: unknown } | null };
  return { resource, name: String(metadata?.name ?? ""), stored };
}
