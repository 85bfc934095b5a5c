/**
 * Random clusters made from histories. What is in use is known from the history, and never asked of the code under test:
 * each actor says what it holds, what the cluster shows of it, and what a block records for it.
 */
import fc from "fast-check";
import type { AllocationAttribute, BlockAffinity, IPAMBlock, IPAMHandle } from "../../src/api/v3.ts";
import type { NodeFacts, PodFacts, ServiceFacts, VmFacts } from "../../src/judgement/facts.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { NOW, node, pod } from "../cli/sound.ts";
import { affinity, block, configuration, handle, pool, usedBlock } from "../support/ipam-data.ts";

/** What became of whoever an address was given to. `held`: it uses the address; `unknown`: nobody can tell. */
const FATES = {
  running: "held",
  starting: "held",
  terminating: "held",
  failedOnSickNode: "held",
  tunnel: "held",
  newTunnel: "held",
  service: "held",
  stoppedVm: "held",
  migratingVm: "held",
  releasedByMistake: "held",
  recreated: "unknown",
  remadeNode: "unknown",
  deleted: "free",
  neverBound: "free",
  succeeded: "free",
  failed: "free",
  formerSandbox: "free",
  goneNode: "free",
  goneService: "free",
  goneVm: "free",
  cooled: "free",
} as const;
type Fate = keyof typeof FATES;
/** Those that the cluster shows with the address: for them a record may be missing, or name somebody else. */
const LISTED: readonly Fate[] = ["running", "failedOnSickNode", "tunnel", "service"];

/** Those that nothing but their record tells of: it has to name them. */
const NAMED: readonly Fate[] = [
  "starting",
  "newTunnel",
  "stoppedVm",
  "migratingVm",
  "terminating",
  "recreated",
  "remadeNode",
];
const COOLED: readonly Fate[] = ["cooled", "releasedByMistake"];

const actors = fc.record({
  fate: fc.constantFrom(...(Object.keys(FATES) as Fate[])),
  slot: fc.nat(31),
  record: fc.constantFrom("right", "right", "right", "null", "stranger", "lost"),
  place: fc.constantFrom("narrow", "narrow", "wide", "both"),
  wrongNode: fc.boolean(),
});
type Actor = typeof actors extends fc.Arbitrary<infer T> ? T : never;

export const worlds = fc.record({
  actors: fc.array(actors, { minLength: 1, maxLength: 9 }),
  emptyNarrow: fc.uniqueArray(fc.nat(7), { maxLength: 3 }),
  emptyWide: fc.uniqueArray(fc.nat(3), { maxLength: 2 }),
  owners: fc.array(fc.constantFrom("n0", "n1", "gone", undefined), { minLength: 12, maxLength: 12 }),
  unread: fc.constantFrom(undefined, undefined, undefined, undefined, "pods", "nodes", "services", "vms", "aPod"),
  strictAffinity: fc.boolean(),
});
type Description = typeof worlds extends fc.Arbitrary<infer T> ? T : never;

export interface World {
  readonly snapshot: Snapshot;
  /** Addresses that somebody uses. */
  readonly held: ReadonlySet<string>;
  /** `block address` of what must not be freed: it is in use, or nobody can tell. */
  readonly kept: ReadonlySet<string>;
  /** `block address` of what is surely free. */
  readonly free: ReadonlySet<string>;
  /** Nothing may be freed or given up at all: somebody who was not read may use any address. */
  readonly isBlind: boolean;
}

const addressOf = (slot: number) => `10.0.0.${slot}`;
const narrowOf = (slot: number) => `10.0.0.${slot - (slot % 4)}/30`;
const wideOf = (slot: number) => `10.0.0.${slot - (slot % 8)}/29`;
const BEFORE = "2026-01-02 03:00:00 +0000 UTC";
const AFTER = "2026-01-02 04:00:00.123456789 +0000 UTC";

class Builder {
  readonly pods: PodFacts[] = [];
  readonly nodes: NodeFacts[] = [node("n0"), node("n1"), node("sick", { ready: false })];
  readonly services: ServiceFacts[] = [];
  readonly vms: VmFacts[] = [];
  readonly held = new Set<string>();
  readonly records = new Map<string, Map<number, AllocationAttribute>>();
  readonly handles = new Map<string, Record<string, number>>();
  /** Records by what the history says of them. */
  readonly told: { readonly place: string; readonly address: string; readonly truth: "held" | "unknown" | "free" }[] =
    [];

