/** Who owns a block: its own word, and the rows that claim it. */
import { affinityLabels, affinityName } from "../../api/names.ts";
import type { BlockAffinity, IPAMBlock } from "../../api/v3.ts";
import { isConfirmed } from "../../ipam/affinity.ts";
import { poolOverlapping } from "../../ipam/pools.ts";
import { canonicalCidr, parseCidr } from "../../net/cidr.ts";
import { family, nameOf, type Report } from "../finding.ts";
import type { Inventory } from "../inventory.ts";
import { repair } from "../mend.ts";
import { isOwner, rowOwnerText } from "../owners.ts";

type Code = keyof typeof codes;

const codes = {
  UnfinishedAffinity: {
    severity: "warning",
    title: "An affinity is stuck in the middle of a claim or of a release",
    means:
      "A claim or a release was cut off. The node puts it right at its next allocation; of a node that is gone, nobody " +
      "does, and the range stays taken.",
    mend: repair,
    moving: true,
  },
  ForeignAffinitySize: {
    severity: "warning",
    title: "An affinity has another size than its pool's blocks",
    means:
      "No block is created for it, and older versions of Calico create one of the wrong size. Until it is deleted it counts " +
      "towards its node's limit. Its pool was created again with another block size.",
    mend: repair,
    moving: true,
  },
  DanglingAffinity: {
    severity: "warning",
    title: "An affinity claims a block that does not exist",
    means:
      "Left behind where a release was cut off after the block was deleted. A node that is there makes the block again when " +
      "it needs an address; until then the affinity counts towards its limit. Of a node that is gone the range stays taken.",
    mend: repair,
    moving: true,
  },
  ContradictingAffinity: {
    severity: "critical",
    title: "An affinity claims a block that is another's",
    means:
      "The block says who owns it, and it is not the one whose affinity is confirmed. Programs that trust affinities " +
      "route the block's addresses to the wrong node.",
    mend: repair,
    moving: true,
  },
  BlockWithoutAffinity: {
    severity: "warning",
    title: "A block's owner has no affinity for it",
    means:
      "The owner does not find the block: its free addresses are not used, and it is not given back. Left behind where " +
      "somebody deleted the affinity by hand.",
    mend: repair,
    moving: true,
  },
  AffinityOfGoneNode: {
    severity: "warning",
    title: "A node that is gone still owns a block",
    means:
      "No node can claim the block, and with strict affinity nobody can use its free addresses. Calico's controllers " +
      "give it back once the block is empty: look for leaked addresses in it.",
    mend: repair,
    moving: true,
  },
  MissingLabels: {
    severity: "warning",
    title: "An affinity lacks the labels it is found by",
    means:
      "Newer versions list a node's affinities by label: the node does not see this block as its own. Written by an older " +
      "version; calico-node adds the labels when it starts.",
    mend: repair,
  },
  WrongAffinityName: {
    severity: "warning",
    title: "An affinity has another name than its node and range give",
    means: "It is not found by name: the owner can neither confirm it nor give it back.",
    mend: repair,
  },
} as const;

export const affinities = family<Code>({
  title: "Owners of blocks",
  codes,
  look(inventory, report) {
    const blocks = new Map(inventory.blocks.map((block) => [rangeText(block), block]));
    const nodes = inventory.snapshot.nodes && new Set(inventory.snapshot.nodes.map(({ name }) => name));
    for (const row of inventory.affinities) {
      const block = blocks.get(rangeText(row));
      if (block === undefined && isForeign(row, inventory)) foreign(row, inventory, report);
      else ownership(row, block, nodes, report);
      bookkeeping(row, report);
    }
    blocksWithoutRow(inventory, report);
  },
});

const rangeText = ({ spec }: BlockAffinity | IPAMBlock) => canonicalCidr(spec.cidr) ?? spec.cidr;

/** At most one finding a row: the first thing that keeps it from owning its block. */
function ownership(
  row: BlockAffinity,
  block: IPAMBlock | undefined,
  nodes: ReadonlySet<string> | undefined,
  report: Report<Code>,
): void {
  const { state, cidr, node } = row.spec;
  const owner = rowOwnerText(row);
  const say = (code: Code, message: string) => report(code, nameOf(row), message, { node });
  if (!isConfirmed(row)) say("UnfinishedAffinity", `the affinity of ${owner} to ${cidr} is ${state}`);
  else if (block === undefined) say("DanglingAffinity", `${owner} claims ${cidr}, and there is no such block`);
  else if (block.spec.affinity !== owner) {
    say("ContradictingAffinity", `${owner} claims ${cidr}, whose owner is ${block.spec.affinity ?? "nobody"}`);
  } else if (owner.startsWith("host:") && nodes && !nodes.has(node)) {
    say("AffinityOfGoneNode", `node ${node} owns ${cidr}, and there is no such node`);
  }
}

/** A pool covers it, and has blocks of another size. Outside of pools nothing says which size is right. */
function isForeign({ spec }: BlockAffinity, inventory: Inventory): boolean {
  const range = parseCidr(spec.cidr);
  const pool = range && poolOverlapping(inventory.pools, range);
  return pool !== undefined && pool.blockSize !== range!.prefix;
}

function foreign(row: BlockAffinity, inventory: Inventory, report: Report<Code>): void {
  const { cidr, node } = row.spec;
  const { name, blockSize } = poolOverlapping(inventory.pools, parseCidr(cidr)!)!;
  const message = `${rowOwnerText(row)} claims ${cidr}, and blocks of pool "${name}" are /${blockSize}; there is no such block`;
  report("ForeignAffinitySize", nameOf(row), message, { node });
}

function bookkeeping(row: BlockAffinity, report: Report<Code>): void {
  const { name, labels = {} } = row.metadata;
  const { node } = row.spec;
  const wrong = Object.entries(affinityLabels(row.spec)).filter(([key, value]) => labels[key] !== value);
  if (wrong.length > 0) {
    const wanted = wrong.map(([key, value]) => `${key}=${value}`).join(", ");
    report("MissingLabels", nameOf(row), `should have the labels ${wanted}`, { node });
  }
  const right = affinityName(row.spec.node, row.spec.cidr);
  if (name !== right) report("WrongAffinityName", nameOf(row), `should be named "${right}"`, { node });
}

/** A row in whatever state is told of by itself. */
function blocksWithoutRow({ affinities: rows, blocks }: Inventory, report: Report<Code>): void {
  const claims = new Set(rows.map((row) => `${rowOwnerText(row)} ${rangeText(row)}`));
  for (const block of blocks) {
    const { affinity, cidr } = block.spec;
    if (affinity === undefined || !isOwner(affinity) || claims.has(`${affinity} ${rangeText(block)}`)) continue;
    report("BlockWithoutAffinity", nameOf(block), `${affinity} owns ${cidr}, and has no affinity for it`);
  }
}
