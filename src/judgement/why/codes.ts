/** Why there is no address: the closed list, with what each means. Codes that `check` has too mean the same. */

import { DEFAULT_MAX_BLOCKS_PER_HOST } from "../../api/config-limits.ts";

export interface CauseRow {
  readonly title: string;
  /** What it means, and how it comes about. */
  readonly means: string;
  /** What there is to do. */
  readonly does: string;
}

export const CAUSES = {
  DatastoreLocked: {
    title: "Calico's datastore is locked",
    means: "While `datastoreReady` is false, Calico gives no pod an address.",
    does: "Unlock it, once whatever locked it is done.",
  },
  InvalidConfiguration: {
    title: "The IPAM configuration breaks a rule",
    means: "Fields that exclude each other: nothing is allocated, or only by programs that do not look.",
    does: "Change the fields that the message names; where an Installation keeps them, change them there.",
  },
  NodeUnknown: {
    title: "There is no such node",
    means: "A node gets its first block only if it exists under the name that Calico knows it by.",
    does: "Look under which name the node is there.",
  },
  NoPool: {
    title: "There is no pool of the family",
    means: "Pods get an address of a family only from a pool of that family.",
    does: "Create an IPPool of the family.",
  },
  PoolsClosed: {
    title: "Every pool of the family is closed",
    means: "Disabled, being deleted, not allocatable, or cut into blocks that Calico does not have.",
    does: "Enable a pool, or create another one.",
  },
  AskedPoolMissing: {
    title: "A pool that was asked for is not there, or closed",
    means: "The pod's or its namespace's annotation names pools; where one of them cannot be used, no other is tried.",
    does: "Correct the annotation of the pod or of its namespace, or create the pool.",
  },
  OnlyManualPools: {
    title: "Every pool is only for those who ask for it",
    means: "Pools with assignmentMode Manual are drawn from only where an annotation names them.",
    does: "Create a pool that is not Manual, or name one in an annotation.",
  },
  UnreadableSelector: {
    title: "A pool's selector cannot be read",
    means: "One selector that is none stops allocation from all pools.",
    does: "Correct the selector.",
  },
  NodeNotSelected: {
    title: "No pool with room selects the node",
    means: "The nodeSelector of a pool says which nodes draw from it; the node's labels do not match.",
    does: "Give the node the labels that a pool's nodeSelector wants, or change that selector.",
  },
  NamespaceNotSelected: {
    title: "No pool selects the namespace",
    means: "The namespaceSelector of a pool says whose pods draw from it; the namespace's labels do not match.",
    does: "Give the namespace the labels that a pool's namespaceSelector wants, or change that selector.",
  },
  UseNotAllowed: {
    title: "No pool is for pods",
    means: "A pool whose allowedUses lack Workload gives pods no address.",
    does: "Create a pool whose allowedUses have Workload.",
  },
  ContradictingAffinity: {
    title: "Affinities to blocks of others count towards the node's limit",
    means: "The node is at its limit of blocks only because of them.",
    does: "Remove the affinities that are left over.",
  },
  InUseNotAllocated: {
    title: "The next address is in use, and not allocated",
    means: "It would be given to a second owner: its allocation was lost while it was in use.",
    does: "Delete the pod that uses it, so that the pod gets an address that is allocated: `ipamctl check` names all of them.",
  },
  OverlappingBlocks: {
    title: "The next address is in another block too",
    means:
      "Calico gives addresses that another block covers; two pods then have the same one. The library does not give them.",
    does: "Look what the blocks hold, move those pods, then delete the block that is not of its pool's size.",
  },
  AffinityOfGoneNode: {
    title: "Nodes that are gone hold the blocks that have room",
    means: "With strict affinity nobody else may use them, and no block is left to claim.",
    does: "Free what those blocks hold: delete the pods that are still listed, then run `ipamctl gc`. Then take the blocks from the nodes.",
  },
  LeakedAddress: {
    title: "Addresses are allocated to who is gone",
    means: "There would be an address if they were released.",
    does: "Run `ipamctl gc --dry-run` to see what would be freed, then `ipamctl gc`.",
  },
  BlockWithoutAffinity: {
    title: "Blocks of the node have no affinity",
    means:
      "A node finds its blocks by their affinities: what is free in a block without one is not handed out on the node.",
    does: "Give the blocks their affinities again.",
  },
  MalformedBlock: {
    title: "Blocks of the node cannot be used",
    means: "They contradict themselves: nothing is handed out of them.",
    does: "Repair those blocks: `ipamctl check` says what is wrong with them.",
  },
  BlockCapReached: {
    title: "The node may own no more blocks, and those it owns are full",
    means: `The limit is maxBlocksPerHost, or ${DEFAULT_MAX_BLOCKS_PER_HOST} where none is set. Calico does not borrow at the limit.`,
    does: "Look for leaked addresses on the node; then raise the limit, which needs strict affinity.",
  },
  NoClaimAllowed: {
    title: "No node may claim a block",
    means: "autoAllocateBlocks is false, and the node owns no block with a free address.",
    does: "Let nodes claim blocks.",
  },
  StrictAffinity: {
    title: "Only other nodes' blocks have room",
    means: "With strictAffinity a node uses its own blocks only, and no block is left to claim.",
    does: "Create another pool, or pools with smaller blocks; or turn strict affinity off, so that nodes borrow.",
  },
  CoolingDown: {
    title: "Addresses cool down",
    means: "They were released, and are free again after ipCooldownSeconds.",
    does: "Wait for the time that is named, or lower ipCooldownSeconds.",
  },
  Reserved: {
    title: "What is free is reserved",
    means: "Addresses of an IPReservation are not handed out by themselves.",
    does: "Take addresses out of the IPReservation, or create another pool.",
  },
  PoolExhausted: {
    title: "The pools are full",
    means: "Every address that the node could get is in use.",
    does: "Create another pool, or release addresses that nobody needs.",
  },
  AddressTaken: {
    title: "An address that was asked for cannot be given",
    means: "The pod's annotation names an address that another has, or that is in no pool.",
    does: "Correct the pod's annotation; or release the address, once nothing uses it any more.",
  },
  OtherIPAM: {
    title: "Another IPAM plugin gives out the addresses",
    means:
      "The Calico operator's Installation, or the node's CNI configuration, names another plugin, as host-local: addresses come from the node's podCIDR, and not from pools.",
    does: "Look into that plugin's own documents: Calico's pools have no part in it.",
  },
  NotAddresses: {
    title: "The pod's network failed before an address was asked for",
    means: "The CNI plugin was missing, or could not reach the API server.",
    does: "Read the event: it is about the CNI plugin, its rights or the API server.",
  },
} as const satisfies Readonly<Record<string, CauseRow>>;
export type CauseCode = keyof typeof CAUSES;

/** One reason, as it is here and now. */
export interface Cause {
  readonly code: CauseCode;
  readonly family?: "IPv4" | "IPv6";
  /** A clause that follows "because": what is so, with the values found. */
  readonly message: string;
  /** What to run. */
  readonly command: string;
}
