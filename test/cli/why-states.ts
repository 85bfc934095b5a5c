/** Clusters in which the next pod gets no address, a row each: the cause that leads, and what clears it. */
import type { IPAMConfigurationSpec, IPPoolSpec } from "../../src/api/v3.ts";
import type { PodFacts } from "../../src/judgement/facts.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import type { CauseCode } from "../../src/judgement/why/codes.ts";
import { inputSnapshot } from "../support/input-snapshot.ts";
import { affinity, block, configuration, handle, pool, reservation, usedBlock } from "../support/ipam-data.ts";
import { NOW, node, ofPod, pod, sound } from "./sound.ts";
import type { Site } from "./writing-site.ts";

export interface State {
  readonly code: CauseCode;
  readonly what: string;
  readonly snapshot: Snapshot;
  /** Of `why`; default: the pod that waits on node-a. */
  readonly asked?: readonly string[];
  /** What only a person can decide, done first and once, as the text says; then commands are run. */
  readonly person?: (site: Site) => Promise<unknown>;
  /** Seconds that pass: the text says to wait. */
  readonly wait?: number;
}

const [A, B] = ["10.0.0.0/30", "10.0.0.4/30"];
const NODES = [node("node-a", { labels: { zone: "a" } }), node("node-b", { labels: { zone: "b" } })];
const pods = (spec: Partial<IPPoolSpec> = {}) => pool("pods", "10.0.0.0/29", { blockSize: 30, ...spec });
const wide = pool("wide", "10.0.0.0/28", { blockSize: 30 });
const waiting = (more: Partial<PodFacts> = {}) => pod("waiting", "node-a", [], { phase: "Pending", ...more });

type Part = Pick<Snapshot, "blocks" | "affinities" | "handles"> & { readonly pods: readonly PodFacts[] };

/** A block of a host with so many addresses allocated, to pods that run unless they are gone. */
function held(cidr: string, host: string, count: number, gone = 0): Part {
  const names = Array.from({ length: count }, (_, at) => `${host}-${cidr.replace(/\D/g, "-")}-${at}`);
  const at = (ordinal: number) => cidr.replace(/\d+\/\d+$/, (last) => String(Number(last.split("/")[0]) + ordinal));
  return {
    blocks: [usedBlock(cidr, host, Object.fromEntries(names.map((name, ordinal) => [ordinal, ofPod(name, host)])))],
    affinities: [affinity(host, cidr)],
    handles: names.map((name) => handle(`k8s-pod-network.${name}`, { [cidr]: 1 })),
    pods: names.map((name, ordinal) => pod(name, host, [at(ordinal)])).slice(gone),
  };
}

function cluster(spec: IPAMConfigurationSpec, parts: readonly Part[], more: Partial<Snapshot> = {}): Snapshot {
  return {
    ...emptySnapshot(NOW.toISOString(), "projectcalico.org/v3"),
    pools: [pods()],
    configurations: [configuration({ strictAffinity: false, autoAllocateBlocks: true, ...spec })],
    blocks: parts.flatMap(({ blocks }) => blocks),
    affinities: parts.flatMap(({ affinities }) => affinities),
    handles: parts.flatMap(({ handles }) => handles),
    pods: [...parts.flatMap((part) => part.pods), waiting()],
    nodes: NODES,
    namespaces: [{ name: "shop", labels: {} }],
    services: [],
    events: [],
    clusterInformation: sound.clusterInformation!,
    ...more,
  };
}

const another =
  (spec: Partial<IPPoolSpec> = {}) =>
  (site: Site) =>
    site.change((store) =>
      store.create({ ...pool("another", "10.9.0.0/29", { blockSize: 30, ...spec }), kind: "IPPool" }),
    );
const withPods = (change: (pod: PodFacts) => PodFacts) => async (site: Site) => {
  const { pods: list = [] } = await site.snapshot();
  site.around({ pods: list.map((each) => (each.name === "waiting" ? change(each) : each)) });
};
const edited = (name: string, spec: Partial<IPPoolSpec>) => (site: Site) =>
  site.change(async (store) => {
    const found = await store.get("IPPool", name);
    await store.update({ ...found, spec: { ...found.spec, ...spec } });
  });

/** The other blocks of the /25, of node-b, each with room. */
const rest = (first: number) =>
  Array.from({ length: 32 - first }, (_, at) => held(`10.0.0.${(first + at) * 4}/30`, "node-b", 1));
const endPod = async (site: Site) => {
  const { pods: list = [] } = await site.snapshot();
  site.around({ pods: list.slice(1) });
};

const cooling = (cidr: string, host: string) =>
  usedBlock(cidr, host, Object.fromEntries([0, 1, 2, 3].map((at) => [at, { releasedAt: "2026-01-02T11:59:00Z" }])));
const STRICT = { strictAffinity: true } as const;
const full = () => [held(A, "node-a", 4), held(B, "node-b", 4)];
const asks = (address: string, parts: Part[] = []) =>
  cluster({}, parts, { pods: [...parts.flatMap((part) => part.pods), waiting({ askedAddresses: [address] })] });
