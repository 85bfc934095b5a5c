/** Blocks by range and by owner, so that a question about a few of them does not walk through all. */
import { rangeOfBlockName } from "../api/names.ts";
import type { IPAMBlock } from "../api/v3.ts";
import { type Cidr, parseCidr } from "../net/cidr.ts";
import { CidrIndex } from "../net/cidr-index.ts";

/** A stored block by name and range, whether or not the rest of it can be read. */
export interface BlockRef {
  /** Name of the object. */
  readonly name: string;
  /** The addresses that it covers. */
  readonly range: Cidr;
}

/** The reference to a block; `cidr` is its spec's, and says where it is if its name does not. */
export function blockRef(name: string, cidr: unknown = undefined): BlockRef | undefined {
  const range = rangeOfBlockName(name) ?? (typeof cidr === "string" ? parseCidr(cidr) : undefined);
  return range && { name, range };
}

type Indexed = Pick<IPAMBlock, "metadata" | "spec">;

export class BlockIndex {
  readonly #ranges = new CidrIndex<string>();
  readonly #refs = new Map<string, BlockRef>();
  readonly #owned = new Map<string, Set<string>>();

  put({ metadata: { name }, spec: { affinity, cidr } }: Indexed, replaced: Indexed | undefined): void {
    if (replaced && replaced.spec.affinity === affinity && replaced.spec.cidr === cidr) return;
    if (replaced) this.delete(replaced);
    this.putRange(name, blockRef(name, cidr));
    if (affinity) this.#owned.set(affinity, (this.#owned.get(affinity) ?? new Set<string>()).add(name));
  }

  delete({ metadata: { name }, spec: { affinity } }: Indexed): void {
    this.deleteRange(name);
    const owned = affinity ? this.#owned.get(affinity) : undefined;
    owned?.delete(name);
    if (affinity && owned?.size === 0) this.#owned.delete(affinity);
  }

  /** Where the block of that name is now; undefined: nothing says. */
  putRange(name: string, ref: BlockRef | undefined): void {
    const known = this.#refs.get(name);
    if (known && ref && isSameRange(known.range, ref.range)) return;
    this.deleteRange(name);
    if (!ref) return;
    this.#refs.set(name, ref);
    this.#ranges.add(ref.range, name);
  }

  deleteRange(name: string): void {
    const ref = this.#refs.get(name);
    if (ref) this.#ranges.delete(ref.range, name);
    this.#refs.delete(name);
  }

  overlapping(range: Cidr): BlockRef[] {
    return this.#ranges.overlapping(range).map((name) => this.#refs.get(name)!);
  }

  /** Names of the blocks that name an owner. */
  ownedBy(affinity: string): Iterable<string> {
    return this.#owned.get(affinity) ?? [];
  }
}

function isSameRange(a: Cidr, b: Cidr): boolean {
  return a.version === b.version && a.base === b.base && a.prefix === b.prefix;
}
