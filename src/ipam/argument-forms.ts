/** The form of what callers may ask: each method's parameters. */
import { z } from "zod";
import { isObjectName } from "../api/names.ts";
import { problemsOf } from "../datastore/validation.ts";
import { parseAddress } from "../net/address.ts";
import { parseCidr } from "../net/cidr.ts";
import type { Ipam } from "./client.ts";
import { shown } from "./words.ts";

/** A node's name has at most 253; the reference's tests go beyond. */
const LONGEST_HOST = 512;
/** So much for each of a block's 64 addresses still fits into an object. */
const MOST_ATTRIBUTE_BYTES = 16_384;

/** No block is so deep; what contains itself is deeper. */
const DEEPEST = 32;

const HOST_WORDS =
  'must be a host name: lower-case letters, digits, "-" and ".", each part between dots beginning and ending with a ' +
  `letter or digit, at most ${LONGEST_HOST} long`;

function isHostName(host: string): boolean {
  return isObjectName(host, LONGEST_HOST);
}

export const text = z.string({ error: "must be text" });
export const texts = z.array(text, { error: "must be a list of texts" });
const count = z.int({ error: "must be a whole number, at least 0" }).min(0, "must be a whole number, at least 0");
/** An object of ours: a field that it does not have is a misspelt one. */
export const given = <S extends z.ZodRawShape>(shape: S) => {
  const fields = `its fields are ${Object.keys(shape).join(", ")}`;
  const words = ({ code, keys = [] }: { code?: string; keys?: unknown }) =>
    code === "unrecognized_keys" ? `has no field ${shown([keys].flat().join(", "))}: ${fields}` : "must be an object";
  return z.strictObject(shape, { error: words });
};
/** An object of others, of which some fields are read. */
export const others = <S extends z.ZodRawShape>(shape: S) => z.looseObject(shape, { error: "must be an object" });
const address = text.refine((value) => parseAddress(value) !== undefined, "is not an IP address");
const cidr = text.refine((value) => parseCidr(value) !== undefined, "is not a CIDR");
const cidrs = z.array(cidr, { error: "must be a list of CIDRs" });
const host = text.refine(isHostName, HOST_WORDS);
/** Empty text stands for the calling host, as in the reference. */
const hostOrOwn = z.union([z.literal(""), host], { error: HOST_WORDS });
const TOO_LONG = `must be at most ${MOST_ATTRIBUTE_BYTES} bytes`;
const attributes = z
  .record(z.string(), text, { error: "must be a map of texts" })
  .refine((attrs) => bytesOf(attrs) <= MOST_ATTRIBUTE_BYTES, TOO_LONG);
const stored = text.refine((value) => Buffer.byteLength(value) <= MOST_ATTRIBUTE_BYTES, TOO_LONG);
const reserve = given({
  startOfBlock: count,
  endOfBlock: count,
  handle: stored.min(1, "must not be empty"),
  note: stored,
});
export const pod = given({ namespace: text, name: text });
const use = text.optional();

/** Who is to own blocks; and who may have owned them, under whatever name. */
const affinityType = z.enum(["host", "virtual"], { error: 'must be "host" or "virtual"' });
const owner = given({ affinityType, host });
const formerOwner = given({ affinityType, host: text.min(1, "must not be empty") });

/** A block as it was read. */
const block = z.unknown().superRefine((value, context) => {
  const problems = problemsOf("IPAMBlock", value);
  if (!isWithin(DEEPEST, value)) problems.push(`it is more than ${DEEPEST} levels deep, and cannot be written`);
  for (const message of problems) context.addIssue(`is no block: ${message}`);
});
export const mapOfTexts = z.record(z.string(), text, { error: "must be a map of texts" });
const namespace = others({ metadata: others({ labels: mapOfTexts.optional() }).optional() });

/** Which host, and which pools. */
const placeOfBlocks = {
  hostname: hostOrOwn.optional(),
  ipv4Pools: cidrs.optional(),
  ipv6Pools: cidrs.optional(),
  hostReservedAttrIPv4s: reserve.optional(),
  hostReservedAttrIPv6s: reserve.optional(),
};
const forAutoAssign = given({
  ...placeOfBlocks,
  num4: count.optional(),
  num6: count.optional(),
  handleID: text.optional(),
  attrs: attributes.optional(),
  maxBlocksPerHost: count.optional(),
  intendedUse: use,
  maxAllocToHandlePerIPVersion: count.optional(),
  allOrNothing: z.boolean("must be true or false").optional(),
  namespace: namespace.optional(),
});
const forAssignIP = given({
  ip: address,
  handleID: text.optional(),
  attrs: attributes.optional(),
  hostname: hostOrOwn.optional(),
  hostReservedAttr: reserve.optional(),
  intendedUse: use,
  maxAllocToHandlePerIPVersion: count.optional(),
});
const forEnsureBlock = given(placeOfBlocks);
const releases = z.array(
  given({
    address,
    handle: text.optional(),
    sequenceNumber: z.bigint({ error: "must be a bigint" }).optional(),
  }),
  { error: "must be a list" },
);
export const number = z.number({ error: "must be a number" });
export const switches = z.boolean({ error: "must be true or false" }).optional();

/** Parameters of each method in their order; `args` stands for its own fields. */
export const PARAMETERS: Readonly<Record<keyof Ipam, Readonly<Record<string, z.ZodType>>>> = {
  autoAssign: { args: forAutoAssign },
  assignIP: { args: forAssignIP },
  releaseIPs: { releases },
  releaseByHandle: { handleID: text },
  ipsByHandle: { handleID: text },
  getAssignmentAttributes: { ip: address },
  claimAffinity: { cidr, affinity: owner },
  releaseAffinity: {
    cidr,
    host: text.min(1, "must not be empty"),
    mustBeEmpty: z.boolean("must be true or false"),
  },
  releaseHostAffinities: { affinity: formerOwner, mustBeEmpty: z.boolean("must be true or false") },
  releasePoolAffinities: { cidr },
  releaseBlockAffinity: { block, mustBeEmpty: z.boolean("must be true or false") },
  removeIPAMHost: { affinity: formerOwner },
  ensureBlock: { args: forEnsureBlock },
  upgradeHost: { node: text.min(1, "must not be empty") },
  garbageCollectColdIPs: { config: others({ ipCooldownSeconds: number }), block },
  setOwnerAttributes: {
    ip: address,
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
    // other values, and fields that do not exist, are refused by the configuration's own rules
    args: others({
      strictAffinity: switches,
      autoAllocateBlocks: switches,
      maxBlocksPerHost: number.optional(),
      ipCooldownSeconds: number.optional(),
      kubeVirtVMAddressPersistence: text.nullish(),
    }),
  },
};

const isSignal = (value: unknown) => value instanceof AbortSignal;
export const signal = z.custom(isSignal, "must be an AbortSignal");
/** What every method takes last. */
export const forCall = given({ signal: signal.optional(), fresh: switches }).optional();

function bytesOf(attrs: Readonly<Record<string, string>>): number {
  return Object.entries(attrs).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
}

function isWithin(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(levels - 1, inner));
}
