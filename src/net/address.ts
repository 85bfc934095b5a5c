/** IP addresses as bigint, read and printed as Go's net/netip does: canonical text is what names and data are compared by. */
import ipaddr from "ipaddr.js";

/** The family of an address. */
export type IpVersion = 4 | 6;

export interface Address {
  readonly version: IpVersion;
  readonly value: bigint;
}

/** Number of bits of an address. */
export function width(version: IpVersion): 32 | 128 {
  return version === 4 ? 32 : 128;
}

/**
 * Reads one address; undefined where the text is none. Refused besides nonsense, because two readers would disagree:
 * leading zeros and short forms of IPv4, zone ids, groups of more than four digits. An IPv4-mapped IPv6 address is the
 * IPv4 address.
 */
export function parseAddress(text: string): Address | undefined {
  // ipaddr.js finds out by an exception, which costs more than all the rest.
  if (!text.includes(":")) return ipaddr.IPv4.isValidFourPartDecimal(text) ? fromOctets(text) : undefined;
  if (!isStrictIPv6(text)) return undefined;
  const parsed = ipaddr.IPv6.parse(text);
  return parsed.isIPv4MappedAddress() ? fromOctets(parsed.toIPv4Address().toString()) : fromBytes(parsed.toByteArray());
}

/** Canonical text: dotted decimal, or RFC 5952. */
export function formatAddress(address: Address): string {
  if (address.version === 4) return octetsOf(Number(address.value)).join(".");
  const hex = address.value.toString(16).padStart(width(6) / 4, "0");
  return ipaddr.fromByteArray([...Buffer.from(hex, "hex")]).toString();
}

/** The canonical form of an address's text; undefined where the text is none. */
export function canonicalAddress(text: string): string | undefined {
  const address = parseAddress(text);
  return address && formatAddress(address);
}

function fromOctets(text: string): Address {
  return { version: 4, value: BigInt(text.split(".").reduce((value, octet) => value * 256 + Number(octet), 0)) };
}

const octetsOf = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];

function fromBytes(bytes: number[]): Address {
  return { version: 6, value: BigInt(`0x${Buffer.from(bytes).toString("hex")}`) };
}

function isStrictIPv6(text: string): boolean {
  const [dottedTail] = /[^:]*\..*$/.exec(text) ?? [];
  if (dottedTail !== undefined && !ipaddr.IPv4.isValidFourPartDecimal(dottedTail)) return false;
  return /^[0-9a-f:.]+$/i.test(text) && !/[0-9a-f]{5}/i.test(text) && ipaddr.IPv6.isValid(text);
}
