/** For every code a data set that shows it, and nothing else. Each is the sound cluster with one thing gone wrong. */
import { affinityLabels } from "../../src/api/names.ts";
import type { AllocationAttribute, IPAMBlock, IPAMBlockSpec, IPAMConfigurationSpec } from "../../src/api/v3.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { emptyBlock, node, ofPod, pod, sound } from "../cli/sound.ts";
import { affinity, block, configuration, handle, pool, reservation, usedBlock } from "../support/ipam-data.ts";

type Damage = readonly [code: string, what: string, damaged: Partial<Snapshot>];

const [first, second, lb, v6] = sound.blocks as [IPAMBlock, IPAMBlock, IPAMBlock, IPAMBlock];
/** node-a's IPv4 block with its spec changed. */
const withFirst = (spec: Partial<IPAMBlockSpec>, metadata: object = {}): Partial<Snapshot> => ({
  blocks: [
    { ...first, metadata: { ...first.metadata, ...metadata }, spec: { ...first.spec, ...spec } },
    second,
    lb,
    v6,
  ],
});
const withSecond = (spec: Partial<IPAMBlockSpec>): Partial<Snapshot> => ({
  blocks: [first, { ...second, spec: { ...second.spec, ...spec } }, lb, v6],
});
const withBlocks = (...more: IPAMBlock[]) => ({ blocks: [...sound.blocks, ...more] });
const withAffinities = (...more: Snapshot["affinities"]) => ({ affinities: [...sound.affinities, ...more] });
const withHandles = (...more: Snapshot["handles"]) => ({ handles: [...sound.handles, ...more] });
const withPods = (...more: NonNullable<Snapshot["pods"]>) => ({ pods: [...sound.pods!, ...more] });
const withoutPod = (name: string) => sound.pods!.filter((known) => known.name !== name);
const withPools = (...more: Snapshot["pools"]) => ({ pools: [...sound.pools, ...more] });
const TODAY = "2026-01-02T00:00:00Z";
/** Older than its pool, and then free to be of another size. */
const older = (made: IPAMBlock) => ({
  ...made,
  metadata: { ...made.metadata, creationTimestamp: "2025-01-02T00:00:00Z" },
});
const configured = (spec: IPAMConfigurationSpec) => ({ configurations: [configuration(spec)] });
const COOLING = { releasedAt: "2026-01-02T11:59:00Z" };

/** A whole other address of the first block, with everything that belongs to it. */
const onMore = (entry: AllocationAttribute, more: Partial<Snapshot> = {}): Partial<Snapshot> => ({
  ...more,
  blocks: [
    usedBlock("10.0.0.0/30", "node-a", { 0: ofPod("web-0", "node-a"), 1: first.spec.attributes[1]!, 2: entry }),
    second,
    lb,
    v6,
  ],
});

