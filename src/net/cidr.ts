/** Address ranges in CIDR form, always masked: the base of a Cidr has no host bits. */
import { type Address, formatAddress, type IpVersion, parseAddress, width } from "./address.ts";

/** A range of addresses, masked. */
export interface Cidr {
  /** The family. */
  readonly version: IpVersion;
  /** The first address, as a number. */
  readonly base: bigint;
  /** Prefix length. */
  readonly prefix: number;
}

/**
 * Reads `<address>/<prefix>` and masks the host bits off; undefined where the text is no range. A range of IPv4-mapped
 * addresses is none, as in Calico: whether its prefix counts IPv4 or IPv6 bits, readers disagree.
 */
export function parseCidr(text: string): Cidr | undefined {
  const [, addressText = "", prefixText] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const address = parseAddress(addressText);
  const isMapped = address?.version === 4 && addressText.includes(":");
  const prefix = Number(prefixText);
  return address === undefined || isMapped || prefix > width(address.version) ? undefined : cidrOf(address, prefix);
}

/** The range of the given prefix length that an address lies in. */
export function cidrOf(address: Address, prefix: number): Cidr {
  const hostBits = BigInt(width(address.version) - prefix);
  return { version: address.version, base: (address.value >> hostBits) << hostBits, prefix };
}

/** Canonical text of a range. */
export function formatCidr(cidr: Cidr): string {
  return `${formatAddress({ version: cidr.version, value: cidr.base })}/${cidr.prefix}`;
}

/** The canonical, masked form of a range's text; undefined where the text is no range. */
export function canonicalCidr(text: string): string | undefined {
  const cidr = parseCidr(text);
  return cidr && formatCidr(cidr);
}

/** Whether both are the same range. */
export function isSameRange(a: Cidr, b: Cidr): boolean {
  return a.version === b.version && a.base === b.base && a.prefix === b.prefix;
}

/** Number of addresses in a range. */
export function size(cidr: Cidr): bigint {
  return 1n << BigInt(width(cidr.version) - cidr.prefix);
}

/** Whether all of `inner` lies in `outer`. */
export function contains(outer: Cidr, inner: Cidr): boolean {
  return outer.prefix <= inner.prefix && overlaps(outer, inner);
}

/** Whether the ranges share an address. Two masked ranges do exactly when the larger one contains the smaller one. */
export function overlaps(a: Cidr, b: Cidr): boolean {
  const bits = BigInt(width(a.version) - Math.min(a.prefix, b.prefix));
  return a.version === b.version && a.base >> bits === b.base >> bits;
}

/** Whether a text is a range to Go's older, kinder reader: leading zeros and IPv4-mapped addresses pass. */
export function isLooseCidr(text: string): boolean {
  const [, address = "", prefix] = /^([^/]+)\/(\d+)$/.exec(text) ?? [];
  const isAddress = parseAddress(address.replaceAll(/(^|[.:])0+(?=[\da-f])/gi, "$1")) !== undefined;
  return isAddress && Number(prefix) <= width(address.includes(":") ? 6 : 4);
}
