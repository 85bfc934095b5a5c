/** Why there is no address, as a value: who asked, the answer in a sentence, the causes and what they rest on. Pure. */

import type { EventFacts, PodFacts } from "../../judgement/facts.ts";
import { usageOf } from "../../judgement/in-use.ts";
import { type Inventory, inventoryOf } from "../../judgement/inventory.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { hasEnded, podName } from "../../judgement/users.ts";
import { type Asking, askingFor, familiesOf, nextOn, versionOf } from "../../judgement/why/asking.ts";
import { type FamilyVerdict, verdictOn } from "../../judgement/why/causes.ts";
import { CAUSES, type Cause, type CauseCode } from "../../judgement/why/codes.ts";
import { causeSaid, eventsOf } from "../../judgement/why/events.ts";
import { fixedCauses } from "../../judgement/why/fixed.ts";
import { momentOf } from "../../judgement/why/moment.ts";
import type { IpVersion } from "../../net/address.ts";

export interface WhyReport {
  /** `Pod shop/web-0`, or `Node node-a`. */
  readonly subject: string;
  readonly node?: string;
  /**
   * `fails`: there is a cause. `passes`: nothing stands in the way. `assigned`: it has its addresses. `none`: it gets
   * none from pools, or not yet.
   */
  readonly state: "fails" | "passes" | "assigned" | "none";
  /** One sentence. */
  readonly summary: string;
  /** The first to be mended first. */
  readonly causes: readonly Cause[];
  readonly families: readonly FamilyVerdict[];
  /** Of the pod, the newest first. */
  readonly events: readonly EventFacts[];
  readonly askedPools?: readonly string[];
}

export function whyNode(snapshot: Snapshot, node: string, namespace: string | undefined, now: Date): WhyReport {
  const inventory = inventoryOf(snapshot);
  const asking = nextOn(inventory, node, namespace);
  const families = verdicts(inventory, asking, familiesOf(inventory), now);
  const causes = distinct(families.flatMap((verdict) => verdict.causes));
  const next = `The next pod on ${node}`;
  const summary = causes[0]
    ? `${next} gets no ${causeText(causes[0])}`
    : `${next} gets an address: ${roomText(families)}${unreadText(snapshot)}`;
  const state = causes.length > 0 ? "fails" : "passes";
  return { subject: `Node ${node}`, node, state, summary, causes, families, events: [], ...asked(asking) };
}

export function whyPod(snapshot: Snapshot, pod: PodFacts, now: Date): WhyReport {
  const inventory = inventoryOf(snapshot);
  const subject = `Pod ${podName(pod)}`;
  const events = eventsOf(snapshot.events, pod.namespace, pod.name);
  const known = { subject, ...(pod.node && { node: pod.node }), events };
  const missing = familiesOf(inventory).filter((version) => !pod.addresses.some((text) => versionOf(text) === version));
  const answer = withoutAsking(pod, missing);
  if (answer !== undefined || pod.node === undefined) {
    const [state, text] = answer ?? (["none", "is not scheduled to a node yet: it gets an address there"] as const);
    return { ...known, state, summary: `${subject} ${text}`, causes: [], families: [] };
  }
  const asking = askingFor(inventory, pod, pod.node);
  const families = pod.askedAddresses ? [] : verdicts(inventory, asking, missing, now);
  const found = [...families.flatMap((verdict) => verdict.causes), ...fixedCauses(inventory, pod)];
  const causes = distinct(found.length > 0 ? found : onlySaid(events, pod));
  const state = causes.length > 0 ? "fails" : "passes";
  return { ...known, state, summary: summaryOf(subject, causes, families, events), causes, families, ...asked(asking) };
}

/** What is to be said of a pod that asks for nothing. */
function withoutAsking(pod: PodFacts, missing: readonly IpVersion[]) {
  if (hasEnded(pod)) return ["none", `has ended (${pod.phase}): it has no address any more`] as const;
  if (pod.hostNetwork) return ["none", "is on its node's network: it gets no address of its own"] as const;
  if (missing.length === 0) return ["assigned", `has ${pod.addresses.join(", ")}`] as const;
  return pod.terminating ? (["none", "is being deleted: it gets no address any more"] as const) : undefined;
}

const asked = ({ askedPools }: Asking) => (askedPools ? { askedPools } : {});

function verdicts(inventory: Inventory, asking: Asking, versions: readonly IpVersion[], now: Date): FamilyVerdict[] {
  const moment = momentOf(inventory.snapshot, now);
  return versions.map((version) => verdictOn(inventory, asking, version, moment));
}

/** Causes that no stored object shows: what the CNI plugin says of them is all there is. */
const SAID_ONLY: readonly CauseCode[] = ["OtherIPAM", "NotAddresses", "AddressTaken"];

/** Addresses that are asked for by name were looked at: what an earlier event says of them is over. */
function onlySaid(events: readonly EventFacts[], { askedAddresses }: PodFacts): Cause[] {
  const code = events[0] && causeSaid(events[0].message);
  if (code === undefined || !SAID_ONLY.includes(code)) return [];
  if (code === "AddressTaken" && askedAddresses) return [];
  return [{ code, message: events[0]!.message, command: `ipamctl explain ${code}` }];
}

function distinct(causes: readonly Cause[]): Cause[] {
  return [...new Map(causes.map((cause) => [`${cause.code} ${cause.message}`, cause])).values()];
}

const causeText = ({ code, family, message }: Cause) => `${family ?? "IP"} address: ${message} (${code})`;

function summaryOf(
  subject: string,
  causes: readonly Cause[],
  families: readonly FamilyVerdict[],
  events: readonly EventFacts[],
): string {
  if (causes[0]) return `${subject} gets no ${causeText(causes[0])}`;
  const [last] = events;
  const room = `${subject} gets an address at its next attempt: ${roomText(families)}`;
  const said = last && causeSaid(last.message);
  if (last === undefined) return room;
  const what = said ? ` (${said}: ${CAUSES[said].title.toLowerCase()})` : "";
  return `${room}. The last attempt that failed was at ${last.lastSeen}${what}`;
}

/** Whether the next address is in use already is not known where part of its users were not read. */
function unreadText(snapshot: Snapshot): string {
  const { unread } = usageOf(snapshot);
  return unread === undefined ? "" : `. Whether somebody uses it already is not known: ${unread}`;
}

function roomText(families: readonly FamilyVerdict[]): string {
  if (families.length === 0) return "the addresses that it asks for are free";
  const parts = families.map(({ family, room }) => {
    if (room.own.free > 0) return `${room.own.free} ${family} addresses of its node's blocks are free`;
    return room.claimable || room.remade.length > 0
      ? `there are ${family} blocks to claim`
      : `${family} addresses can be borrowed`;
  });
  return parts.join(", ");
}