export const DAMAGES: readonly Damage[] = [
  ["LeakedAddress", "its pod does not exist", { pods: withoutPod("web-1") }],
  [
    "LeakedAddress",
    "its pod has ended",
    { pods: [...withoutPod("web-1"), pod("web-1", "node-b", ["10.0.0.4"], { phase: "Failed" })] },
  ],
  [
    "LeakedAddress",
    "its pod is on another node, and has an address there",
    { pods: [...withoutPod("web-1"), pod("web-1", "node-a", ["10.0.0.2"])], ...onMoreOf("web-1") },
  ],
  [
    "LeakedAddress",
    "its pod has another address",
    { pods: [...withoutPod("web-2"), pod("web-2", "node-a", ["10.0.0.2"])], ...onMoreOf("web-2") },
  ],
  [
    "LeakedAddress",
    "its pod is on the node's network",
    { pods: [...withoutPod("web-1"), pod("web-1", "node-b", [], { hostNetwork: true })] },
  ],
  ["LeakedAddress", "its Service is gone", { services: [] }],
  ["LeakedAddress", "its node is gone", { ...tunnelOfGoneNode() }],
  [
    "UnlistedAddress",
    "only one family is listed",
    { pods: [...withoutPod("web-0"), pod("web-0", "node-a", ["10.0.0.0"])] },
  ],
  [
    "UnknownOwner",
    "no attributes",
    onMore({ handle_id: "by-hand" }, withHandles(handle("by-hand", { "10.0.0.0/30": 1 }))),
  ],
  ["UnknownOwner", "neither handle nor attributes: an older version's release whose time the CRD dropped", onMore({})],
  [
    "UnknownOwner",
    "a VM that does not run",
    onMore(
      { handle_id: "vm", secondary: { namespace: "shop", pod: "launcher", node: "node-a", "vmi-name": "db" } },
      withHandles(handle("vm", { "10.0.0.0/30": 1 })),
    ),
  ],
  ["InUseNotAllocated", "a free address", withPods(pod("thief", "node-a", ["10.0.0.2"]))],
  ["InUseNotAllocated", "one that cools down", withPods(pod("thief", "node-a", ["10.0.0.6"]))],
  ["InUseNotAllocated", "one of no block", withPods(pod("thief", "node-a", ["10.0.0.9"]))],
  ["InUseOutsidePools", "another plugin's", withPods(pod("other", "node-a", ["192.0.2.1"]))],
  [
    "InUseOutsidePools",
    "of a disabled pool",
    {
      ...withPools(pool("old", "10.9.0.0/28", { disabled: true, blockSize: 30 })),
      ...withPods(pod("other", "node-a", ["10.9.0.1"])),
    },
  ],
  ["DuplicateAddress", "two pods", withPods(pod("twin", "node-b", ["10.0.0.4"]))],
  ["AllocatedToAnother", "another pod", { pods: [...withoutPod("web-1"), pod("web-9", "node-b", ["10.0.0.4"])] }],
  [
    "AllocatedToAnother",
    "a pod, of a tunnel's address",
    { nodes: [node("node-a"), node("node-b")], ...withPods(pod("web-9", "node-a", ["10.0.0.1"])) },
  ],

  [
    "AllocationPointsNowhere",
    "index 9 of 2",
    withSecond({ allocations: [0, 1, 9, null], attributes: second.spec.attributes.slice(0, 2) }),
  ],
  ["UnusedAttribute", "a ghost", withFirst({ attributes: [...first.spec.attributes, {}] })],
  ["FreeAndAllocated", "ordinal 0", withFirst({ unallocated: [2, 3, 0] })],
  ["FreeTwice", "ordinal 2", withFirst({ unallocated: [2, 3, 2] })],
  ["FreeOutOfRange", "ordinal 99", withFirst({ unallocated: [2, 3, 99] })],
  ["LostAddress", "ordinal 2", withFirst({ unallocated: [3] })],

  ["MalformedBlock", "too few allocations", malformedSize()],
  ["MalformedBlock", "another name", withFirst({}, { name: "10-0-0-0-29" })],
  ["BadSequenceNumber", "of a free address", withFirst({ sequenceNumberForAllocation: { 0: 999n, 1: 999n, 2: 999n } })],
  ["BadSequenceNumber", "of no ordinal", withFirst({ sequenceNumberForAllocation: { 0: 999n, 1: 999n, x: 1n } })],
  ["BadSequenceNumber", "not reached yet", withFirst({ sequenceNumberForAllocation: { 0: 999n, 1: 1001n } })],
  [
    "BadSequenceNumber",
    "level with a written block",
    withFirst({ sequenceNumberForAllocation: { 0: 1000n } }, { generation: 2 }),
  ],
  ["ReleaseInFuture", "by an hour", cooling({ releasedAt: "2026-01-02T13:00:00Z" })],
  ["MalformedCooldown", "with attributes", cooling({ ...COOLING, secondary: { node: "node-b" } })],
  ["MalformedCooldown", "at no time", cooling({ releasedAt: "yesterday" })],
  ["MalformedOwner", "without type", { ...ownedBy("node-b") }],
  ["MalformedOwner", "claimed by nobody", { ...ownedBy(undefined) }],
  [
    "MalformedHandleText",
    "two lines of a file",
    onMore(
      { ...ofPod("web-3", "node-a"), handle_id: "k8s-pod-network.web-3\r\neth0" },
      {
        ...withHandles(handle("k8s-pod-network.web-3", { "10.0.0.0/30": 1 })),
        ...withPods(pod("web-3", "node-a", ["10.0.0.2"])),
      },
    ),
  ],

  [
    "OverlappingBlocks",
    "one inside the other",
    {
      ...withBlocks(emptyBlock("fd00::40/122", "node-a"), older(emptyBlock("fd00::40/123", "node-a"))),
      ...withAffinities(affinity("node-a", "fd00::40/122"), affinity("node-a", "fd00::40/123")),
      pools: sound.pools.map((known) => ({ ...known, metadata: { ...known.metadata, creationTimestamp: TODAY } })),
    },
  ],
  [
    "ForeignBlockSize",
    "smaller than the pool's",
    { ...withBlocks(emptyBlock("fd00::40/123", "node-a")), ...withAffinities(affinity("node-a", "fd00::40/123")) },
  ],
  [
    "BlockOutsidePools",
    "no pool",
    { ...withBlocks(emptyBlock("192.0.2.0/30", "node-a")), ...withAffinities(affinity("node-a", "192.0.2.0/30")) },
  ],
  ["EmptyUnownedBlock", "nobody's", withBlocks(block("10.0.0.8/30"))],

  ["UnfinishedAffinity", "pending", withAffinities(affinity("node-a", "10.0.0.8/30", { state: "pending" }))],
  [
    "UnfinishedAffinity",
    "being given up, and the block still owned",
    {
      ...withBlocks(emptyBlock("10.0.0.8/30", "node-a")),
      ...withAffinities(affinity("node-a", "10.0.0.8/30", { state: "pendingDeletion" })),
    },
  ],
  ["ForeignAffinitySize", "TRY-01: smaller than its pool's blocks", withAffinities(affinity("node-a", "10.0.0.8/31"))],
  [
    "ForeignAffinitySize",
    "TRY-01: larger, and its claim was never confirmed",
    withAffinities(affinity("node-a", "10.0.0.0/29", { state: "pending" })),
  ],
  ["DanglingAffinity", "no block", withAffinities(affinity("node-a", "10.0.0.8/30"))],
  ["DanglingAffinity", "no block and no node", withAffinities(affinity("node-z", "10.0.0.8/30"))],
  ["ContradictingAffinity", "another's block", withAffinities(affinity("node-b", "10.0.0.0/30"))],
  [
    "ContradictingAffinity",
    "nobody's block",
    { ...ownedBy(undefined, { affinityClaimTime: undefined }), affinities: sound.affinities },
  ],
  ["BlockWithoutAffinity", "no row", { affinities: sound.affinities.filter(({ spec }) => spec.node !== "node-b") }],
  [
    "AffinityOfGoneNode",
    "an empty block",
    { ...withBlocks(emptyBlock("10.0.0.8/30", "node-z")), ...withAffinities(affinity("node-z", "10.0.0.8/30")) },
  ],
  ["MissingLabels", "none", relabelled({})],
  [
    "MissingLabels",
    "of another host",
    relabelled({ ...affinityLabels({ node: "x", type: "host", cidr: "10.0.0.4/30" }) }),
  ],
  ["WrongAffinityName", "another range's", renamedAffinity()],

  ["OrphanHandle", "no address", withHandles(handle("ghost", { "10.0.0.0/30": 1 }))],
  ["OrphanHandle", "a block that is not there", withHandles(handle("ghost", { "10.9.9.0/30": 1 }))],
  ["OvercountedHandle", "2 for 1", { handles: recounted({ "10.0.0.4/30": 2 }) }],
  ["OvercountedHandle", "in another block too", { handles: recounted({ "10.0.0.4/30": 1, "10.0.0.0/30": 1 }) }],
  ["UndercountedHandle", "another block only", { handles: undercounted() }],
  [
    "MissingHandle",
    "no object",
    { handles: sound.handles.filter(({ spec }) => spec.handleID !== "k8s-pod-network.web-1") },
  ],
  ["MalformedHandle", "a count of zero", { handles: recounted({ "10.0.0.4/30": 1, "10.0.0.0/30": 0 }) }],
  ["MalformedHandle", "counts nothing", withHandles(handle("nothing", {}))],
  ["MalformedHandle", "a range with host bits", { handles: recounted({ "10.0.0.5/30": 1 }) }],
  ["WrongHandleName", "another id's", { handles: renamedHandle() }],

  ["InvalidConfiguration", "a cap without strict affinity", configured({ strictAffinity: false, maxBlocksPerHost: 4 })],
  [
    "InvalidConfiguration",
    "nothing may be allocated",
    configured({ strictAffinity: false, autoAllocateBlocks: false }),
  ],
  ["InvalidConfiguration", "out of range", configured({ ipCooldownSeconds: 5000 })],
  [
    "InvalidConfiguration",
    "not strict, with a Windows node",
    { nodes: [...sound.nodes!, node("win", { windows: true })] },
  ],
  [
    "IgnoredConfiguration",
    "another name",
    { configurations: [...sound.configurations, { ...configuration({}), metadata: { name: "global" } }] },
  ],
  ["DatastoreLocked", "not ready", { clusterInformation: { ...sound.clusterInformation!, ready: false } }],

  ["InvalidPool", "CRD-01: host bits", withPools(pool("odd", "192.168.0.1/24"))],
  ["InvalidPool", "blocks of 4096", withPools(pool("odd", "192.168.0.0/16", { blockSize: 19 }))],
  ["InvalidPool", "smaller than a block", withPools(pool("odd", "192.168.0.0/28"))],
  [
    "InvalidPool",
    "a selector that cannot be read",
    withPools(pool("odd", "192.168.0.0/24", { nodeSelector: "zone = 'a'" })),
  ],
  [
    "RefusedObject",
    "a field that nobody knows",
    { ...withPools(pool("typo", "192.168.0.0/24", { natOutging: true } as object)), datastore: "embedded" },
  ],
  [
    "RefusedObject",
    "a reserved address that is no range",
    { reservations: [reservation("gateway", "10.0.0.15")], datastore: "embedded" },
  ],
  ["OverlappingPools", "one inside the other", withPools(pool("wide", "fd00::/100"))],
  ["InvalidReservation", "no address", { reservations: [reservation("gateway", "10.0.0.15/32", "10.65.0.300")] }],

  ["UnusablePool", "loopback", withPools(pool("loop", "127.0.0.0/24"))],
  ["UnusablePool", "multicast", withPools(pool("multi", "ff00::/120"))],
  ["UnusablePool", "the broadcast address", withPools(pool("class-e", "255.255.255.0/24"))],
  [
    "FewerBlocksThanNodes",
    "five nodes, four blocks",
    {
      ...configured({ strictAffinity: true }),
      nodes: [...sound.nodes!, node("node-c"), node("node-d"), node("node-e")],
    },
  ],
  ["PoolFull", "every address is in use", fullPool()],
  ["BlockCapReached", "full", atCap(7)],
  ["BlockCapNear", "nearly full", atCap(5)],

  ["UnfinishedDeletion", "a block", withBlocks(block("10.0.0.8/30", { deleted: true }))],
  ["UnfinishedDeletion", "an affinity", withAffinities(affinity("node-a", "10.0.0.8/30", { deleted: true }))],
  [
    "UnfinishedDeletion",
    "a handle",
    withHandles({ ...handle("ghost", {}), spec: { handleID: "ghost", block: {}, deleted: true } }),
  ],
  [
    "UnreadableObject",
    "a handle",
    { malformed: [{ kind: "IPAMHandle", name: "odd", reason: "spec.block is a list" }] },
  ],
];

