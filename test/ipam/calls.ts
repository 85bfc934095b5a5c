/** Calls of the library as values: printed as one writes them, and told to a recorded history. */
import { type AutoAssignResult, partialResult } from "../../src/ipam/assignments.ts";
import type { Ipam } from "../../src/ipam/client.ts";
import type { ReleaseResult } from "../../src/ipam/release.ts";
import type { Call, Outcome } from "../invariants/history.ts";

export type Method = keyof Ipam;
export type Invocation = { [M in Method]: { readonly method: M; readonly args: Parameters<Ipam[M]> } }[Method];

export function call<M extends Method>(method: M, ...args: Parameters<Ipam[M]>): Invocation {
  return { method, args } as Invocation;
}

/** The call as it is written in code; of a whole block only its range. */
export function textOf({ method, args }: Invocation): string {
  return `${method}(${args.map(valueText).join(", ")})`;
}

function valueText(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("kind" in value) return `<block ${(value as { spec?: { cidr?: string } }).spec?.cidr}>`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{ ${fields.map(([name, field]) => `${name}: ${valueText(field)}`).join(", ")} }`;
}

/** The call as the invariants over histories ask about it. */
export function recorded(invocation: Invocation): Call {
  const { method, args } = invocation;
  const [first, second] = args as readonly unknown[];
  switch (method) {
    case "autoAssign": {
      const { ipv4Pools = [], ipv6Pools = [], ...asked } = args[0];
      return { ...asked, method, pools: [...ipv4Pools, ...ipv6Pools] };
    }
    case "assignIP": {
      const { intendedUse, ...asked } = args[0];
      return { ...asked, method, ...(intendedUse && { intendedUse }) };
    }
    case "releaseIPs":
      return { method, releases: args[0] };
    case "releaseByHandle":
      return { method, handleID: first as string };
    case "setOwnerAttributes":
      return { method, handleID: second as string };
    case "garbageCollectColdIPs":
      return { method, ipCooldownSeconds: args[0].ipCooldownSeconds };
    default:
      return { method };
  }
}

/** What the caller was told of addresses, by a result or by an error. */
export function told({ method, args }: Invocation, result: unknown): Omit<Outcome, "ok"> {
  if (method === "assignIP") return { ips: [args[0].ip] };
  if (method === "autoAssign") return { ips: addressesOf(result as AutoAssignResult) };
  return method === "releaseIPs" ? { unallocated: (result as ReleaseResult).unallocated } : {};
}

export function toldOnError(invocation: Invocation, error: unknown): Omit<Outcome, "ok"> {
  const partial = partialResult<unknown>(error);
  return partial === undefined || invocation.method === "assignIP" ? {} : told(invocation, partial);
}

const addressesOf = ({ v4, v6 }: AutoAssignResult) => [v4, v6].flatMap((family) => family?.ips ?? []);
