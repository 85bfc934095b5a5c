/** What autoAssign is asked, and what cannot be asked. */
import type { AttributeMap } from "../api/v3.ts";
import type { HostReservedAttr } from "./block.ts";
import { IpamError } from "./errors.ts";
import { checkHandle } from "./handle.ts";
import type { Labelled } from "./nodes.ts";
import { checkFamily, type IntendedUse } from "./pools.ts";

/** How many addresses, for whom, and where from. */
export interface AutoAssignArgs {
  /** Number of IPv4 addresses. Default 0. */
  readonly num4?: number | undefined;
  /** Number of IPv6 addresses. Default 0. */
  readonly num6?: number | undefined;
  /** Handle to release them by. Default: none. */
  readonly handleID?: string | undefined;
  /** Attributes of the active owner; `node` should be among them. */
  readonly attrs?: AttributeMap | undefined;
  /** Host that asks. Default: this one's name, lower-cased. */
  readonly hostname?: string | undefined;
  /** CIDRs of the IPv4 pools to draw from. Default: every automatic one that selects node and namespace. */
  readonly ipv4Pools?: readonly string[] | undefined;
  /** The same for IPv6. */
  readonly ipv6Pools?: readonly string[] | undefined;
  /** Most blocks the host may own; the configuration's limit holds as well. Default 0: only that one. */
  readonly maxBlocksPerHost?: number | undefined;
  /** What new IPv4 blocks keep back for a Windows host. */
  readonly hostReservedAttrIPv4s?: HostReservedAttr | undefined;
  /** The same for IPv6. */
  readonly hostReservedAttrIPv6s?: HostReservedAttr | undefined;
  /** What the addresses are for. Required. */
  readonly intendedUse: IntendedUse;
  /** Most addresses of one family the handle may have; what it has is given again. Default 0: no limit. */
  readonly maxAllocToHandlePerIPVersion?: number | undefined;
  /**
   * Keep nothing where fewer addresses than asked for can be assigned: what the call took is released again, and it ends in
   * NotAllAssigned. What the handle had before stays. Not together with a limit of the handle. Default false: what there is, is the result.
   */
  readonly allOrNothing?: boolean | undefined;
  /** The namespace that pools are selected by. Default: one without labels. */
  readonly namespace?: Labelled | undefined;
}

const BOTH =
  "autoAssign: allOrNothing cannot be combined with maxAllocToHandlePerIPVersion: at the limit another call of the handle is " +
  "given addresses that this one might release again. Leave one of them out";

/** What the form of the arguments does not say. @throws IpamError UseRequired, InvalidArgument, InvalidHandle */
export function checkArguments(args: AutoAssignArgs): void {
  const {
    intendedUse,
    handleID,
    ipv4Pools = [],
    ipv6Pools = [],
    allOrNothing,
    maxAllocToHandlePerIPVersion = 0,
  } = args;
  if (!intendedUse) throw new IpamError("UseRequired", "must specify the intended use when assigning an IP");
  if (allOrNothing && maxAllocToHandlePerIPVersion > 0) throw new IpamError("InvalidArgument", BOTH);
  checkHandle(handleID);
  checkFamily(ipv4Pools, 4);
  checkFamily(ipv6Pools, 6);
}