function onMoreOf(name: string): Partial<Snapshot> {
  const entry = { ...ofPod(name, "node-a"), handle_id: "k8s-pod-network.again" };
  return onMore(entry, withHandles(handle("k8s-pod-network.again", { "10.0.0.0/30": 1 })));
}

function tunnelOfGoneNode(): Partial<Snapshot> {
  const entry = { handle_id: "ipip-tunnel-addr-node-z", secondary: { node: "node-z", type: "ipipTunnelAddress" } };
  return onMore(entry, withHandles(handle("ipip-tunnel-addr-node-z", { "10.0.0.0/30": 1 })));
}

/** A block of its own, so that nothing of it is in use. */
function malformedSize(): Partial<Snapshot> {
  const short = { ...emptyBlock("10.0.0.8/30", "node-a") };
  return {
    ...withBlocks({ ...short, spec: { ...short.spec, allocations: [null], unallocated: [0] } }),
    ...withAffinities(affinity("node-a", "10.0.0.8/30")),
  };
}

function cooling(entry: AllocationAttribute): Partial<Snapshot> {
  return withSecond({ attributes: [second.spec.attributes[0]!, second.spec.attributes[1]!, entry] });
}

/** node-b's block with another owner, and no row for the old one. */
function ownedBy(owner: string | undefined, more: Partial<IPAMBlockSpec> = {}): Partial<Snapshot> {
  return {
    ...withSecond({ affinity: owner, ...more }),
    affinities: sound.affinities.filter(({ spec }) => spec.node !== "node-b"),
  };
}

