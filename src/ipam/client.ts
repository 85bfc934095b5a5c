/** The library's public interface: one object over one datastore, a method a line. */
import { hostname as osHostname } from "node:os";
import type { IPAMBlock } from "../api/v3.ts";
import type { CallOptions, Datastore } from "../datastore/datastore.ts";
import type { AffinityConfig } from "./affinity.ts";
import { behindTheDoor } from "./arguments.ts";
import { type AssignIPArgs, assignIP } from "./assign-ip.ts";
import type { AutoAssignResult } from "./assignments.ts";
import { autoAssign } from "./auto-assign.ts";
import type { AutoAssignArgs } from "./auto-assign-args.ts";
import { type BlockOrder, hashedOrder } from "./block-order.ts";
import { type ConfigChanges, getIPAMConfig, type IPAMConfig, type SetConfigResult, setIPAMConfig } from "./config.ts";
import { type Context, saidOnce, sequenceNumbers } from "./context.ts";
import { garbageCollectColdIPs } from "./cooldown.ts";
import { type BlockArgs, type EnsuredBlocks, ensureBlock } from "./ensure-block.ts";
import { type AssignmentAttributes, getAssignmentAttributes, ipsByHandle } from "./lookup.ts";
import { anyNode, type NodeReader, readOnce } from "./nodes.ts";
import {
  type AttributeOwner,
  type OwnerAttributePreconditions,
  type OwnerAttributeUpdates,
  setOwnerAttributes,
} from "./owners.ts";
import {
  type ClaimResult,
  claimAffinity,
  releaseAffinity,
  releaseBlockAffinity,
  releaseHostAffinities,
  releasePoolAffinities,
} from "./ownership.ts";
import { type ReleaseOptions, type ReleaseResult, releaseByHandle, releaseIPs } from "./release.ts";
import { swapOwners } from "./swap-owners.ts";
import { upgradeHost } from "./upgrade.ts";
import { type GetUtilizationArgs, getUtilization, type PoolUtilization } from "./utilization.ts";

/** What the library works on, and its defaults. */
export interface IpamOptions {
  /** Where the data is. It stays the caller's to close. */
  readonly datastore: Datastore;
  /** Now: for cooldowns, claim ages and the start of sequence numbers. Default: the system's clock. */
  readonly clock?: (() => Date) | undefined;
  /** Where a host starts in a pool. Default: at a hash of its name. */
  readonly blockOrder?: BlockOrder | undefined;
  /**
   * Reads a node, at most once per call: if a pool has a node selector, or if the host has no block yet and must exist. Default:
   * the nodes of the datastore's cluster; without a cluster, every host exists and has no labels.
   */
  readonly nodes?: NodeReader | undefined;
  /** The calling host is a Windows node, where strictAffinity must be true. Default: whether this process runs on Windows. */
  readonly windowsHost?: boolean | undefined;
  /** Name of the calling host, where a call names none. Default: the system's host name, lower-cased. */
  readonly hostname?: string | undefined;
  /**
   * Called once for each object that cannot be read, and for a clean-up that failed although the call succeeded. Default: a
   * warning of the process.
   */
  readonly warn?: ((message: string) => void) | undefined;
}

/**
 * Addresses, ranges and sequence numbers are text, text and bigint. Every method ends with the signal's reason when its
 * `options.signal` is aborted. A wrong argument ends in IpamError InvalidArgument, and nothing was done.
 * A lost race is retried: after 100 of them the call ends in IpamError MaxRetries. Errors of the store (DatastoreError Unavailable,
 * Unauthorized, Invalid, NotServed) are passed on. The table of codes is docs/reference/library-errors.md.
 */
