/** What the CNI plugin says in a pod's events, and which cause that is. */
import type { EventFacts } from "../facts.ts";
import type { CauseCode } from "./codes.ts";

/** In order: the first that is in the message says. Calico's words first, then those of other plugins. */
const SAYINGS: readonly (readonly [pattern: RegExp, code: CauseCode])[] = [
  [/per host block limit|limit of \d+ blocks reached/i, "BlockCapReached"],
  [/strict affinity enabled/i, "StrictAffinity"],
  [/StrictAffinity.*(at the same time|to be enabled)|AutoAllocateBlocks/i, "InvalidConfiguration"],
  [/no configured Calico pools|does not select node/i, "NodeNotSelected"],
  [/match the required use/i, "UseNotAllowed"],
  [/cannot find a qualified ippool/i, "PoolsClosed"],
  [/does not exist, or is not enabled/i, "AskedPoolMissing"],
  [/not ready to process requests|ready flag is not set/i, "DatastoreLocked"],
  [/already assigned|address already in use/i, "AddressTaken"],
  [/in range set/i, "OtherIPAM"],
  [
    /no (free |more )?IPs? (addresses )?available|no free addresses|assigned 0 (out of|of) \d+|failed to request/i,
    "PoolExhausted",
  ],
  [/nodes? ".*" not found|resource does not exist: Node/i, "NodeUnknown"],
  [/unauthorized|forbidden|failed to find plugin|connection refused|timeout|no such file/i, "NotAddresses"],
];

/** Undefined where nobody knows the saying. */
export function causeSaid(message: string): CauseCode | undefined {
  return SAYINGS.find(([pattern]) => pattern.test(message))?.[1];
}

/** Events of one pod, the newest first. */
export function eventsOf(events: readonly EventFacts[] | undefined, namespace: string, pod: string): EventFacts[] {
  const ofPod = (events ?? []).filter((event) => event.namespace === namespace && event.pod === pod);
  return ofPod.sort((a, b) => (a.lastSeen < b.lastSeen ? 1 : -1));
}
