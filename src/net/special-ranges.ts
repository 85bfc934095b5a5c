/**
 * Ranges whose addresses no pod can have. Kubernetes refuses loopback, link-local and unspecified addresses
 * (ValidateNonSpecialIP); the rest are the ranges that IANA's special-purpose registries (RFC 6890) do not allow as a source
 * or destination, and multicast. Link-local ranges are refused with the pool's other rules.
 */
import { type Cidr, overlaps, parseCidr } from "./cidr.ts";

const RANGES: readonly (readonly [range: string, what: string])[] = [
  ["0.0.0.0/8", "addresses of this network"],
  ["127.0.0.0/8", "loopback addresses"],
  ["224.0.0.0/4", "multicast addresses"],
  ["240.0.0.0/4", "reserved and broadcast addresses"],
  ["::/128", "the unspecified address"],
  ["::1/128", "the loopback address"],
  ["ff00::/8", "multicast addresses"],
];
const SPECIAL = RANGES.map(([text, what]) => ({ text, what, range: parseCidr(text)! }));

/** What of a range no pod can have, in words: `loopback addresses (127.0.0.0/8)`; empty where pods can have all of it. */
export function specialIn(range: Cidr): string[] {
  return SPECIAL.filter((special) => overlaps(special.range, range)).map(({ text, what }) => `${what} (${text})`);
}