  /** Whether it was recorded in a block at least. */
  record(
    cidrs: readonly string[],
    slot: number,
    entry: AllocationAttribute,
    truth: "held" | "unknown" | "free",
  ): boolean {
    const made = cidrs.filter((cidr) => {
      const base = Number(/(\d+)\//.exec(cidr)![1]);
      const entries = this.records.get(cidr) ?? new Map<number, AllocationAttribute>();
      if (entries.has(slot - base)) return false;
      this.records.set(cidr, entries.set(slot - base, entry));
      this.told.push({ place: `${nameOf(cidr)} ${addressOf(slot)}`, address: addressOf(slot), truth });
      const id = entry.handle_id;
      if (id !== undefined) this.handles.set(id, { ...this.handles.get(id), [cidr]: 1 });
      return true;
    });
    return made.length > 0;
  }
}

const nameOf = (cidr: string) => cidr.replaceAll(/[./]/g, "-");

export function worldOf(description: Description): World {
  const builder = new Builder();
  for (const [at, actor] of description.actors.entries()) play(builder, actor, at);
  const cidrs = new Set([
    ...builder.records.keys(),
    ...description.emptyNarrow.map((at) => narrowOf(at * 4)),
    ...description.emptyWide.map((at) => wideOf(at * 8)),
  ]);
  const { blocks, affinities } = stored(builder, [...cidrs].sort(), description.owners);
  const handles = Array.from(builder.handles, ([id, counts]): IPAMHandle => handle(id, counts));
  const isBlind = description.unread !== undefined && description.unread !== "vms";
  const snapshot = seen(builder, description, { blocks, affinities, handles });
  return { snapshot, held: builder.held, ...truths(builder, description), isBlind };
}

function truths({ told, held }: Builder, { unread }: Description) {
  const keptAddresses = new Set([
    ...held,
    ...told.flatMap(({ truth, address }) => (truth === "free" ? [] : [address])),
  ]);
  const isKept = ({ address }: { readonly address: string }) => keptAddresses.has(address);
  const places = (all: typeof told) => new Set(all.map(({ place }) => place));
  const blind = unread !== undefined;
  return { kept: places(told.filter(isKept)), free: places(blind ? [] : told.filter((each) => !isKept(each))) };
}

function stored({ records }: Builder, cidrs: readonly string[], owners: readonly (string | undefined)[]) {
  const blocks: IPAMBlock[] = [];
  const affinities: BlockAffinity[] = [];
  for (const [at, cidr] of cidrs.entries()) {
    const owner = owners[at % owners.length];
    const entries = Object.fromEntries(records.get(cidr) ?? []);
    const more = owner === undefined ? { affinity: undefined, affinityClaimTime: undefined } : {};
    const isEmpty = Object.keys(entries).length === 0;
    const claimed = owner === undefined ? {} : { affinity: `host:${owner}`, affinityClaimTime: "2026-01-02T03:04:05Z" };
    blocks.push(isEmpty ? block(cidr, claimed) : usedBlock(cidr, owner ?? "-", entries, more));
    if (owner !== undefined) affinities.push(affinity(owner, cidr));
  }
  return { blocks, affinities };
}

function seen(builder: Builder, { unread, strictAffinity }: Description, ipam: Partial<Snapshot>): Snapshot {
  const { pods, nodes, services, vms } = builder;
  const parts = { pods, nodes, services, vms };
  const isPart = unread !== undefined && unread !== "aPod";
  return {
    ...emptySnapshot(NOW.toISOString(), "projectcalico.org/v3"),
    ...ipam,
    ...parts,
    ...(isPart && { [unread]: undefined, unread: [{ part: unread, reason: "may not be listed" }] }),
    ...(unread === "aPod" && { malformed: [{ kind: "Pod", name: "odd", reason: "cannot be read" }] }),
    pools: [pool("p", "10.0.0.0/27", { blockSize: 30 })],
    configurations: [configuration({ strictAffinity, autoAllocateBlocks: true, ipCooldownSeconds: 300 })],
    namespaces: [{ name: "shop", labels: {} }],
    controllers: { assignIPs: "AllServices" },
    events: [],
  } as Snapshot;
}

/** Lives an actor's history: what it holds, what is seen of it, what was recorded. */
function play(builder: Builder, actor: Actor, at: number): void {
  const { fate, slot } = actor;
  const name = `a${at}`;
  const truth = FATES[fate];
  const cidrs = { narrow: [narrowOf(slot)], wide: [wideOf(slot)], both: [narrowOf(slot), wideOf(slot)] }[actor.place];
  const isListed = LISTED.includes(fate);
  const isPlain = COOLED.includes(fate) || (actor.record === "stranger" && NAMED.includes(fate));
  const record = isPlain ? "right" : actor.record;
  const entry = entryOf({ ...actor, record }, name);
  const recorded = record !== "lost" && builder.record(cidrs, slot, entry, truthOf(record, truth));
  if (!recorded && !isListed) return; // nothing was ever written of it, and nothing shows it
  if (truth === "held") builder.held.add(addressOf(slot));
  show(builder, fate, name, slot);
}

/** Attributes that name nobody leave the question open; those of a stranger who never existed are a leak. */
function truthOf(record: Actor["record"], truth: "held" | "unknown" | "free") {
  if (truth === "held") return truth;
  if (record === "null") return "unknown";
  return record === "stranger" ? "free" : truth;
}

function entryOf({ fate, record, wrongNode }: Actor, name: string): AllocationAttribute {
  if (COOLED.includes(fate)) return { releasedAt: "2026-01-02T11:00:00Z" };
  const handle_id = `h.${name}`;
  if (record === "null") return { handle_id };
  if (record === "stranger")
    return { handle_id, secondary: { namespace: "shop", pod: `stranger-${name}`, node: "n0", timestamp: AFTER } };
  const where = wrongNode ? "n1" : "n0";
  const ofPod = { namespace: "shop", pod: name, node: where, timestamp: fate === "recreated" ? BEFORE : AFTER };
  switch (fate) {
    case "tunnel":
    case "newTunnel":
    case "remadeNode":
    case "goneNode":
      return { handle_id, secondary: { node: `t-${name}`, type: "vxlanTunnelAddress" } };
    case "service":
    case "goneService":
      return { handle_id, secondary: { namespace: "shop", service: name, type: "LoadBalancer" } };
    case "stoppedVm":
    case "goneVm":
      return { handle_id, secondary: { ...ofPod, "vmi-name": name } };
    case "migratingVm":
      return {
        handle_id,
        secondary: { ...ofPod, pod: `${name}-source` },
        alternateOwnerAttrs: { ...ofPod, pod: `${name}-target`, node: "n1" },
      };
    default:
      return { handle_id, secondary: ofPod };
  }
}

function show(builder: Builder, fate: Fate, name: string, slot: number): void {
  const { pods, nodes, services, vms } = builder;
  const address = addressOf(slot);
  const created = { createdAt: "2026-01-02T03:30:00Z" };
  const spare = `10.9.${name.slice(1)}.1`;
  const shows: Partial<Record<Fate, () => unknown>> = {
    running: () => pods.push(pod(name, "n0", [address], created)),
    releasedByMistake: () => pods.push(pod(name, "n0", [address], created)),
    starting: () => pods.push(pod(name, "n0", [], created)),
    recreated: () => pods.push(pod(name, "n0", [], created)),
    terminating: () => pods.push(pod(name, "n0", [], { ...created, terminating: true })),
    failedOnSickNode: () => pods.push(pod(name, "sick", [address], { ...created, phase: "Failed" })),
    failed: () => pods.push(pod(name, "n0", [address], { ...created, phase: "Failed" })),
    succeeded: () => pods.push(pod(name, "n0", [address], { ...created, phase: "Succeeded" })),
    neverBound: () => {
      const { node: _node, ...unbound } = pod(name, "", [], { ...created, phase: "Pending" });
      pods.push(unbound);
    },
    formerSandbox: () => {
      // Its new sandbox has an address of another handle, in a block of its own.
      pods.push(pod(name, "n0", [spare], created));
      const entry = {
        handle_id: `new.${name}`,
        secondary: { namespace: "shop", pod: name, node: "n0", timestamp: "2026-01-02 05:00:00 +0000 UTC" },
      };
      builder.records.set(`10.9.${name.slice(1)}.0/30`, new Map([[1, entry]]));
      builder.handles.set(`new.${name}`, { [`10.9.${name.slice(1)}.0/30`]: 1 });
      builder.held.add(spare);
    },
    tunnel: () => nodes.push(node(`t-${name}`, { tunnels: { vxlanTunnelAddress: address } })),
    newTunnel: () => nodes.push(node(`t-${name}`)),
    remadeNode: () => nodes.push(node(`t-${name}`, { tunnels: { vxlanTunnelAddress: spare } })),
    service: () => services.push({ namespace: "shop", name, uid: name, addresses: [address] }),
    stoppedVm: () => vms.push({ namespace: "shop", name }),
    migratingVm: () => pods.push(pod(`${name}-target`, "n1", [], created)),
  };
  shows[fate]?.();
}
