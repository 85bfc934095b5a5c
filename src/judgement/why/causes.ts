/** Why the next address of a family cannot be given on a node: what keeps it, the first to be mended first. Pure. */
import { foreignIpamText } from "../../api/calico-installation.ts";
import { configViolations } from "../../api/config-rules.ts";
import type { IpVersion } from "../../net/address.ts";
import type { Inventory } from "../inventory.ts";
import { configureCommand } from "../mend.ts";
import type { Asking } from "./asking.ts";
import type { Cause } from "./codes.ts";
import { nextInUse } from "./next-address.ts";
import { chosenPools } from "./pools.ts";
import { type Room, roomIn } from "./room.ts";
import { shortage } from "./shortage.ts";

/** What was looked at, and what was found; no causes: the next address can be given. */
export interface FamilyVerdict {
  readonly family: "IPv4" | "IPv6";
  readonly causes: readonly Cause[];
  readonly room: Room;
}

export interface Moment {
  readonly now: Date;
  /** By address: those that nobody has any more. */
  readonly leaks: Leaks;
  /** Names of blocks that nodes own which are gone. */
  readonly ofGoneNodes: ReadonlySet<string>;
  /** What is run to repair a block, by its name. */
  readonly repairs: ReadonlyMap<string, string>;
}
/** Leaked addresses, by the name of their block. */
export type Leaks = ReadonlyMap<string, readonly string[]>;

export function verdictOn(inventory: Inventory, asking: Asking, version: IpVersion, moment: Moment): FamilyVerdict {
  const family = `IPv${version}` as const;
  const { usable, refusal } = chosenPools(inventory, asking, version);
  const room = roomIn(inventory, asking.host, usable, moment.now);
  const foreign = otherIpam(inventory);
  if (foreign) return { family, room, causes: [{ ...foreign, family }] };
  const before = blockers(inventory, asking);
  const found = refusal ? [refusal] : withRoom(inventory, asking, version, room, moment);
  return { family, room, causes: [...before, ...found.map((cause) => ({ ...cause, family }))] };
}

/** Where there is room, the next address must not be one that somebody uses already. */
function withRoom(inventory: Inventory, asking: Asking, version: IpVersion, room: Room, moment: Moment) {
  const short = shortage({ inventory, asking, version, room, moment });
  if (short.length > 0) return short;
  const mayClaim = inventory.config.autoAllocateBlocks && room.counted < inventory.cap;
  return nextInUse(inventory, { host: asking.host, room, now: moment.now, mayClaim });
}

/** Then pools, blocks and affinities have no part in it. */
function otherIpam({ snapshot: { foreignIpam } }: Inventory): Cause | undefined {
  if (foreignIpam === undefined) return undefined;
  return { code: "OtherIPAM", message: foreignIpamText(foreignIpam), command: "ipamctl explain OtherIPAM" };
}

/** What stops every allocation, whatever room there is. */
export function blockers({ snapshot, config }: Inventory, { host }: Asking): Cause[] {
  const causes: Cause[] = [];
  if (snapshot.clusterInformation?.ready === false) {
    const message = "Calico's datastore is locked (datastoreReady is false)";
    causes.push({ code: "DatastoreLocked", message, command: "calicoctl datastore migrate unlock" });
  }
  const windowsHost = snapshot.nodes?.some(({ name, windows }) => name === host && windows);
  for (const { scope, message } of configViolations(config, { windowsHost })) {
    if (scope === "value") continue; // tolerated where it is stored
    causes.push({ code: "InvalidConfiguration", message, command: configureCommand(config, snapshot) });
  }
  if (snapshot.nodes && !snapshot.nodes.some(({ name }) => name === host)) {
    const message = `there is no node ${host}`;
    causes.push({ code: "NodeUnknown", message, command: "kubectl get nodes" });
  }
  return causes;
}
