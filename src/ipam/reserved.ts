/**
 * The one place that knows what IPReservations mean. Allocation, the counts of blocks and those of pools are thin
 * callers of it.
 */
import type { IPReservation } from "../api/v3.ts";
import { parseAddress, width } from "../net/address.ts";
import { type AddressSet, addressSet, intersection, sizeOf, union } from "../net/address-set.ts";
import { type Cidr, cidrOf, formatCidr, parseCidr } from "../net/cidr.ts";
import { IpamError } from "./errors.ts";

/** All reserved addresses. Entries that are neither a range nor an address are passed over, as Calico does. */
export function reservedAddresses(reservations: Iterable<IPReservation>): AddressSet {
  const entries = Array.from(reservations).flatMap(({ spec }) => spec.reservedCIDRs ?? []);
  return addressSet(entries.map(reservedCidr).filter((cidr) => cidr !== undefined));
}

/** Entries of a reservation that reserve nothing: neither a range nor an address. */
export function unreadableEntries({ spec }: IPReservation): string[] {
  return (spec.reservedCIDRs ?? []).filter((entry) => reservedCidr(entry) === undefined);
}

/** What automatic allocation leaves alone: reserved addresses, and those that another block covers too. */
export function withheld(reserved: AddressSet, covered: AddressSet): AddressSet {
  return union(reserved, covered);
}

/** Counts are reported as Calico reports them: what does not fit into 63 bits is the largest number that does. */
export function saturated(count: bigint): bigint {
  const most = (1n << 63n) - 1n;
  if (count > most) return most;
  return count;
}

/** Number of addresses of `cidr` that are reserved. */
export function reservedIn(cidr: Cidr, reserved: AddressSet): bigint {
  return sizeOf(intersection(addressSet([cidr]), reserved));
}

/**
 * Number of addresses of a range that the reservations take out, each counted once however they overlap; at most 2^63-1.
 * @throws IpamError InvalidArgument where `cidr` is no range
 */
export function numReservedIPsInCIDR(cidr: string, reservations: Iterable<IPReservation>): bigint {
  const range = parseCidr(cidr);
  if (range === undefined) throw new IpamError("InvalidArgument", `"${cidr}" is not a CIDR`);
  return saturated(reservedIn(range, reservedAddresses(reservations)));
}

function reservedCidr(entry: string): Cidr | undefined {
  const text = entry.trim();
  const address = parseAddress(text);
  return address ? cidrOf(address, width(address.version)) : parseCidr(text);
}

/** What a reservation lists, the same for lists that mean the same: each range once, by address, and then what is none. */
export function reservationText({ spec: { reservedCIDRs = [] } }: IPReservation): string {
  const ranges = reservedCIDRs.map(reservedCidr).filter((range) => range !== undefined);
  ranges.sort((a, b) => a.version - b.version || Number(a.base - b.base) || a.prefix - b.prefix);
  const others = reservedCIDRs.filter((entry) => reservedCidr(entry) === undefined).sort();
  return [...new Set([...ranges.map(formatCidr), ...others])].join(", ");
}
