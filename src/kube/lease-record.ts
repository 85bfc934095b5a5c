/** The Lease object as leader election reads and writes it, and what a candidate may conclude from having seen it. Pure. */
import type { KubeObject } from "../api/meta.ts";
import { KubeError, type ResourceType } from "./types.ts";

export const LEASES: ResourceType = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

/** Times are strings of RFC 3339 with six fractional digits: the API server refuses three. */
export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}
export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

const FIELD_TYPES: Readonly<Record<keyof LeaseSpec, "string" | "number">> = {
  holderIdentity: "string",
  leaseDurationSeconds: "number",
  acquireTime: "string",
  renewTime: "string",
  leaseTransitions: "number",
};

/** The spec, which decides who leads. @throws KubeError ServerError where it is not what a Lease has */
export function leaseSpec({ metadata: { name }, spec }: Lease): LeaseSpec | undefined {
  if (spec === undefined || spec === null) return undefined;
  const fields = Object.entries(FIELD_TYPES);
  const wrong = fields.find(([field, type]) => ![type, "undefined"].includes(typeof (spec as Fields)[field]));
  if (typeof spec === "object" && wrong === undefined) return spec;
  const problem = wrong === undefined ? "spec is not an object" : `spec.${wrong[0]} is not a ${wrong[1]}`;
  throw new KubeError("ServerError", `the API server's Lease "${name}" cannot be used: ${problem}`);
}

type Fields = Readonly<Record<string, unknown>>;

/** Kubernetes' MicroTime of a time in milliseconds since the epoch. */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}

/** The spec with which `identity` takes the Lease over from `previous`, or takes its own up again. */
export function claimed(previous: LeaseSpec, identity: string, durationMs: number, now: number): LeaseSpec {
  const own = previous.holderIdentity === identity;
  const transitions = previous.leaseTransitions ?? 0;
  return {
    ...previous,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: (own && previous.acquireTime) || microTime(now),
    renewTime: microTime(now),
    leaseTransitions: own || previous.renewTime === undefined ? transitions : transitions + 1,
  };
}

/** The spec that says: still here. */
export function renewed(spec: LeaseSpec, now: number): LeaseSpec {
  return { ...spec, renewTime: microTime(now) };
}

/** The spec that lets the next candidate in at once, as client-go writes it. */
export function released(spec: LeaseSpec, now: number): LeaseSpec {
  return {
    ...spec,
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: microTime(now),
    renewTime: microTime(now),
  };
}

/**
 * When the Lease falls free, by our own clock alone: it runs from the moment we first saw a renewal, never from the
 * time that the holder wrote into it, since clocks differ.
 */
export class LeaseObservation {
  #seen: LeaseSpec | undefined;
  #seenAt = 0;

  /** Who holds it as far as we know; "" for nobody. */
  get holder(): string {
    return this.#seen?.holderIdentity ?? "";
  }

  /** Takes note of what was read; undefined: there is no Lease. `now` is monotonic milliseconds. */
  see(spec: LeaseSpec | undefined, now: number): void {
    const same = this.#seen?.renewTime === spec?.renewTime && this.holder === (spec?.holderIdentity ?? "");
    if (!same) this.#seenAt = now;
    this.#seen = spec;
  }

  /** Milliseconds until `identity` may take it; 0: now. */
  msUntilFree(identity: string, now: number): number {
    if (this.holder === "" || this.holder === identity) return 0;
    return Math.max(0, this.#seenAt + (this.#seen?.leaseDurationSeconds ?? 0) * 1000 - now);
  }
}
