/** Affinities: which host claims which block. One row per host and range; only confirmed ones prove ownership. */
import {
  affinityLabels,
  affinityName,
  HOSTNAME_HASH_LABEL,
  hostnameHash,
  IP_VERSION_LABEL,
  isObjectName,
} from "../api/names.ts";
import { type BlockAffinity, type BlockAffinitySpec, type IPAMBlock, V3_API_VERSION } from "../api/v3.ts";
import { type CallOptions, isDatastoreError } from "../datastore/datastore.ts";
import { type IpVersion, parseAddress } from "../net/address.ts";
import { type Cidr, formatCidr, parseCidr } from "../net/cidr.ts";
import { type Context, TO_ACT_ON } from "./context.ts";
import { IpamError, TransientError } from "./errors.ts";
import { shown } from "./words.ts";

/** `host`: a node. `virtual`: something that stands for one, such as `load-balancer`. */ export type AffinityType =
  | "host"
  | "virtual";

/** Who can own blocks: a host, or something that stands for one. */
export interface AffinityConfig {
  /** What kind of owner. */
  readonly affinityType: AffinityType;
  /** Its name, as nodes are named. */
  readonly host: string;
}

/** The owner as blocks store it. */
export function affinityText({ affinityType, host }: AffinityConfig): string {
  return `${affinityType}:${host}`;
}

/** The owner a block stores; undefined where nobody owns it. @throws IpamError MalformedBlock */
export function ownerOf({ metadata, spec }: IPAMBlock): AffinityConfig | undefined {
  if (!spec.affinity) return undefined;
  const [, affinityType, host] = /^(host|virtual):(.+)$/s.exec(spec.affinity) ?? [];
  if (affinityType && host) return { affinityType: affinityType as AffinityType, host };
  const message = `IPAMBlock "${metadata.name}": spec.affinity "${spec.affinity}" is neither host:<name> nor virtual:<name>`;
  throw new IpamError("MalformedBlock", message);
}

/** A row's owner; one without a type is older than types, and means a host. */
export function rowOwner({ spec }: BlockAffinity): AffinityConfig {
  return { affinityType: spec.type === "virtual" ? "virtual" : "host", host: spec.node };
}

/** The range a row claims. @throws IpamError MalformedBlock */
export function rowRange({ metadata, spec }: BlockAffinity): Cidr {
  const cidr = parseCidr(spec.cidr);
  if (cidr) return cidr;
  throw new IpamError("MalformedBlock", `BlockAffinity "${metadata.name}": spec.cidr "${spec.cidr}" is not a CIDR`);
}

/** The same; undefined where it is none, which is said. */
export function readableRange({ metadata, spec }: BlockAffinity, warn: Context["warn"]): Cidr | undefined {
  const cidr = parseCidr(spec.cidr);
  if (!cidr) warn(`BlockAffinity "${metadata.name}" is skipped: spec.cidr ${shown(spec.cidr)} is not a CIDR`);
  return cidr;
}

/** Whether a row names an address inside a block instead of the block: no block has such a range. */
export function hasHostBits({ spec }: BlockAffinity): boolean {
  const range = parseCidr(spec.cidr);
  return range !== undefined && parseAddress(spec.cidr.split("/", 1)[0]!)?.value !== range.base;
}

/** Whether a row proves ownership. Rows older than states have none. */
export function isConfirmed({ spec }: BlockAffinity): boolean {
  return spec.state === "confirmed" || spec.state === "";
}

/** An owner's rows of one family, in every state, in the order of their names. */
export async function listAffinities(
  { datastore, warn }: Context,
  owner: AffinityConfig,
  version: IpVersion,
  options: CallOptions,
): Promise<BlockAffinity[]> {
  // Not by the type's label: rows upgraded by Calico from a time before types carry an empty one.
  const labels = { [HOSTNAME_HASH_LABEL]: hostnameHash(owner.host), [IP_VERSION_LABEL]: String(version) };
  const { items, malformed } = await datastore.list("BlockAffinity", { ...options, ...TO_ACT_ON, labels });
  for (const { name, reason } of malformed) warn(`BlockAffinity "${name}" is passed over: ${reason}`);
  const own = items.filter((row) => affinityText(rowOwner(row)) === affinityText(owner));
  return own.filter((row) => readableRange(row, warn)?.version === version);
}

export function getAffinity({ datastore }: Context, owner: AffinityConfig, cidr: Cidr, options: CallOptions) {
  return datastore.get("BlockAffinity", affinityName(owner.host, formatCidr(cidr)), options);
}

/**
 * First phase of a claim: the row is there, and pending. One that is confirmed already stays so; any other is written, which
 * shows that it is still as it was read.
 */
export async function pendingAffinity(
  context: Context,
  owner: AffinityConfig,
  cidr: Cidr,
  options: CallOptions,
): Promise<BlockAffinity> {
  try {
    return await createRow(context, owner, cidr, "pending", options);
  } catch (error) {
    if (!isDatastoreError(error, "AlreadyExists")) throw error;
  }
  const row = await getAffinity(context, owner, cidr, options);
  if (affinityText(rowOwner(row)) !== affinityText(owner)) throw claimConflict(cidr, affinityText(rowOwner(row)));
  return row.spec.state === "confirmed" ? row : withState(context, row, "pending", options);
}

export function claimConflict(cidr: Cidr, owner: string | undefined): TransientError {
  return new TransientError("BlockClaimConflict", `block ${formatCidr(cidr)} belongs to ${owner ?? "nobody"}`);
}

/** @throws DatastoreError AlreadyExists where someone else was first */
export function createRow(
  { datastore }: Context,
  { affinityType, host }: AffinityConfig,
  range: Cidr,
  state: BlockAffinitySpec["state"],
  options: CallOptions,
): Promise<BlockAffinity> {
  const cidr = formatCidr(range);
  const spec: BlockAffinitySpec = { state, node: host, type: affinityType, cidr, deleted: false };
  const metadata = { name: affinityName(host, cidr), labels: affinityLabels(spec) };
  if (!isObjectName(metadata.name)) {
    const message = `host ${host} cannot own block ${cidr}: its BlockAffinity would be "${metadata.name}", which is no object name`;
    throw new IpamError("InvalidArgument", message);
  }
  const row: BlockAffinity = { apiVersion: V3_API_VERSION, kind: "BlockAffinity", metadata, spec };
  return datastore.create<"BlockAffinity">(row, options);
}

/** Writes a row's state at the revision it was read at; rows older than types get theirs. */
export function withState(
  { datastore }: Context,
  row: BlockAffinity,
  state: BlockAffinitySpec["state"],
  options: CallOptions,
): Promise<BlockAffinity> {
  const spec = { ...row.spec, type: row.spec.type || "host", state };
  return datastore.update({ ...row, spec }, options);
}
