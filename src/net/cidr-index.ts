/**
 * Values by range, to find those whose ranges share addresses with a given one. CIDRs are nested or disjoint, so a look-up
 * asks one map per stored prefix length: nearly always there is one. No range is expanded into addresses.
 */
import { width } from "./address.ts";
import { type Cidr, contains } from "./cidr.ts";

export class CidrIndex<V> {
  /** Values by base, by version and prefix length. */
  readonly #lengths = new Map<string, { readonly range: Cidr; readonly byBase: Map<bigint, Set<V>> }>();

  add(range: Cidr, value: V): void {
    const key = lengthKey(range);
    const length = this.#lengths.get(key) ?? { range, byBase: new Map<bigint, Set<V>>() };
    this.#lengths.set(key, length);
    const values = length.byBase.get(range.base) ?? new Set<V>();
    length.byBase.set(range.base, values.add(value));
  }

  delete(range: Cidr, value: V): void {
    const key = lengthKey(range);
    const byBase = this.#lengths.get(key)?.byBase;
    const values = byBase?.get(range.base);
    values?.delete(value);
    if (values?.size === 0) byBase?.delete(range.base);
    if (byBase?.size === 0) this.#lengths.delete(key);
  }

  /** Values whose ranges share addresses with `range`: equal, larger and smaller ones. */
  overlapping(range: Cidr): V[] {
    const found: V[] = [];
    for (const { range: length, byBase } of this.#lengths.values()) {
      if (length.version !== range.version) continue;
      for (const base of basesOf(range, length.prefix, byBase)) found.push(...(byBase.get(base) ?? []));
    }
    return found;
  }
}

const lengthKey = ({ version, prefix }: Cidr) => `${version}/${prefix}`;

/** Bases of the stored ranges of one prefix length that overlap `range`; the smaller set of candidates is walked. */
function basesOf(range: Cidr, prefix: number, stored: ReadonlyMap<bigint, unknown>): Iterable<bigint> {
  const hostBits = BigInt(width(range.version) - prefix);
  if (prefix <= range.prefix) return [(range.base >> hostBits) << hostBits];
  const count = 1n << BigInt(prefix - range.prefix);
  if (count > BigInt(stored.size)) {
    return [...stored.keys()].filter((base) => contains(range, { version: range.version, base, prefix }));
  }
  return Array.from({ length: Number(count) }, (_, index) => range.base + (BigInt(index) << hostBits));
}