export interface Ipam {
  /**
   * Addresses from the host's own blocks, then newly claimed ones, then (without strict affinity) borrowed ones; with
   * their block's prefix length. Running out is no error: `msgs` say why there are fewer.
   * @throws IpamError UseRequired, InvalidHandle, NodeNotFound, NoQualifiedPool, PoolNotEnabled, MalformedObject, BlockLimit,
   * NoClaimAllowed, InsufficientIPsByHandle, NotAllAssigned, IPAMConfigConflict, StrictAffinity. `partialResult(error)` has
   * what was assigned before, and is the caller's to release.
   */
  autoAssign(args: AutoAssignArgs, options?: CallOptions): Promise<AutoAssignResult>;
  /**
   * Assigns one given address; reservations, caps and selectors are ignored.
   * @throws IpamError AlreadyExists (with its `holder`), NotInPool, UseNotAllowed, AffinityMismatch, BlockOverlap,
   * MalformedBlock, MaxAllocReached, InsufficientIPsByHandle, InvalidHandle, IPAMConfigConflict, StrictAffinity
   */
  assignIP(args: AssignIPArgs, options?: CallOptions): Promise<void>;
  /**
   * Releases addresses. Blocks are written in parallel and independently.
   * @throws IpamError BadSequenceNumber, BadHandle, MalformedBlock: that block was left as it is, others were done.
   * `partialResult<ReleaseResult>(error)` has what was done.
   */
  releaseIPs(releases: readonly ReleaseOptions[], options?: CallOptions): Promise<ReleaseResult>;
  /** Releases every address of a handle. @throws IpamError NotFound: there is no such handle; MalformedBlock */
  releaseByHandle(handleID: string, options?: CallOptions): Promise<void>;
  /** Addresses of a handle, sorted. @throws IpamError NotFound: there is no such handle */
  ipsByHandle(handleID: string, options?: CallOptions): Promise<string[]>;
  /** Who an address is for. @throws IpamError NotFound: not assigned; InCooldown: released, not free yet; MalformedBlock */
  getAssignmentAttributes(ip: string, options?: CallOptions): Promise<AssignmentAttributes>;
  /**
   * Claims every block of a range; caps do not count.
   * @throws IpamError NotInPool, InvalidSize, BlockOverlap, MalformedBlock, IPAMConfigConflict, StrictAffinity.
   * `partialResult<ClaimResult>(error)` has what was claimed before.
   */
  claimAffinity(cidr: string, affinity: AffinityConfig, options?: CallOptions): Promise<ClaimResult>;
  /** Releases a host's affinities to the blocks of a range; with `mustBeEmpty`, of empty blocks only. @throws IpamError BlockNotEmpty, NotInPool, InvalidSize, MalformedBlock */
  releaseAffinity(cidr: string, host: string, mustBeEmpty: boolean, options?: CallOptions): Promise<void>;
  /** Releases all affinities of a host; every one is tried. @throws IpamError BlockNotEmpty, MalformedBlock: the last one */
  releaseHostAffinities(affinity: AffinityConfig, mustBeEmpty: boolean, options?: CallOptions): Promise<void>;
  /** Releases all affinities to blocks of a pool, of any host. @throws IpamError MalformedBlock */
  releasePoolAffinities(cidr: string, options?: CallOptions): Promise<void>;
  /** Releases the affinity of a block; a block without an affinity is not an error. @throws IpamError BlockNotEmpty, MalformedBlock */
  releaseBlockAffinity(block: IPAMBlock, mustBeEmpty: boolean, options?: CallOptions): Promise<void>;
  /** Releases all affinities of a host. Addresses in use stay assigned. @throws IpamError MalformedBlock */
  removeIPAMHost(affinity: AffinityConfig, options?: CallOptions): Promise<void>;
  /**
   * Ensures that the host has a block for each family whose host-reserved attributes are given.
   * @throws IpamError NodeNotFound, NoQualifiedPool, PoolNotEnabled, MalformedObject, NoFreeBlocks, NoClaimAllowed,
   * IPAMConfigConflict, StrictAffinity
   */
  ensureBlock(args: BlockArgs, options?: CallOptions): Promise<EnsuredBlocks>;
  /** Adds the labels that affinities of older versions lack; retries until it succeeds or is cancelled. */
  upgradeHost(node: string, options?: CallOptions): Promise<void>;
  /** Frees what has cooled down in a block as listed, in one write. @throws DatastoreError Conflict, NotFound */
  garbageCollectColdIPs(
    config: Pick<IPAMConfig, "ipCooldownSeconds">,
    block: IPAMBlock,
    options?: CallOptions,
  ): Promise<void>;
  /**
   * Changes who an address is for, all or nothing.
   * @throws IpamError PreconditionFailed, NotFound, NotAssignedToHandle, NotInPool, MalformedBlock
   */
  setOwnerAttributes(
    ip: string,
    handleID: string,
    updates: OwnerAttributeUpdates,
    preconditions?: OwnerAttributePreconditions,
    options?: CallOptions,
  ): Promise<void>;
  /**
   * Makes a VM's alternate owner the active one of all its addresses.
   * @throws IpamError AlternateOwnerEmpty, AlternateOwnerMismatch, NotFound, InCooldown, NotAssignedToHandle, PreconditionFailed,
   * MalformedBlock
   */
  swapOwners(handleID: string, target: AttributeOwner, options?: CallOptions): Promise<void>;
  /** How full pools and blocks are, in the order of the pools' names. */
  getUtilization(args?: GetUtilizationArgs, options?: CallOptions): Promise<PoolUtilization[]>;
  /**
   * The configuration in force; the defaults where none is stored. Never writes.
   * @throws IpamError IPAMConfigConflict, StrictAffinity
   */
  getIPAMConfig(options?: CallOptions): Promise<IPAMConfig>;
  /**
   * Changes the named fields and keeps the others.
   * @throws IpamError IPAMConfigConflict, StrictAffinity, naming every rule that the result would break
   */
  setIPAMConfig(changes: ConfigChanges, options?: CallOptions): Promise<SetConfigResult>;
}

