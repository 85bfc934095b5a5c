/** What `import … from "ipam-operator"` gives. */

export type { Installation, InstallationSpec, IpamField, IpamSettings } from "./api/installation.ts";
export type { Condition, KubeObject, ObjectMeta } from "./api/meta.ts";
export { TUNNELS, WINDOWS_RESERVED_HANDLE } from "./api/names.ts";
export type { Labelled, Labels } from "./api/selector-node.ts";
export type {
  AttributeMap,
  BlockAffinity,
  IPAMBlock,
  IPAMConfiguration,
  IPAMConfigurationSpec,
  IPAMHandle,
  IPPool,
  IPReservation,
  IpamKind,
  VMAddressPersistence,
} from "./api/v3.ts";
export type { BlockRef } from "./datastore/block-index.ts";
export type { CachedDatastore, CacheOptions } from "./datastore/cached.ts";
export type { ConnectOptions } from "./datastore/connect.ts";
export {
  type CallOptions,
  type Datastore,
  DatastoreError,
  type DatastoreErrorCode,
  type DatastoreEvent,
  type FollowedNodes,
  type FollowOptions,
  isDatastoreError,
  type Kind,
  type Listed,
  type ListedName,
  type ListOptions,
  type Malformed,
  type NodeSource,
  type OverlapOptions,
  type StatusOptions,
  type Stored,
  type WatchOptions,
} from "./datastore/datastore.ts";
export type { EmbeddedOptions } from "./datastore/embedded.ts";
export type { Flavour } from "./datastore/flavours.ts";
export type { AffinityConfig, AffinityType } from "./ipam/affinity.ts";
export type { AssignIPArgs } from "./ipam/assign-ip.ts";
export {
  type AutoAssignResult,
  type IPAMAssignments,
  partialResult,
} from "./ipam/assignments.ts";
export type { AutoAssignArgs } from "./ipam/auto-assign-args.ts";
export type { HostReservedAttr } from "./ipam/block.ts";
export type { BlockOrder } from "./ipam/block-order.ts";
export type { Ipam, IpamOptions } from "./ipam/client.ts";
export {
  type ConfigChanges,
  type ConfigRuleName,
  type ConfigViolation,
  DEFAULT_CONFIG,
  DEFAULT_MAX_BLOCKS_PER_HOST,
  type IPAMConfig,
  type SetConfigResult,
} from "./ipam/config.ts";
export type { BlockArgs, EnsuredBlocks } from "./ipam/ensure-block.ts";
export { type ErrorClass, type Holder, IpamError, type IpamErrorCode, isIpamError } from "./ipam/errors.ts";
export type { AssignmentAttributes } from "./ipam/lookup.ts";
export type { NodeReader } from "./ipam/nodes.ts";
export {
  type AttributeOwner,
  emptyAttributeOwner,
  type OwnerAttributePreconditions,
  type OwnerAttributeUpdates,
} from "./ipam/owners.ts";
export type { ClaimResult } from "./ipam/ownership.ts";
export type { IntendedUse } from "./ipam/pools.ts";
export type { ReleaseOptions, ReleaseResult } from "./ipam/release.ts";
export type {
  BlockUtilization,
  GetUtilizationArgs,
  PoolUtilization,
  Utilization,
} from "./ipam/utilization.ts";
export type { BackoffOptions } from "./kube/backoff.ts";
export type { Glance, ObjectState } from "./kube/glance.ts";
export { cachedDatastore, openEmbedded, openKubernetes } from "./library/datastores.ts";
export {
  configViolations,
  createIpam,
  effectiveConfig,
  loadBalancerHandle,
  numReservedIPsInCIDR,
  ownerMatches,
  partialFulfillmentError,
  selectsNamespace,
  selectsNode,
  tunnelHandle,
  vmDesignHandle,
  vmHandle,
  workloadHandle,
  workloadIdHandle,
} from "./library/functions.ts";
export type { IpVersion } from "./net/address.ts";
export type { Cidr } from "./net/cidr.ts";
