/** What an API server looks at before it asks rules: type, metadata, unknown fields, and the shape of everything else. */
import type { Flavour } from "../crd-schema.ts";
import { type Fields, isFields } from "../fields.ts";
import { INSTALLATION_API_VERSION } from "../installation.ts";
import type { ObjectMeta } from "../meta.ts";
import { SOFT_DELETED_KINDS } from "../resources.ts";
import { V1_API_VERSION } from "../v1.ts";
import { V3_API_VERSION } from "../v3.ts";
import { metadataProblems, mistypedMetadata } from "./metadata.ts";
import type { Node } from "./node.ts";
import { type Problem, problemAt, shown } from "./problem.ts";
import { type AdmittedKind, schemaOf } from "./schemas.ts";
import { doubleEntries, shapeProblems } from "./shape.ts";
import { unknownFields } from "./unknown-fields.ts";

/** An object, as parsed from JSON, to be stored new or in place of one. */
export interface Write {
  readonly kind: AdmittedKind;
  readonly object: unknown;
  readonly stored?: object | undefined;
  /** The API group that the object is written for. Default v3. */
  readonly flavour?: Flavour;
}

/** What is no object of this kind at all. */
export function mistyped({ kind, object, flavour = "v3" }: Write): Problem[] {
  if (!isFields(object)) return [problemAt([], "not an object")];
  return [
    ...typeMetaProblems(object, kind === "Installation" ? INSTALLATION_API_VERSION : API_VERSIONS[flavour]),
    ...mistypedMetadata(object["metadata"]),
  ];
}

/** What a server does not read: another type, metadata of another type, unknown fields. */
export function unreadable(write: Write): Problem[] {
  const found = mistyped(write);
  return found.length > 0 || !isPersons(write.kind) ? found : unknownFields(nodeOf(write));
}

/** Faults of an object that can be read. */
export function faults(write: Write): Problem[] {
  const { metadata } = write.object as { metadata: ObjectMeta };
  const node = nodeOf(write);
  return [...metadataProblems(metadata), ...shapeProblems(node), ...newDoubles(node)];
}

export function nodeOf({ kind, object, stored, flavour }: Write): Node {
  return { schema: schemaOf(kind, flavour), value: object, path: [], ...(stored && { stored: { value: stored } }) };
}

/** Blocks, affinities and handles are written by libraries, also newer ones, and none of them asks to be strict. */
const isPersons = (kind: AdmittedKind) => !(SOFT_DELETED_KINDS as readonly AdmittedKind[]).includes(kind);

const API_VERSIONS = { v1: V1_API_VERSION, v3: V3_API_VERSION } as const;

function typeMetaProblems({ apiVersion }: Fields, wanted: string): Problem[] {
  if (apiVersion === wanted) return [];
  return [problemAt(["apiVersion"], `Invalid value: ${shown(apiVersion)}: must be ${wanted}`)];
}

/** While the stored object has an entry twice, another is no reason. */
function newDoubles(node: Node): Problem[] {
  const before = node.stored === undefined ? [] : doubleEntries({ ...node, value: node.stored.value });
  return before.length > 0 ? [] : doubleEntries(node);
}
