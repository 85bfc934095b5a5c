/** Fields that a schema does not know: an API server refuses them where it is asked to be strict, as kubectl asks it. */
import { isDeepStrictEqual } from "node:util";
import { isFields } from "../fields.ts";
import { objectMeta } from "../meta.ts";
import { type Node, within } from "./node.ts";
import { fieldName, type Problem } from "./problem.ts";

/** Metadata that Kubernetes knows besides what the product reads. */
const UNREAD = ["generateName", "selfLink", "finalizers", "ownerReferences", "deletionGracePeriodSeconds"];
const METADATA = [...Object.keys(objectMeta.shape), ...UNREAD];

export interface UnknownField extends Problem {
  /** The fields that are known in its place. */
  readonly known: readonly string[];
}

/** Every unknown field of an object, but those that are stored just so: a newer version may have written them. */
export function unknownFields(node: Node): UnknownField[] {
  const known = knownIn(node);
  return [...(known ? strange(node, known) : []), ...within(node).flatMap(unknownFields)];
}

/** Undefined where a map takes every key. */
function knownIn({ schema, path }: Node): readonly string[] | undefined {
  if (path.length === 1 && path[0] === "metadata") return METADATA;
  return schema.additionalProperties ? undefined : Object.keys(schema.properties ?? {});
}

function strange({ value, path, stored }: Node, known: readonly string[]): UnknownField[] {
  if (!isFields(value)) return [];
  const before = isFields(stored?.value) ? stored.value : {};
  const isStored = (name: string) => Object.hasOwn(before, name) && isDeepStrictEqual(before[name], value[name]);
  return Object.keys(value)
    .filter((name) => !known.includes(name) && !isStored(name))
    .map((name) => ({ path: [...path, name], words: `unknown field "${fieldName([...path, name])}"`, known }));
}