/** Opens the library over a datastore, which stays the caller's to close. */
export function createIpam(options: IpamOptions): Ipam {
  const { datastore, windowsHost = process.platform === "win32", clock = () => new Date() } = options;
  const { nodes = datastore.nodes?.get ?? anyNode, blockOrder = hashedOrder } = options;
  const warn = saidOnce(options.warn ?? ((message) => process.emitWarning(message)));
  const hostname = () => options.hostname ?? osHostname().trim().toLowerCase();
  const firstSequenceNumber = sequenceNumbers(clock);
  const context: Context = { datastore, clock, blockOrder, nodes, windowsHost, hostname, warn, firstSequenceNumber };
  /** For calls that may ask for a node more than once. */
  const readingOnce = () => ({ ...context, nodes: readOnce(nodes) });
  return behindTheDoor({
    autoAssign: (args, call = {}) => autoAssign(readingOnce(), args, call),
    assignIP: (args, call = {}) => assignIP(context, args, call),
    releaseIPs: (releases, call = {}) => releaseIPs(readingOnce(), releases, call),
    releaseByHandle: (handleID, call = {}) => releaseByHandle(readingOnce(), handleID, call),
    ipsByHandle: (handleID, call = {}) => ipsByHandle(context, handleID, call),
    getAssignmentAttributes: (ip, call = {}) => getAssignmentAttributes(context, ip, call),
    claimAffinity: (cidr, affinity, call = {}) => claimAffinity(context, cidr, affinity, call),
    releaseAffinity: (cidr, host, mustBeEmpty, call = {}) => releaseAffinity(context, cidr, host, mustBeEmpty, call),
    releaseHostAffinities: (owner, mustBeEmpty, call = {}) => releaseHostAffinities(context, owner, mustBeEmpty, call),
    releasePoolAffinities: (cidr, call = {}) => releasePoolAffinities(context, cidr, call),
    releaseBlockAffinity: (block, mustBeEmpty, call = {}) => releaseBlockAffinity(context, block, mustBeEmpty, call),
    removeIPAMHost: (affinity, call = {}) => releaseHostAffinities(context, affinity, false, call),
    ensureBlock: (args, call = {}) => ensureBlock(readingOnce(), args, call),
    upgradeHost: (node, call = {}) => upgradeHost(context, node, call),
    garbageCollectColdIPs: (config, block, call = {}) => garbageCollectColdIPs(context, config, block, call),
    setOwnerAttributes: (ip, handleID, updates, preconditions = {}, call = {}) =>
      setOwnerAttributes(context, ip, handleID, updates, preconditions, call),
    swapOwners: (handleID, target, call = {}) => swapOwners(context, handleID, target, call),
    getUtilization: (args = {}, call = {}) => getUtilization(context, args, call),
    getIPAMConfig: (call) => getIPAMConfig(datastore, { ...call, windowsHost }),
    setIPAMConfig: (changes, call) => setIPAMConfig(datastore, changes, { ...call, windowsHost }),
  });
}
