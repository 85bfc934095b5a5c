/** What an API server would make of a written object: metadata it sets, generations, and writes that change nothing. Pure. */
import { isDeepStrictEqual } from "node:util";
import { isFields, mapFields, mapValues } from "../api/fields.ts";
import type { ObjectMeta } from "../api/meta.ts";
import { readPoolStatus } from "../api/pool-status.ts";
import { installationResource, resources } from "../api/resources.ts";
import type { IpamKind } from "../api/v3.ts";
import { parseJson, printJson } from "../kube/json.ts";
import type { Kind, Stored } from "./datastore.ts";
import { withOwnLabels } from "./rows.ts";

/** The object as it is first stored; identity and time are the caller's. */
export function firstForm<K extends Kind>(object: Stored<K>, uid: string, now: Date): Stored<K> {
  const { metadata, ...rest } = withOwnLabels(plain(object));
  const created = { uid, generation: 1, creationTimestamp: `${now.toISOString().slice(0, 19)}Z` };
  const first = { ...rest, metadata: { ...ownMetadata(metadata), ...created } } as Stored<K>;
  return hasStatus(object.kind) ? withStatus(first, undefined) : first;
}

/** The object as an update leaves it: identity and, where that is written apart, the status stay as stored. */
export function nextForm<K extends Kind>(stored: Stored<K>, written: Stored<K>): Stored<K> {
  const { metadata, ...rest } = withOwnLabels(plain(written));
  const { uid, creationTimestamp, generation = 1 } = stored.metadata;
  const next = { ...rest, metadata: { ...ownMetadata(metadata), uid, creationTimestamp, generation } } as Stored<K>;
  const whole = hasStatus(written.kind) ? withStatus(next, statusOf(stored)) : next;
  const changed = !isDeepStrictEqual(whole.spec, stored.spec);
  return changed ? { ...whole, metadata: { ...whole.metadata, generation: generation + 1 } } : whole;
}

/** The object with another status and nothing else changed. */
export function withStatus<K extends Kind>(object: Stored<K>, status: unknown): Stored<K> {
  const { status: _replaced, ...rest } = object as Stored<K> & { status?: unknown };
  return (status === undefined ? rest : { ...rest, status: plain(status) }) as Stored<K>;
}

/** Whether a write would leave everything as it is. */
export function sameForm(a: Stored<Kind>, b: Stored<Kind>): boolean {
  return isDeepStrictEqual(a, b);
}

/** A stored text as the contract's object: sequence numbers are bigint however small they are, a pool's status is one. */
export function parseObject<T>(text: string): T {
  const object = parseJson(text) as { kind?: unknown; spec?: SequenceNumbers };
  if (object.kind === "IPPool") return mapFields({ ...object }, { status: readPoolStatus }) as T;
  if (object.kind !== "IPAMBlock" || !object.spec) return object as T;
  const { spec } = object;
  const perOrdinal = spec.sequenceNumberForAllocation;
  if (spec.sequenceNumber !== undefined) spec.sequenceNumber = exact(spec.sequenceNumber);
  if (isFields(perOrdinal)) spec.sequenceNumberForAllocation = mapValues(perOrdinal, exact);
  return object as T;
}

interface SequenceNumbers {
  sequenceNumber?: unknown;
  sequenceNumberForAllocation?: unknown;
}

/** What is no whole number stays for the schema to judge. */
const exact = (value: unknown): unknown => (Number.isSafeInteger(value) ? BigInt(value as number) : value);

/** As it will be read again: without undefined fields and class instances, sharing nothing with the caller. */
function plain<T>(value: T): T {
  return parseObject(printJson(value));
}

/** Metadata without what the store sets, or keeps in a column. */
function ownMetadata(metadata: ObjectMeta): ObjectMeta {
  const { resourceVersion: _r, uid: _u, creationTimestamp: _c, generation: _g, managedFields: _m, ...own } = metadata;
  return own;
}

function hasStatus(kind: Kind): boolean {
  const resource = kind === "Installation" ? installationResource : resources[kind as IpamKind].v3;
  return resource.statusSubresource;
}

function statusOf(object: Stored<Kind>): unknown {
  return (object as { status?: unknown }).status;
}