function relabelled(labels: Record<string, string>): Partial<Snapshot> {
  return { affinities: changedRow({ labels }) };
}
function renamedAffinity(): Partial<Snapshot> {
  return { affinities: changedRow({ name: "node-b-10-0-0-8-30" }) };
}
function changedRow(metadata: object): Snapshot["affinities"] {
  return sound.affinities.map((row) =>
    row.spec.node === "node-b" ? { ...row, metadata: { ...row.metadata, ...metadata } } : row,
  );
}

function recounted(counts: Record<string, number>): Snapshot["handles"] {
  return sound.handles.map((known) =>
    known.spec.handleID === "k8s-pod-network.web-1" ? handle(known.spec.handleID, counts) : known,
  );
}
/** web-0 has an address of both families. */
function undercounted(): Snapshot["handles"] {
  return sound.handles.map((known) =>
    known.spec.handleID === "k8s-pod-network.web-0" ? handle(known.spec.handleID, { "10.0.0.0/30": 1 }) : known,
  );
}
function renamedHandle(): Snapshot["handles"] {
  return sound.handles.map((known) => {
    if (known.spec.handleID !== "k8s-pod-network.web-1") return known;
    return { ...known, spec: { ...known.spec, handleID: "k8s-pod-network.other" } };
  });
}

