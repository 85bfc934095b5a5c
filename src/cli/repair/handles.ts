/** Mends what handles count: what the blocks hold is the truth. */
import { blockName, cutHandle, handleName, isObjectName } from "../../api/names.ts";
import { type IPAMBlock, V3_API_VERSION } from "../../api/v3.ts";
import type { Stored } from "../../datastore/datastore.ts";
import { type Counts, heldByHandle } from "../../judgement/families/handles.ts";
import { asSeen, unlessLost } from "../writing/as-seen.ts";
import { stored } from "./copy.ts";
import { CHANGED, type Mender, type Mending, NOT_SO_ANY_MORE, named } from "./mending.ts";

type Handle = Stored<"IPAMHandle">;

/** The finding's handle, unchanged since the first look. */
function withHandle(mend: (mending: Mending, handle: Handle) => Promise<string | undefined>): Mender {
  return async (mending, [{ object }]) => {
    const { datastore, looks } = mending;
    const seen = named(looks.inventory.handles, object.name);
    if (!looks.isUnchanged(seen)) return CHANGED;
    const found = await asSeen(datastore, "IPAMHandle", seen);
    return "changed" in found ? found.changed : mend(mending, found.object);
  };
}

/** It counts what it holds, and goes where that is nothing. A count is raised before an address is taken: none is missed. */
export const recount = withHandle(async (mending, handle) => {
  const truth = await heldNow(mending, handle.metadata.name, Object.keys(handle.spec.block));
  if (truth.length === 0) return unlessLost(mending.datastore.delete(handle));
  return unlessLost(mending.datastore.update({ ...handle, spec: { ...handle.spec, block: blockOf(truth) } }));
});

export const createMissing: Mender = async (mending, [{ object }]) => {
  const { datastore } = mending;
  const { name } = object;
  if (!isObjectName(name)) return "cannot be the name of an object: release its addresses by address";
  if (await stored(datastore, "IPAMHandle", name)) return NOT_SO_ANY_MORE;
  const truth = await heldNow(mending, name, []);
  if (truth.length === 0) return NOT_SO_ANY_MORE;
  return unlessLost(datastore.create(newHandle(name, idOf(mending, name)!, truth)));
};

/** The id that blocks know it by; else the object goes, after one of the right name is there where blocks need it. */
export const rename = withHandle(async (mending, handle) => {
  const { datastore } = mending;
  const id = idOf(mending, handle.metadata.name);
  if (id !== undefined) return unlessLost(datastore.update({ ...handle, spec: { ...handle.spec, handleID: id } }));
  const { handleID } = handle.spec;
  const name = handleName(handleID);
  const truth = await heldNow(mending, name, []);
  if (truth.length > 0 && !(await stored(datastore, "IPAMHandle", name))) {
    const lost = await unlessLost(datastore.create(newHandle(name, handleID, truth)));
    if (lost !== undefined) return lost;
  }
  return unlessLost(datastore.delete(handle));
});

function newHandle(name: string, handleID: string, truth: Counts): Handle {
  const spec = { handleID, block: blockOf(truth), deleted: false };
  return { apiVersion: V3_API_VERSION, kind: "IPAMHandle", metadata: { name }, spec };
}

const blockOf = (truth: Counts) => Object.fromEntries(truth.map(({ cidr, count }) => [cidr, count]));

/** What blocks hold of a handle, looked at once more in those that held some of it, or are counted. */
async function heldNow({ datastore, looks }: Mending, name: string, counted: readonly string[]): Promise<Counts> {
  const { blocks } = looks.inventory;
  const held = (heldIn(blocks).get(name) ?? []).map(({ cidr }) => cidr);
  const names = new Set([...held, ...counted].map((cidr) => blockName(cidr)));
  const now = await Promise.all(Array.from(names, (block) => stored(datastore, "IPAMBlock", block)));
  return heldByHandle(now.filter((block) => block !== undefined) as IPAMBlock[]).get(name) ?? [];
}

const known = new WeakMap<readonly IPAMBlock[], ReadonlyMap<string, Counts>>();

/** Worked out once per look. */
function heldIn(blocks: readonly IPAMBlock[]): ReadonlyMap<string, Counts> {
  const held = known.get(blocks) ?? heldByHandle(blocks);
  known.set(blocks, held);
  return held;
}

/** The id that a block knows the handle by, with its creator's spelling. */
function idOf({ looks }: Mending, name: string): string | undefined {
  for (const { spec } of looks.inventory.blocks) {
    for (const { handle_id: id } of spec.attributes) {
      if (id !== undefined && handleName(cutHandle(id)) === name) return cutHandle(id);
    }
  }
  return undefined;
}
