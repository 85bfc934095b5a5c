/** Where there will soon be no address: pools that are full, and nodes whose blocks are, at their limit. */
import type { IPAMBlock } from "../../api/v3.ts";
import { isEnabled } from "../../ipam/pools.ts";
import { scarceBlocks, scarceText } from "../../ipam/scarce-blocks.ts";
import { ORPHANS, utilizationOf } from "../../ipam/utilization.ts";
import { byNumbers } from "../../net/order.ts";
import { family, type Report } from "../finding.ts";
import { freeIn, type Inventory, soundBlocks, unsoundRanges } from "../inventory.ts";
import { run } from "../mend.ts";

type Code = keyof typeof codes;

const more = run(
  "ipamctl top",
  "Look for leaked addresses on the node first; then raise the limit with `ipamctl configure`.",
);

const codes = {
  PoolFull: {
    severity: "warning",
    title: "A pool has no address left",
    means:
      "All that is not reserved is in use or cools down. Where no other pool selects the node, the next pod gets no " +
      "address.",
    mend: run("ipamctl top", "Look for leaked addresses first (`ipamctl gc --dry-run`); then add a pool."),
  },
  FewerBlocksThanNodes: {
    severity: "warning",
    title: "With strict affinity, more nodes share pools than the pools have blocks",
    means:
      "A node uses only addresses of its own blocks. Once every block is claimed, pods on the nodes that are left get no " +
      "address, however many addresses are free.",
    mend: run(
      "ipamctl plan --strict-affinity false",
      "Add a pool, or move to one with smaller blocks (a larger `blockSize`); or turn strict affinity off, and plan that first.",
    ),
  },
  BlockCapReached: {
    severity: "warning",
    title: "A node may own no more blocks, and those it owns are full",
    means:
      "The next pod on this node gets no address of its own. Without strict affinity it may borrow one of another node, " +
      "from programs that try; Calico itself does not. The limit is 20 where none is set.",
    mend: more,
  },
  BlockCapNear: {
    severity: "info",
    title: "A node is near its limit of blocks",
    means: "It owns four fifths of the blocks that it may own, and at most a quarter of their addresses is free.",
    mend: more,
  },
} as const;

/** Shares at which a node is near its end. */
const OWNED = 0.8;
const FREE = 0.25;

export const capacity = family<Code>({
  title: "Capacity",
  codes,
  look(inventory, report) {
    fullPools(inventory, report);
    for (const scarce of scarceBlocks(inventory.config, inventory.pools, inventory.snapshot.nodes ?? [])) {
      report("FewerBlocksThanNodes", { kind: "IPPool", name: scarce.pools[0]!.name }, scarceText(scarce));
    }
    const { cap } = inventory;
    const owned = Map.groupBy(
      soundBlocks(inventory),
      ({ spec }) => `${spec.affinity} ${spec.cidr.includes(":") ? 6 : 4}`,
    );
    for (const [, blocks] of [...owned].sort(([a], [b]) => byNumbers(a, b))) {
      const { affinity } = blocks[0]!.spec;
      if (affinity === undefined || blocks.length < cap * OWNED) continue;
      const [free, all] = freeOf(blocks, inventory);
      const node = affinity.slice(affinity.indexOf(":") + 1);
      const message = `${affinity} owns ${blocks.length} of at most ${cap} blocks; ${free} of their ${all} addresses are free`;
      const say = (code: Code) => report(code, { kind: "Node", name: node }, message, { node });
      if (blocks.length >= cap && free === 0) say("BlockCapReached");
      else if (free <= all * FREE) say("BlockCapNear");
    }
  },
});

function fullPools(inventory: Inventory, report: Report<Code>): void {
  const enabled = inventory.pools.filter(isEnabled).map(({ source }) => source);
  const sound = soundBlocks(inventory);
  const rows = utilizationOf(enabled, sound, inventory.reserved, [], unsoundRanges(inventory));
  for (const { name, cidr, available, inUse } of rows) {
    if (name === ORPHANS || available > 0n || inUse === 0n) continue;
    report(
      "PoolFull",
      { kind: "IPPool", name },
      `nothing of ${cidr} is left: ${inUse} addresses are in use or cool down`,
    );
  }
}

function freeOf(blocks: readonly IPAMBlock[], inventory: Inventory): [free: number, all: number] {
  const free = blocks.reduce((sum, block) => sum + freeIn(inventory, block).length, 0);
  return [free, blocks.reduce((sum, block) => sum + block.spec.allocations.length, 0)];
}
