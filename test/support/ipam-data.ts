/** Builders of stored IPAM objects, sound as they come: a test names only what it is about. */
import { affinityLabels, affinityName, blockName, handleName } from "../../src/api/names.ts";
import {
  type AllocationAttribute,
  type BlockAffinity,
  type BlockAffinitySpec,
  type IPAMBlock,
  type IPAMBlockSpec,
  type IPAMConfiguration,
  type IPAMConfigurationSpec,
  type IPAMHandle,
  type IPPool,
  type IPPoolSpec,
  type IPReservation,
  V3_API_VERSION,
} from "../../src/api/v3.ts";
import { parseCidr, size } from "../../src/net/cidr.ts";

/** A block under its right name; `spec` replaces what is not worth deriving. */
export function block(cidr: string, spec: Partial<IPAMBlockSpec> = {}): IPAMBlock {
  const addresses = Array.from({ length: Number(size(parseCidr(cidr)!)) }, (_, ordinal) => ordinal);
  const allocations = spec.allocations ?? addresses.map(() => null);
  return {
    apiVersion: V3_API_VERSION,
    kind: "IPAMBlock",
    metadata: { name: blockName(cidr) },
    spec: {
      cidr,
      allocations,
      unallocated: addresses.filter((ordinal) => allocations[ordinal] === null),
      attributes: [],
      sequenceNumber: 1000n,
      sequenceNumberForAllocation: {},
      deleted: false,
      strictAffinity: false,
      ...spec,
    },
  };
}

/** A host's block of which ordinals are allocated, each to an attribute entry of its own, at sequence number 999. */
export function usedBlock(
  cidr: string,
  host: string,
  used: Readonly<Record<number, AllocationAttribute>>,
  spec: Partial<IPAMBlockSpec> = {},
): IPAMBlock {
  const ordinals = Object.keys(used);
  const allocations: (number | null)[] = [...block(cidr).spec.allocations];
  for (const [index, ordinal] of ordinals.entries()) allocations[Number(ordinal)] = index;
  return block(cidr, {
    affinity: `host:${host}`,
    affinityClaimTime: "2026-01-02T03:04:05Z",
    allocations,
    attributes: Object.values(used),
    sequenceNumberForAllocation: Object.fromEntries(ordinals.map((ordinal) => [ordinal, 999n])),
    ...spec,
  });
}

/** A host's confirmed affinity. */
export function affinity(node: string, cidr: string, spec: Partial<BlockAffinitySpec> = {}): BlockAffinity {
  const whole = { state: "confirmed" as const, node, type: "host", cidr, deleted: false, ...spec };
  const metadata = { name: affinityName(node, cidr), labels: affinityLabels(whole) };
  return { apiVersion: V3_API_VERSION, kind: "BlockAffinity", metadata, spec: whole };
}

export function handle(handleID: string, usage: Readonly<Record<string, number>>): IPAMHandle {
  const spec = { handleID, block: { ...usage }, deleted: false };
  return { apiVersion: V3_API_VERSION, kind: "IPAMHandle", metadata: { name: handleName(handleID) }, spec };
}

export function pool(name: string, cidr: string, spec: Partial<IPPoolSpec> = {}): IPPool {
  return { apiVersion: V3_API_VERSION, kind: "IPPool", metadata: { name }, spec: { cidr, ...spec } };
}

export function reservation(name: string, ...reservedCIDRs: string[]): IPReservation {
  return { apiVersion: V3_API_VERSION, kind: "IPReservation", metadata: { name }, spec: { reservedCIDRs } };
}

export function configuration(spec: IPAMConfigurationSpec): IPAMConfiguration {
  return { apiVersion: V3_API_VERSION, kind: "IPAMConfiguration", metadata: { name: "default" }, spec };
}
