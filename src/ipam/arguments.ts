/**
 * What callers may ask, checked at one door before anything is read or written: TypeScript's types end where JavaScript,
 * JSON and numbers begin.
 */
import { z } from "zod";
import { isObjectName } from "../api/names.ts";
import type { CallOptions } from "../datastore/datastore.ts";
import type { Ipam } from "./client.ts";
import { IpamError } from "./errors.ts";
import { shown } from "./words.ts";

/** A node's name has at most 253; the reference's tests go beyond. */
const LONGEST_HOST = 512;
/** So much for each of a block's 64 addresses still fits into an object. */
const MOST_ATTRIBUTE_BYTES = 16_384;

const HOST_WORDS =
  'must be a host name: lower-case letters, digits, "-" and ".", each part between dots beginning and ending with a ' +
  `letter or digit, at most ${LONGEST_HOST} long`;

export function isHostName(host: string): boolean {
  return isObjectName(host, LONGEST_HOST);
}

const text = z.string({ error: "must be text" });
const texts = z.array(text, { error: "must be a list of texts" });
const count = z.int({ error: "must be a whole number, at least 0" }).min(0, "must be a whole number, at least 0");
const given = <S extends z.ZodRawShape>(shape: S) => z.looseObject(shape, { error: "must be an object" });
const host = text.refine(isHostName, HOST_WORDS);
/** Empty text stands for the calling host, as in the reference. */
const hostOrOwn = z.union([z.literal(""), host], { error: HOST_WORDS });
const attributes = z
  .record(z.string(), text, { error: "must be a map of texts" })
  .refine((attrs) => bytesOf(attrs) <= MOST_ATTRIBUTE_BYTES, `must be at most ${MOST_ATTRIBUTE_BYTES} bytes`);
const reserve = given({ startOfBlock: count, endOfBlock: count, handle: text, note: text });
const pod = given({ namespace: text, name: text });
const use = text.optional();

/** Who is to own blocks; and who may have owned them, under whatever name. */
const affinityType = z.enum(["host", "virtual"], { error: 'must be "host" or "virtual"' });
const owner = given({ affinityType, host });
const formerOwner = given({ affinityType, host: text.min(1, "must not be empty") });

const block = given({
  metadata: given({ name: text }),
  spec: given({
    cidr: text,
    affinity: text.optional(),
    allocations: z.array(z.unknown(), { error: "must be a list" }),
    unallocated: z.array(z.unknown(), { error: "must be a list" }),
    attributes: z.array(z.unknown(), { error: "must be a list" }),
  }),
});

const forAutoAssign = given({
  num4: count.optional(),
  num6: count.optional(),
  handleID: text.optional(),
  attrs: attributes.optional(),
  hostname: hostOrOwn.optional(),
  ipv4Pools: texts.optional(),
  ipv6Pools: texts.optional(),
  maxBlocksPerHost: count.optional(),
  hostReservedAttrIPv4s: reserve.optional(),
  hostReservedAttrIPv6s: reserve.optional(),
  intendedUse: use,
  maxAllocToHandlePerIPVersion: count.optional(),
  namespace: given({}).optional(),
});
const forAssignIP = given({
  ip: text,
  handleID: text.optional(),
  attrs: attributes.optional(),
  hostname: hostOrOwn.optional(),
  hostReservedAttr: reserve.optional(),
  intendedUse: use,
  maxAllocToHandlePerIPVersion: count.optional(),
});
const forEnsureBlock = forAutoAssign.pick({
  hostname: true,
  ipv4Pools: true,
  ipv6Pools: true,
  hostReservedAttrIPv4s: true,
  hostReservedAttrIPv6s: true,
});
const releases = z.array(
  given({
    address: text,
    handle: text.optional(),
    sequenceNumber: z.bigint({ error: "must be a bigint" }).optional(),
  }),
  { error: "must be a list" },
);
const switches = z.boolean({ error: "must be true or false" }).optional();

/** Parameters of each method in their order; `args` stands for its own fields. */
const PARAMETERS: Readonly<Record<keyof Ipam, Readonly<Record<string, z.ZodType>>>> = {
  autoAssign: { args: forAutoAssign },
  assignIP: { args: forAssignIP },
  releaseIPs: { releases },
  releaseByHandle: { handleID: text },
  ipsByHandle: { handleID: text },
  getAssignmentAttributes: { ip: text },
  claimAffinity: { cidr: text, affinity: owner },
  releaseAffinity: {
    cidr: text,
    host: text.min(1, "must not be empty"),
    mustBeEmpty: z.boolean("must be true or false"),
  },
  releaseHostAffinities: { affinity: formerOwner, mustBeEmpty: z.boolean("must be true or false") },
  releasePoolAffinities: { cidr: text },
  releaseBlockAffinity: { block, mustBeEmpty: z.boolean("must be true or false") },
  removeIPAMHost: { affinity: formerOwner },
  ensureBlock: { args: forEnsureBlock },
  upgradeHost: { node: text.min(1, "must not be empty") },
  garbageCollectColdIPs: { config: given({ ipCooldownSeconds: z.number({ error: "must be a number" }) }), block },
  setOwnerAttributes: {
    ip: text,
    handleID: text,
    updates: given({
      activeOwnerAttrs: attributes.optional(),
      clearActiveOwner: switches,
      alternateOwnerAttrs: attributes.optional(),
      clearAlternateOwner: switches,
    }).nullish(), // what sets nothing is refused in the reference's words
    preconditions: given({
      expectedActiveOwner: pod.optional(),
      verifyActiveOwnerEmpty: switches,
      expectedAlternateOwner: pod.optional(),
      verifyAlternateOwnerEmpty: switches,
    }).optional(),
  },
  swapOwners: { handleID: text, target: pod.extend({ name: text.min(1, "must not be empty") }) },
  getUtilization: { args: given({ pools: texts.optional() }).optional() },
  getIPAMConfig: {},
  setIPAMConfig: {
    args: given({ strictAffinity: switches, autoAllocateBlocks: switches }),
  },
};

/** The same library behind the door: a call that is cancelled already, or asks nonsense, ends before it begins. */
export function behindTheDoor(ipam: Ipam): Ipam {
  const methods = Object.entries(PARAMETERS).map(([name, parameters]) => {
    const method = ipam[name as keyof Ipam] as (...args: readonly unknown[]) => Promise<unknown>;
    const schemas = Object.entries(parameters);
    return [
      name,
      async (...args: readonly unknown[]) => {
        (args[schemas.length] as CallOptions | undefined)?.signal?.throwIfAborted();
        checkArguments(name, schemas, args);
        return method(...args);
      },
    ];
  });
  return Object.fromEntries(methods) as Ipam;
}

function checkArguments(method: string, schemas: readonly [string, z.ZodType][], args: readonly unknown[]): void {
  const details = schemas.flatMap(([name, schema], index) => problemsOf(name, schema, args[index]));
  if (details.length === 0) return;
  throw new IpamError("InvalidArgument", `${method}: ${details.join("; ")}`, { details });
}

function problemsOf(parameter: string, schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => {
    const steps = parameter === "args" && path.length > 0 ? path : [parameter, ...path];
    return `${steps.map(String).join(".")} ${message} (given: ${shown(at(value, path))})`;
  });
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);
}

function bytesOf(attrs: Readonly<Record<string, string>>): number {
  return Object.entries(attrs).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
}
