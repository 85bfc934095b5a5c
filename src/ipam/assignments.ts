/** What autoAssign gives back, also when it fails half-way. */
import type { IpVersion } from "../net/address.ts";
import type { HostReservedAttr } from "./block.ts";

/** What one family's part of a call came to. */
export interface IPAMAssignments {
  /** Addresses with the prefix length of their block: `10.0.0.5/26`. */
  readonly ips: readonly string[];
  /** The family. */
  readonly ipVersion: IpVersion;
  /** How many were asked for. */
  readonly numRequested: number;
  /** What the host's blocks keep back; null where nothing was asked for. */
  readonly hostReservedAttr: HostReservedAttr | null;
  /** Why there are fewer than asked for, each once, in the order they came up. */
  readonly msgs: readonly string[];
}

/** Per family; null where none was asked for, or it was not come to. */
export interface AutoAssignResult {
  /** IPv4. */
  readonly v4: IPAMAssignments | null;
  /** IPv6. */
  readonly v6: IPAMAssignments | null;
}

/** A sentence where fewer addresses were assigned than asked for; undefined where there are enough. */
export function partialFulfillmentError(assignments: IPAMAssignments): string | undefined {
  const { ips, numRequested, ipVersion, msgs, hostReservedAttr } = assignments;
  if (ips.length >= numRequested) return undefined;
  const reserve = hostReservedAttr ? [`HostReservedAttr: ${hostReservedAttr.handle}`] : [];
  const counts = `Assigned ${ips.length} out of ${numRequested} requested IPv${ipVersion} addresses`;
  return [counts, ...msgs, ...reserve].join("; ");
}

const partials = new WeakMap<object, unknown>();

export function rememberPartial(error: unknown, partial: unknown): void {
  if (typeof error === "object" && error !== null) partials.set(error, partial);
}

/**
 * What a call had done when it ended with `error`, in the form of its result: autoAssign's addresses (the caller's, to
 * use or to release), claimAffinity's blocks, releaseIPs' addresses. Undefined where it had done nothing.
 */
export function partialResult<T = AutoAssignResult>(error: unknown): T | undefined {
  return typeof error === "object" && error !== null ? (partials.get(error) as T | undefined) : undefined;
}