/** A node with two blocks, and a limit of two; of their eight addresses one is reserved, and so many are in use. */
function atCap(used: number): Partial<Snapshot> {
  const names = Array.from({ length: used }, (_, index) => `c${index}`);
  const blockAt = (index: number) => (index < 4 ? "10.0.0.8/30" : "10.0.0.12/30");
  const entriesOf = (cidr: string) =>
    Object.fromEntries(names.flatMap((name, at) => (blockAt(at) === cidr ? [[at % 4, ofPod(name, "node-c")]] : [])));
  const ranges = ["10.0.0.8/30", "10.0.0.12/30"];
  return {
    ...configured({ strictAffinity: true, maxBlocksPerHost: 2 }),
    ...withBlocks(...ranges.map((cidr) => usedBlock(cidr, "node-c", entriesOf(cidr)))),
    ...withAffinities(...ranges.map((cidr) => affinity("node-c", cidr))),
    ...withHandles(...names.map((name, at) => handle(`k8s-pod-network.${name}`, { [blockAt(at)]: 1 }))),
    ...withPods(...names.map((name, at) => pod(name, "node-c", [`10.0.0.${8 + at}`]))),
    nodes: [...sound.nodes!, node("node-c")],
  };
}

function fullPool(): Partial<Snapshot> {
  const cidr = "10.8.0.0/31";
  const names = ["s0", "s1"];
  const entries = Object.fromEntries(names.map((name, at) => [at, ofPod(name, "node-a")]));
  return {
    ...withPools(pool("small", cidr, { blockSize: 31 })),
    ...withBlocks(usedBlock(cidr, "node-a", entries)),
    ...withAffinities(affinity("node-a", cidr)),
    ...withHandles(...names.map((name) => handle(`k8s-pod-network.${name}`, { [cidr]: 1 }))),
    ...withPods(...names.map((name, at) => pod(name, "node-a", [`10.8.0.${at}`]))),
  };
}
