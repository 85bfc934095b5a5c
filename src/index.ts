/** What `import … from "ipam-operator"` gives. */

export type { Installation, InstallationSpec, IpamSettings } from "./api/installation.ts";
export type { Condition, KubeObject, ObjectMeta } from "./api/meta.ts";
export type {
  BlockAffinity,
  IPAMBlock,
  IPAMConfiguration,
  IPAMHandle,
  IPPool,
  IPReservation,
  IpamKind,
  VMAddressPersistence,
} from "./api/v3.ts";
export { type ConnectOptions, connectKubernetes as openKubernetes } from "./datastore/connect.ts";
export {
  type CallOptions,
  type Datastore,
  DatastoreError,
  type DatastoreErrorCode,
  type DatastoreEvent,
  isDatastoreError,
  type Listed,
  type ListOptions,
  type WatchOptions,
} from "./datastore/datastore.ts";
export { type EmbeddedOptions, openEmbedded } from "./datastore/embedded.ts";
export { createIpam, type Ipam, type IpamOptions } from "./ipam/client.ts";
export {
  type ConfigChanges,
  type ConfigViolation,
  configViolations,
  DEFAULT_CONFIG,
  DEFAULT_MAX_BLOCKS_PER_HOST,
  effectiveConfig,
  type IPAMConfig,
  type SetConfigResult,
} from "./ipam/config.ts";
export { IpamError, type IpamErrorCode } from "./ipam/errors.ts";
