/** Mends who owns a block: its own word holds, and rows are made to say the same. */
import { affinityName, blockName } from "../../api/names.ts";
import { type BlockAffinity, type IPAMBlock, V3_API_VERSION } from "../../api/v3.ts";
import type { Stored } from "../../datastore/datastore.ts";
import { ownerOf, rowOwner } from "../../ipam/affinity.ts";
import { problemOf } from "../../ipam/block-problem.ts";
import { isIpamError } from "../../ipam/errors.ts";
import { findOverlaps, rangesText } from "../../ipam/overlap.ts";
import { isGone } from "../../judgement/empty-blocks.ts";
import { rowOwnerText } from "../../judgement/owners.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { asSeen, unlessLost } from "../writing/as-seen.ts";
import { holdsAddresses, keptEmptyBecause } from "../writing/unused-block.ts";
import { stored } from "./copy.ts";
import { CHANGED, type Mender, type Mending, NOT_SO_ANY_MORE, named } from "./mending.ts";

type Row = Stored<"BlockAffinity">;

/** The finding's row, unchanged since the first look, and the block that it names as it is now. */
function withRow(
  mend: (mending: Mending, row: Row, block: IPAMBlock | undefined) => Promise<string | undefined>,
): Mender {
  return async (mending, [{ object }]) => {
    const { datastore, looks } = mending;
    const seen = named(looks.inventory.affinities, object.name);
    if (!looks.isUnchanged(seen)) return CHANGED;
    const found = await asSeen(datastore, "BlockAffinity", seen);
    if ("changed" in found) return found.changed;
    return mend(mending, found.object, await blockOf(mending, found.object));
  };
}

async function blockOf({ datastore }: Mending, { spec }: BlockAffinity): Promise<IPAMBlock | undefined> {
  return (await stored(datastore, "IPAMBlock", blockName(spec.cidr))) as IPAMBlock | undefined;
}

const isOwn = (row: Row, block: IPAMBlock | undefined) => block?.spec.affinity === rowOwnerText(row);

/** A claim whose block is there is finished, a release too; a row of what is not there, or another's, goes. */
export const finishClaim = withRow(async (mending, row, block) => {
  const { datastore } = mending;
  if (!isOwn(row, block)) return unlessLost(datastore.delete(row));
  if (row.spec.state === "pendingDeletion") return giveUp(mending, block!);
  return (
    (await overlapOf(mending, block!)) ??
    unlessLost(datastore.update({ ...row, spec: { ...row.spec, state: "confirmed" } }))
  );
});

export const deleteDangling = withRow(async ({ datastore }, row, block) =>
  block === undefined ? unlessLost(datastore.delete(row)) : NOT_SO_ANY_MORE,
);

export const deleteContradicting = withRow(async ({ datastore }, row, block) =>
  isOwn(row, block) ? NOT_SO_ANY_MORE : unlessLost(datastore.delete(row)),
);

/** Whatever writes a row gives it its labels. */
export const writeLabels = withRow(async ({ datastore }, row) =>
  unlessLost(datastore.update({ ...row, spec: { ...row.spec, type: row.spec.type || "host" } })),
);

/** The rightly named row is there before the other goes. */
export const rename = withRow(async ({ datastore }, row) => {
  const name = affinityName(row.spec.node, row.spec.cidr);
  if ((await stored(datastore, "BlockAffinity", name)) === undefined) {
    const lost = await unlessLost(datastore.create({ ...row, metadata: { name } }));
    if (lost !== undefined) return lost;
  }
  return unlessLost(datastore.delete(row));
});

/** An empty block only: of another the addresses have to go first. */
export const giveUpOfGone = withRow(async (mending, row, block) => {
  const { host } = rowOwner(row);
  if (!isOwn(row, block)) return NOT_SO_ANY_MORE;
  const now = await nowOf(mending, block!);
  if (!isGone(now, host)) return `node ${host} is there again`;
  const kept = holdsAddresses(block!) ? undefined : keptEmptyBecause(now, block!);
  try {
    return kept ?? (await unlessLost(mending.ipam.releaseBlockAffinity(block!, true)));
  } catch (error) {
    if (!isIpamError(error, "BlockNotEmpty")) throw error;
    return `still holds addresses: free those first, with ipamctl gc, or ipamctl release --node ${host}`;
  }
});

function nowOf({ looks, ownersNow }: Mending, block: IPAMBlock): Promise<Snapshot> {
  return ownersNow(looks.inventory.snapshot, { blocks: [block], allocations: [] });
}

/** A block that holds addresses stays, without an owner; one that holds none is deleted. */
async function giveUp(mending: Mending, block: IPAMBlock): Promise<string | undefined> {
  const kept = holdsAddresses(block) ? undefined : keptEmptyBecause(await nowOf(mending, block), block);
  return kept ?? unlessLost(mending.ipam.releaseBlockAffinity(block, false));
}

/** Why its affinity must not be confirmed: a block that overlaps another one gives no addresses. */
async function overlapOf({ datastore, warn }: Mending, block: IPAMBlock): Promise<string | undefined> {
  const problem = problemOf(block);
  if (problem !== undefined) return `IPAMBlock "${block.metadata.name}" is malformed: ${problem}`;
  const others = (await findOverlaps({ datastore, warn }, [block], {})).get(block.metadata.name)!;
  if (others.length === 0) return undefined;
  return `${block.spec.cidr} overlaps ${rangesText(others)}: run ipamctl repair OverlappingBlocks first`;
}

/** The owner gets its row again; one that is gone gives the block up. */
export const addRow: Mender = async (mending, [{ object }]) => {
  const { datastore, looks } = mending;
  const seen = named(looks.inventory.blocks, object.name);
  const block = (await stored(datastore, "IPAMBlock", object.name)) as IPAMBlock | undefined;
  if (block === undefined || block.spec.affinity !== seen.spec.affinity) return NOT_SO_ANY_MORE;
  const { host: node, affinityType: type } = ownerOf(block)!;
  const { cidr } = block.spec;
  const name = affinityName(node, cidr);
  if (await stored(datastore, "BlockAffinity", name)) return NOT_SO_ANY_MORE;
  if (type === "host" && isGone(await nowOf(mending, block), node)) return giveUp(mending, block);
  const overlap = await overlapOf(mending, block);
  if (overlap !== undefined) return overlap;
  const spec = { state: "confirmed" as const, node, type, cidr, deleted: false };
  return unlessLost(datastore.create({ apiVersion: V3_API_VERSION, kind: "BlockAffinity", metadata: { name }, spec }));
};
