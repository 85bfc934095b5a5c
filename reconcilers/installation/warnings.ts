/** What is allowed but likely to surprise: said in the status and once as an event, never a reason to stop. */
import type { InstallationStatus } from "../../src/api/installation.ts";
import { parseSelector } from "../../src/api/selector.ts";
import type { IPPool } from "../../src/api/v3.ts";
import { DEFAULT_MAX_BLOCKS_PER_HOST, type IPAMConfig } from "../../src/ipam/config.ts";
import { poolsOf } from "../../src/ipam/pools.ts";
import { scarceBlocks, scarceText } from "../../src/ipam/scarce-blocks.ts";
import { parseCidr } from "../../src/net/cidr.ts";
import type { NodeFacts, Surroundings } from "./surroundings.ts";

export type StatusWarning = NonNullable<InstallationStatus["warnings"]>[number];

/** Names listed in one message, at most. */
const MOST_NAMES = 3;

/** Every warning that holds now, one per type. */
export function warningsFor(
  config: IPAMConfig,
  { nodes, pools }: Surroundings,
  otherNames: readonly string[],
): StatusWarning[] {
  return [
    ignoredConfigurations(otherNames),
    blocksBelowPodCapacity(config, nodes, pools),
    fewerBlocksThanNodes(config, nodes, pools),
  ].filter((warning) => warning !== undefined);
}

function ignoredConfigurations(names: readonly string[]): StatusWarning | undefined {
  if (names.length === 0) return undefined;
  const listed = listNames([...names].sort());
  return {
    type: "IgnoredConfiguration",
    message: `only \`default\` is read: the IPAM configuration ${listed} has no effect. Move its settings into the Installation and delete it`,
  };
}

/** The same rule as the finding of `ipamctl check`. */
function fewerBlocksThanNodes(
  config: IPAMConfig,
  nodes: readonly NodeFacts[],
  pools: readonly IPPool[],
): StatusWarning | undefined {
  const [worst] = scarceBlocks(config, poolsOf(pools), nodes);
  if (worst === undefined) return undefined;
  return {
    type: "FewerBlocksThanNodes",
    message: `${scarceText(worst)}. Add a pool, use smaller blocks, or turn strict affinity off`,
  };
}

interface Shortage {
  readonly node: NodeFacts;
  readonly addresses: number;
  readonly blockSize: number;
  readonly version: string;
}

/** Blocks per node times addresses per block must reach the number of pods the kubelet admits, or pods wait for ever. */
function blocksBelowPodCapacity(
  config: IPAMConfig,
  nodes: readonly NodeFacts[],
  pools: readonly IPPool[],
): StatusWarning | undefined {
  const cap = config.maxBlocksPerHost || DEFAULT_MAX_BLOCKS_PER_HOST;
  const usable = pools.flatMap(workloadPool);
  const short = nodes.flatMap((node) => shortagesOf(node, usable, cap));
  const worst = short.sort((a, b) => a.addresses - b.addresses || a.node.name.localeCompare(b.node.name))[0];
  if (!worst) return undefined;
  const source = config.maxBlocksPerHost ? "maxBlocksPerHost" : `the default of maxBlocksPerHost`;
  return {
    type: "BlocksBelowPodCapacity",
    message:
      `${cap} blocks (${source}) of ${worst.blockSize} ${worst.version} addresses hold ${worst.addresses} pods, but node ` +
      `${worst.node.name} admits ${worst.node.podCapacity}. Raise maxBlocksPerHost or use larger blocks`,
  };
}

interface WorkloadPool {
  readonly version: "IPv4" | "IPv6";
  readonly blockSize: number;
  readonly selects: (node: NodeFacts) => boolean;
}

function workloadPool({ spec }: IPPool): WorkloadPool[] {
  const cidr = parseCidr(spec.cidr.trim());
  const forPods =
    spec.allowedUses === undefined || spec.allowedUses.length === 0 || spec.allowedUses.includes("Workload");
  if (!cidr || spec.disabled || !forPods) return [];
  const six = spec.cidr.includes(":");
  const prefix = spec.blockSize || (six ? 122 : 26);
  return [
    {
      version: six ? "IPv6" : "IPv4",
      blockSize: 2 ** ((six ? 128 : 32) - prefix),
      selects: selectorOf(spec.nodeSelector),
    },
  ];
}

/** A selector nobody can parse selects nothing, as in the reference; the pool itself is somebody else's finding. */
function selectorOf(text: string | undefined): (node: NodeFacts) => boolean {
  try {
    const selector = parseSelector(text?.trim() || "all()");
    return (node) => selector.matches(node.labels);
  } catch {
    return () => false;
  }
}

/** The cap counts per node and family; the largest block a node can claim decides how far it reaches. */
function shortagesOf(node: NodeFacts, pools: readonly WorkloadPool[], cap: number): Shortage[] {
  const capacity = node.podCapacity;
  if (capacity === undefined) return [];
  return (["IPv4", "IPv6"] as const).flatMap((version) => {
    const sizes = pools.filter((pool) => pool.version === version && pool.selects(node)).map((pool) => pool.blockSize);
    const blockSize = Math.max(0, ...sizes);
    const addresses = cap * blockSize;
    return blockSize > 0 && addresses < capacity ? [{ node, addresses, blockSize, version }] : [];
  });
}

/** Without a count: the text, and with it the event, must not change with every node that joins. */
const listNames = (names: readonly string[]): string =>
  names.slice(0, MOST_NAMES).join(", ") + (names.length > MOST_NAMES ? " and others" : "");
