/** What is simulated: stored objects, nodes, and how many addresses each wants. Pure. */

import { objections } from "../../api/admission/admission.ts";
import { effectiveConfig } from "../../api/config-rules.ts";
import { SINGLETON_NAME } from "../../api/installation.ts";
import { type IPAMConfiguration, type IPAMConfigurationSpec, type IPPool, V3_API_VERSION } from "../../api/v3.ts";
import type { NodeFacts } from "../../judgement/facts.ts";
import { emptySnapshot, type Snapshot } from "../../judgement/snapshot.ts";
import { UsageError } from "../usage-error.ts";
import type { PlanOptions } from "./options.ts";

export interface Scenario {
  /** With the nodes there are. */
  readonly snapshot: Snapshot;
  /** Nodes in the order in which they fill up. */
  readonly nodes: readonly PlannedNode[];
  /** Whether to stop at the first node that does not get all: how many are carried is the question then. */
  readonly untilFull: boolean;
}

export interface PlannedNode extends NodeFacts {
  readonly pods: number;
  /** Addresses that cool down at any time, at the rate of restarts that was given. */
  readonly cooling: number;
}

/** What a kubelet takes where nothing says so. */
const PODS_PER_NODE = 110;
/** More nodes are not tried: Kubernetes is made for no more. */
export const MOST_NODES = 5000;

/** @throws UsageError where a pool could not be made like that */
export function fromNothing(options: PlanOptions, now: Date): Scenario {
  const pools = options.cidrs.map((cidr, at) => poolOf(`pool-${at + 1}`, cidr, options));
  const snapshot = configured({ ...emptySnapshot(now.toISOString()), pools }, options);
  const names = Array.from({ length: options.nodes ?? MOST_NODES }, (_, at) => `node-${at + 1}`);
  const nodes = names.map((name): NodeFacts => ({ name, labels: {}, tunnels: {}, windows: false }));
  return scenarioOf({ ...snapshot, nodes }, options, options.nodes === undefined);
}

function poolOf(name: string, cidr: string, { blockSize }: PlanOptions): IPPool {
  const spec = { cidr, ...(blockSize !== undefined && { blockSize }) };
  const pool: IPPool = { apiVersion: V3_API_VERSION, kind: "IPPool", metadata: { name }, spec };
  const [problem] = objections({ kind: "IPPool", object: pool });
  if (problem) throw new UsageError(`--cidr ${cidr}: ${problem.words}`);
  return pool;
}

/** The data as it is, with the flags' settings in place of the stored ones. */
export function fromData(data: Snapshot, options: PlanOptions): Scenario {
  const snapshot = configured(data, options);
  return scenarioOf({ ...snapshot, nodes: nodesOf(snapshot, options) }, options, false);
}

/** Nodes that are to come are like the first; where no node is known, those that own blocks are. */
function nodesOf({ nodes, affinities }: Snapshot, { nodes: wanted }: PlanOptions): NodeFacts[] {
  const owners = new Set(affinities.filter(({ spec }) => spec.type !== "virtual").map(({ spec }) => spec.node));
  const bare = (name: string): NodeFacts => ({ name, labels: {}, tunnels: {}, windows: false });
  const there = [...(nodes ?? [...owners].map(bare))];
  const missing = Math.max(0, (wanted ?? 0) - there.length);
  const like = there[0] ?? bare("");
  return [...there, ...Array.from({ length: missing }, (_, at) => ({ ...like, name: `planned-node-${at + 1}` }))];
}

function scenarioOf(snapshot: Snapshot, options: PlanOptions, untilFull: boolean): Scenario {
  const { ipCooldownSeconds } = effectiveConfig(configurationOf(snapshot)?.spec);
  const cooling = Math.ceil((options.restarts * ipCooldownSeconds) / 60);
  const nodes = (snapshot.nodes ?? []).map((node) => {
    return { ...node, pods: options.podsPerNode ?? node.podCapacity ?? PODS_PER_NODE, cooling };
  });
  return { snapshot, nodes, untilFull };
}

const configurationOf = ({ configurations }: Snapshot) =>
  configurations.find(({ metadata }) => metadata.name === SINGLETON_NAME);

/** With some settings changed and the others kept. */
export function withSettings(snapshot: Snapshot, settings: IPAMConfigurationSpec): Snapshot {
  const stored = configurationOf(snapshot);
  const changed: IPAMConfiguration = {
    apiVersion: V3_API_VERSION,
    kind: "IPAMConfiguration",
    metadata: { name: SINGLETON_NAME },
    ...stored,
    spec: { ...stored?.spec, ...settings },
  };
  return { ...snapshot, configurations: [changed, ...snapshot.configurations.filter((other) => other !== stored)] };
}

function configured(snapshot: Snapshot, options: PlanOptions): Snapshot {
  const { strictAffinity, maxBlocksPerHost, cooldownSeconds } = options;
  const settings = {
    ...(strictAffinity !== undefined && { strictAffinity }),
    ...(maxBlocksPerHost !== undefined && { maxBlocksPerHost }),
    ...(cooldownSeconds !== undefined && { ipCooldownSeconds: cooldownSeconds }),
  };
  return Object.keys(settings).length === 0 ? snapshot : withSettings(snapshot, settings);
}
