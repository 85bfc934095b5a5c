/** One small object of each kind, for the contract suite. */
import { affinityName, blockName, handleName } from "../../api/names.ts";
import { type IpamKind, V3_API_VERSION } from "../../api/v3.ts";
import type { Kind, Stored } from "../datastore.ts";

const metadata = (name: string) => ({ name });
const object = <K extends IpamKind>(kind: K, name: string, spec: object) =>
  ({ apiVersion: V3_API_VERSION, kind, metadata: metadata(name), spec }) as unknown as Stored<K>;

/** Beyond 2^53, and not a multiple of 256: a double cannot hold it. */
export const SEQUENCE = 1_767_323_045_678_900_001n;

/** Spec of a handle that an API server stores and nobody can count with. */
export const MALFORMED = { handleID: "broken", block: { "10.0.0.0/30": 2n ** 53n + 1n } };

export const blockOf = (cidr: string, more: object = {}) =>
  object("IPAMBlock", blockName(cidr), {
    cidr,
    affinity: "host:node-a",
    affinityClaimTime: "2026-01-02T03:04:05Z",
    allocations: [0, null, 1, null],
    unallocated: [1, 3],
    attributes: [
      { handle_id: "k8s-pod-network.ABC", secondary: { namespace: "ns", node: "node-a", pod: "p" } },
      { releasedAt: "2026-01-02T03:04:05Z" },
    ],
    sequenceNumber: SEQUENCE,
    sequenceNumberForAllocation: { "0": SEQUENCE },
    deleted: false,
    strictAffinity: false,
    ...more,
  });

export const affinityOf = (node: string, cidr: string, more: object = {}) =>
  object("BlockAffinity", affinityName(node, cidr), {
    state: "pending",
    node,
    type: "host",
    cidr,
    deleted: false,
    ...more,
  });

export const handleOf = (handleID: string, more: object = {}) =>
  object("IPAMHandle", handleName(handleID), { handleID, block: { "10.0.0.0/30": 1 }, deleted: false, ...more });

export const configurationOf = (more: object = {}) =>
  object("IPAMConfiguration", "default", {
    strictAffinity: false,
    autoAllocateBlocks: true,
    kubeVirtVMAddressPersistence: "Enabled",
    ...more,
  });

export const poolOf = (name: string, cidr: string, more: object = {}) =>
  object("IPPool", name, { cidr, blockSize: 26, ...more });

export const reservationOf = (name: string) => object("IPReservation", name, { reservedCIDRs: ["10.1.0.0/28"] });

export const installationOf = (more: object = {}): Stored<"Installation"> => ({
  apiVersion: "ipam-operator.io/v1alpha1",
  kind: "Installation",
  metadata: metadata("default"),
  spec: { managementPolicy: "Enforce", ...more },
});

/** One of each kind, and a change that its schema allows. */
export const samples: Readonly<Record<Kind, { readonly object: Stored<Kind>; readonly change: object }>> = {
  IPAMBlock: { object: blockOf("10.0.0.0/30"), change: { sequenceNumber: SEQUENCE + 1n } },
  BlockAffinity: { object: affinityOf("node-a", "10.0.0.0/30"), change: { state: "confirmed" } },
  IPAMHandle: { object: handleOf("k8s-pod-network.ABC"), change: { block: { "10.0.0.0/30": 2 } } },
  IPAMConfiguration: { object: configurationOf(), change: { ipCooldownSeconds: 30 } },
  IPPool: { object: poolOf("pool-a", "10.0.0.0/16"), change: { disabled: true } },
  IPReservation: { object: reservationOf("kept"), change: { reservedCIDRs: ["10.2.0.0/28"] } },
  Installation: { object: installationOf(), change: { managementPolicy: "Observe" } },
};
