/** Counting addresses in overlapping ranges: a second, plain implementation, so that the product's set arithmetic is judged by another. */
import { type IpVersion, parseAddress, width } from "../../src/net/address.ts";
import { type Cidr, parseCidr, size } from "../../src/net/cidr.ts";

/** Addresses from `first` to `last`, both included. */
export interface Range {
  readonly version: IpVersion;
  readonly first: bigint;
  readonly last: bigint;
}

export const rangeOf = (cidr: Cidr): Range => ({
  version: cidr.version,
  first: cidr.base,
  last: cidr.base + size(cidr) - 1n,
});

/** The ranges of a reservation's entries: CIDRs and bare addresses; what is neither reserves nothing. */
export function reservedRanges(entries: readonly string[]): Range[] {
  return entries.flatMap((entry) => {
    const text = entry.trim();
    const address = parseAddress(text);
    const cidr = parseCidr(address === undefined ? text : `${text}/${width(address.version)}`);
    return cidr === undefined ? [] : [rangeOf(cidr)];
  });
}

/** How many addresses of `whole` are covered by at least one of `ranges`. */
export function covered(whole: Range, ranges: readonly Range[]): bigint {
  const inside = ranges
    .filter(({ version, first, last }) => version === whole.version && first <= whole.last && last >= whole.first)
    .sort((a, b) => (a.first < b.first ? -1 : 1));
  let gaps = 0n;
  let next = whole.first;
  for (const { first, last } of inside) {
    if (first > next) gaps += first - next;
    if (last >= next) next = last + 1n;
  }
  if (next <= whole.last) gaps += whole.last + 1n - next;
  return whole.last + 1n - whole.first - gaps;
}
