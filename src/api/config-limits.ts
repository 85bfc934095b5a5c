/** Numbers of the IPAM configuration. Code, CRDs, help and pages take them from here. */

/** Blocks one node may own where maxBlocksPerHost is 0. */
export const DEFAULT_MAX_BLOCKS_PER_HOST = 20;
/** Greatest maxBlocksPerHost that can be set. */
export const MAX_BLOCKS_PER_HOST_LIMIT = 1_000_000;
/** Greatest ipCooldownSeconds that can be set. */
export const IP_COOLDOWN_SECONDS_LIMIT = 1200;