const asksPool = (name: string, ...pools: Snapshot["pools"]) =>
  cluster({}, [], { pools: [pods(), ...pools], pods: [waiting({ askedPools: [name] })] });

const ROWS: readonly (readonly [CauseCode, string, Snapshot, Partial<State>?])[] = [
  [
    "DatastoreLocked",
    "locked",
    cluster({}, [], { clusterInformation: { ...sound.clusterInformation!, ready: false } }),
  ],
  ["InvalidConfiguration", "allocates nowhere", cluster({ autoAllocateBlocks: false }, [])],
  ["InvalidConfiguration", "a limit without strict affinity", cluster({ maxBlocksPerHost: 3 }, [])],
  [
    "InvalidConfiguration",
    "a Windows node without strict affinity",
    cluster({}, [], { nodes: [node("node-a", { windows: true })] }),
  ],
  [
    "NodeUnknown",
    "no such node",
    cluster({}, [], { nodes: [node("node-x")] }),
    { person: async (site) => site.around({ nodes: NODES }) },
  ],
  ["NoPool", "no pool", cluster({}, [], { pools: [] }), { person: another() }],
  ["PoolsClosed", "disabled", cluster({}, [], { pools: [pods({ disabled: true })] })],
  [
    "PoolsClosed",
    "blocks that Calico does not have",
    cluster({}, [], { pools: [pods({ blockSize: 16 })] }),
    { person: another() },
  ],
  ["AskedPoolMissing", "no such pool", asksPool("p9"), { person: withPods((p) => ({ ...p, askedPools: ["pods"] })) }],
  [
    "AskedPoolMissing",
    "it is disabled",
    asksPool("off", pool("off", "10.8.0.0/29", { blockSize: 30, disabled: true })),
  ],
  [
    "OnlyManualPools",
    "Manual",
    cluster({}, [], { pools: [pods({ assignmentMode: "Manual" })] }),
    { person: another() },
  ],
  [
    "UnreadableSelector",
    "of a pool",
    cluster({}, [], { pools: [pool("broken", "10.1.0.0/29", { blockSize: 30, nodeSelector: "all(" })] }),
    { person: edited("broken", { nodeSelector: "all()" }) },
  ],
  [
    "NodeNotSelected",
    "another zone",
    cluster({}, [], { pools: [pods({ nodeSelector: 'zone == "x"' })] }),
    { person: async (site) => site.around({ nodes: [node("node-a", { labels: { zone: "x" } })] }) },
  ],
  [
    "NamespaceNotSelected",
    "another team",
    cluster({}, [], { pools: [pods({ namespaceSelector: 'team == "x"' })] }),
    { person: async (site) => site.around({ namespaces: [{ name: "shop", labels: { team: "x" } }] }) },
  ],
  [
    "UseNotAllowed",
    "for Services only",
    cluster({}, [], { pools: [pods({ allowedUses: ["LoadBalancer"] })] }),
    { person: another() },
  ],
  [
    "ContradictingAffinity",
    "at the limit because of one",
    cluster({ ...STRICT, maxBlocksPerHost: 2 }, [held(A, "node-a", 4), held(B, "node-b", 1)], {
      pools: [wide],
      affinities: [affinity("node-a", A), affinity("node-b", B), affinity("node-a", B)],
    }),
  ],
  [
    "InUseNotAllocated",
    "r06",
    inputSnapshot("r06-redeployed-without-allocations.yaml", NOW),
    { asked: ["--node", "n1"] },
  ],
  ["OverlappingBlocks", "r01", inputSnapshot("r01-overlapping-block-sizes.yaml", NOW), { asked: ["--node", "n05"] }],
  [
    "AffinityOfGoneNode",
    "pods of the gone node are still listed",
    cluster(STRICT, [held(A, "node-a", 4), held(B, "node-z", 1)]),
  ],
  [
    "CoolingDown",
    "all that a gone node's block holds",
    cluster({ ...STRICT, ipCooldownSeconds: 300 }, [held(A, "node-a", 4)], {
      blocks: [...held(A, "node-a", 4).blocks, usedBlock(B, "node-z", { 0: { releasedAt: "2026-01-02T11:59:00Z" } })],
      affinities: [affinity("node-a", A), affinity("node-z", B)],
    }),
    { wait: 300 },
  ],
  [
    "LeakedAddress",
    "all that a gone node's block holds",
    cluster(STRICT, [held(A, "node-a", 4), held(B, "node-z", 2, 2)]),
  ],
  ["LeakedAddress", "in its own block", cluster(STRICT, [held(A, "node-a", 4, 1), held(B, "node-b", 4)])],
  ["LeakedAddress", "in another's block", cluster({}, [held(A, "node-a", 4), held(B, "node-b", 4, 1)])],
  [
    "LeakedAddress",
    "all of other nodes' blocks, strict",
    cluster(STRICT, [held(A, "node-b", 4, 4), held(B, "node-b", 4, 4)]),
  ],
  [
    "LeakedAddress",
    "at the limit",
    cluster({ ...STRICT, maxBlocksPerHost: 1 }, [held(A, "node-a", 4, 1), held(B, "node-b", 1)]),
  ],
  [
    "BlockWithoutAffinity",
    "nothing may be claimed",
    cluster({ ...STRICT, autoAllocateBlocks: false }, [held(A, "node-a", 2)], { affinities: [] }),
  ],
  [
    "BlockWithoutAffinity",
    "at the limit",
    cluster({ ...STRICT, maxBlocksPerHost: 1 }, [held(A, "node-a", 4), held(B, "node-a", 1)], {
      affinities: [affinity("node-a", A)],
    }),
  ],
  [
    "MalformedBlock",
    "its own block contradicts itself",
    cluster(STRICT, [held(B, "node-b", 4)], {
      blocks: [block(A, { affinity: "host:node-a", unallocated: [0, 1, 2, 3, 3] }), ...held(B, "node-b", 4).blocks],
      affinities: [affinity("node-a", A), affinity("node-b", B)],
    }),
  ],
  ["BlockCapReached", "strict", cluster({ ...STRICT, maxBlocksPerHost: 1 }, [held(A, "node-a", 4)])],
  [
    "BlockCapReached",
    "the default limit, where others have room",
    cluster({}, [...Array.from({ length: 20 }, (_, at) => held(`10.0.0.${at * 4}/30`, "node-a", 4))], {
      pools: [pool("pods", "10.0.0.0/25", { blockSize: 30 })],
    }),
  ],
  [
    "BlockCapReached",
    "the default limit, where nothing is left to claim and others have room",
    cluster({}, [...Array.from({ length: 20 }, (_, at) => held(`10.0.0.${at * 4}/30`, "node-a", 4)), ...rest(20)], {
      pools: [pool("pods", "10.0.0.0/25", { blockSize: 30 })],
    }),
    { person: endPod },
  ],
  [
    "PoolExhausted",
    "at the limit, and nothing is left to claim",
    cluster({ ...STRICT, maxBlocksPerHost: 1 }, full()),
    { person: another() },
  ],
  ["NoClaimAllowed", "its blocks are full", cluster({ ...STRICT, autoAllocateBlocks: false }, [held(A, "node-a", 4)])],
  ["NoClaimAllowed", "it has none", cluster({ ...STRICT, autoAllocateBlocks: false }, [])],
  [
    "PoolExhausted",
    "no claims, and nothing is left to claim",
    cluster({ ...STRICT, autoAllocateBlocks: false }, full()),
    { person: another() },
  ],
  ["StrictAffinity", "others have room", cluster(STRICT, [held(A, "node-a", 4), held(B, "node-b", 1)])],
  [
    "StrictAffinity",
    "others have room, and there is a limit",
    cluster({ ...STRICT, maxBlocksPerHost: 3 }, [held(A, "node-a", 4), held(B, "node-b", 1)]),
  ],
  [
    "StrictAffinity",
    "a Windows node needs it",
    cluster(STRICT, [held(A, "node-a", 4), held(B, "node-b", 1)], {
      nodes: [...NODES, node("win", { windows: true })],
    }),
    { person: another() },
  ],
  [
    "CoolingDown",
    "all of it",
    cluster({ ipCooldownSeconds: 300 }, [], {
      blocks: [cooling(A, "node-a"), cooling(B, "node-b")],
      affinities: [affinity("node-a", A), affinity("node-b", B)],
    }),
    { wait: 300 },
  ],
  [
    "Reserved",
    "all of it",
    cluster({}, [], { reservations: [reservation("other", "10.7.0.0/24"), reservation("all", "10.0.0.0/29")] }),
    {
      person: (site) =>
        site.change(async (store) => {
          const found = await store.get("IPReservation", "all");
          await store.update({ ...found, spec: { reservedCIDRs: ["10.0.0.0/32"] } });
        }),
    },
  ],
  ["PoolExhausted", "full", cluster({}, full()), { person: another() }],
  [
    "AddressTaken",
    "by another pod",
    asks("10.0.0.4", [held(B, "node-b", 1)]),
    { person: withPods((p) => ({ ...p, askedAddresses: ["10.0.0.5"] })) },
  ],
  ["AddressTaken", "by a pod that is gone", asks("10.0.0.4", [held(B, "node-b", 1, 1)])],
  [
    "AddressTaken",
    "in no pool",
    asks("192.0.2.1"),
    { person: withPods((p) => ({ ...p, askedAddresses: ["10.0.0.5"] })) },
  ],
  [
    "AddressTaken",
    "r05: by the pod's own former sandbox",
    inputSnapshot("r05-fixed-address-after-power-loss.yaml", NOW),
    { asked: ["t1/bgptest-76b95656df-aaaaa"] },
  ],
];

export const STATES: readonly State[] = ROWS.map(([code, what, snapshot, more]) => ({ code, what, snapshot, ...more }));
