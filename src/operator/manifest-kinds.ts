/** The kinds a manifest may hold, in both API groups of Calico; what is written for v1 is read as its v3 form. */
import { ConversionError, fromV1 } from "../api/conversion.ts";
import { installation } from "../api/installation.ts";
import { resources } from "../api/resources.ts";
import { V1_API_VERSION } from "../api/v1.ts";
import { v3Schemas } from "../api/v3.ts";
import { nearest } from "./nearest.ts";

/** Blocks, affinities and handles are the library's own records, not a person's to write. */
export const MANIFEST_KINDS = ["Installation", "IPAMConfiguration", "IPPool", "IPReservation"] as const;
export type ManifestKind = (typeof MANIFEST_KINDS)[number];
type V1Kind = Exclude<ManifestKind, "Installation">;

/** Of each kind as it is kept. */
const SCHEMAS = {
  Installation: installation.omit({ status: true }),
  IPAMConfiguration: v3Schemas.IPAMConfiguration,
  IPPool: v3Schemas.IPPool,
  IPReservation: v3Schemas.IPReservation,
} as const;

const V1_KINDS: readonly V1Kind[] = ["IPAMConfiguration", "IPPool", "IPReservation"];

interface Written {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
}

/** The kind of an object as it is kept, and whether it is written in its v1 form; undefined for any other. */
export function kindOf(value: unknown): { readonly kind: ManifestKind; readonly isV1: boolean } | undefined {
  const { apiVersion, kind: written } = value as Written;
  const v1 = V1_KINDS.find((kind) => apiVersion === V1_API_VERSION && written === resources[kind].v1.kind);
  if (v1 !== undefined) return { kind: v1, isV1: true };
  const kind = MANIFEST_KINDS.find((name) => written === name && apiVersion === SCHEMAS[name].shape.apiVersion.value);
  return kind && { kind, isV1: false };
}

/** @returns the object as it is kept, or why it cannot be read */
export function asKept(kind: ManifestKind, isV1: boolean, read: object): object | string {
  if (!isV1) return read;
  try {
    return fromV1(kind as V1Kind, read);
  } catch (error) {
    if (error instanceof ConversionError) return error.message;
    throw error;
  }
}

export function unknownKind(value: unknown): string {
  const { apiVersion, kind } = value as Written;
  if (apiVersion === undefined || kind === undefined)
    return "not a Kubernetes object: a document needs apiVersion, kind, metadata and spec";
  if (typeof apiVersion !== "string" || typeof kind !== "string")
    return "not a Kubernetes object: apiVersion and kind must be text, such as projectcalico.org/v3 and IPPool";
  return `${kind} (${apiVersion}) is not kept here; ${knownKinds(kind)}`;
}

/** The kind that was likely meant, or all of them. */
function knownKinds(written: string): string {
  const known = [...MANIFEST_KINDS.map(keptKind), ...V1_KINDS.map(v1Kind)];
  const near = nearest(
    written,
    known.map(({ kind }) => kind),
  );
  const meant = known.filter(({ kind }) => kind === near);
  if (meant.length > 0) return `did you mean ${meant.map(kindText).join(" or ")}?`;
  return `known are ${known.map(kindText).join(", ")}`;
}

const keptKind = (kind: ManifestKind) => ({ kind, apiVersion: SCHEMAS[kind].shape.apiVersion.value });
const v1Kind = (kind: V1Kind) => ({ kind: resources[kind].v1.kind, apiVersion: V1_API_VERSION });
const kindText = ({ kind, apiVersion }: { readonly kind: string; readonly apiVersion: string }) =>
  `${kind} (${apiVersion})`;
