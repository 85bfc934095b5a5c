/**
 * Finds the blocks that hold addresses of a handle without an index of all handles, which would cost a long-lived process
 * tens of megabytes: each block keeps a hash of each of its handles, computed once per stored version.
 */
import { cutHandle } from "../api/names.ts";
import type { IPAMBlock, IPAMBlockSpec } from "../api/v3.ts";

const hashes = new WeakMap<IPAMBlockSpec, Uint32Array>();

/** A test of whether a block attributes an address to the handle. */
export function holdsHandle(handleID: string): (block: IPAMBlock) => boolean {
  const wanted = hashOf(handleID);
  return ({ spec }) =>
    hashesOf(spec).includes(wanted) &&
    spec.attributes.some(({ handle_id }) => handle_id !== undefined && cutHandle(handle_id) === handleID);
}

function hashesOf(spec: IPAMBlockSpec): Uint32Array {
  const known = hashes.get(spec);
  if (known) return known;
  const computed = Uint32Array.from(spec.attributes, ({ handle_id = "" }) => hashOf(cutHandle(handle_id)));
  hashes.set(spec, computed);
  return computed;
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
