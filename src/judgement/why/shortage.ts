/** Pools are there, and yet there is no address: what holds them all, and which of it can be changed. Pure. */

import type { IPReservation } from "../../api/v3.ts";
import { freeOrdinals } from "../../ipam/block.ts";
import { disabledBecause, type Pool } from "../../ipam/pools.ts";
import { numReservedIPsInCIDR } from "../../ipam/reserved.ts";
import { selectsNode } from "../../ipam/selection.ts";
import { utilizationOf } from "../../ipam/utilization.ts";
import type { IpVersion } from "../../net/address.ts";
import type { Inventory } from "../inventory.ts";
import { soundBlocks } from "../inventory.ts";
import { kubectlName } from "../mend.ts";
import { nodeOwner } from "../owners.ts";
import { quoted } from "../shell.ts";
import type { Asking } from "./asking.ts";
import type { Moment } from "./causes.ts";
import type { Cause, CauseCode } from "./codes.ts";
import { labelled } from "./pools.ts";
import type { Holding, Room } from "./room.ts";

export interface Short {
  readonly inventory: Inventory;
  readonly asking: Asking;
  readonly version: IpVersion;
  readonly room: Room;
  readonly moment: Moment;
}

type Found = Pick<Cause, "code" | "message" | "command">;
const cause = (code: CauseCode, message: string, command: string): Found => ({ code, message, command });

/**
 * By Calico's rules, which are the narrower ones: an affinity to another's block counts towards the limit, and at the
 * limit nothing is borrowed. Empty: there is room.
 */
export function shortage(short: Short): Found[] {
  const { inventory, room } = short;
  const { config, cap } = inventory;
  const atCap = room.counted >= cap;
  if (room.own.free > 0 || room.remade.length > 0) return [];
  if (!atCap && config.autoAllocateBlocks && room.claimable) return [];
  if (!atCap && !config.strictAffinity && room.others.free > 0) return [];
  const elsewhereLeaked = atCap ? [] : leakedInOthers(short);
  const onlyOwn = atCap || config.strictAffinity;
  const within = onlyOwn ? room.own : together(room);
  const mechanism = atCap ? capReached(short) : noRoom(short, within);
  return [
    ...(atCap ? contradicting(short) : heldByGoneNodes(short)),
    ...leaked(short, within),
    ...elsewhereLeaked,
    ...broken(short),
    ...inOrder(
      elsewhereLeaked.length > 0 ? undefined : mechanism,
      [cooling(within), reserved(short, atCap)],
      within,
      room,
    ),
    ...elsewhere(short),
  ];
}

/** Temporary or wilful shortage is the first cause only where it is most of the matter. */
function inOrder(
  mechanism: Found | undefined,
  others: readonly (Found | undefined)[],
  within: Holding,
  room: Room,
): Found[] {
  const present = others.filter((found) => found !== undefined);
  const isMost = ({ code }: Found) =>
    code === "CoolingDown" ? within.cooling * 2 >= within.addresses : room.reservedUnused * 2n >= room.capacity;
  const [most, rest] = [present.filter(isMost), present.filter((found) => !isMost(found))];
  return [...most, ...(mechanism ? [mechanism] : []), ...rest];
}

function together({ own, others }: Room): Holding {
  const times = [own.nextFree, others.nextFree].filter((time) => time !== undefined).sort();
  return {
    blocks: [...own.blocks, ...others.blocks],
    addresses: own.addresses + others.addresses,
    free: own.free + others.free,
    reserved: own.reserved + others.reserved,
    cooling: own.cooling + others.cooling,
    ...(times[0] && { nextFree: times[0] }),
  };
}

function capReached({ inventory, asking, room }: Short): Found {
  const { cap, config } = inventory;
  const source = config.maxBlocksPerHost > 0 ? "maxBlocksPerHost" : "the default, as maxBlocksPerHost is not set";
  const message = `${asking.host} has ${room.counted} of at most ${cap} blocks (${source}), and no address of them is free`;
  return cause("BlockCapReached", message, `ipamctl configure --max-blocks-per-host ${cap + 1}`);
}

function noRoom({ inventory, asking, room }: Short, { addresses }: Holding): Found {
  const { config } = inventory;
  const pools = poolNames(room.usable);
  if (!config.autoAllocateBlocks) {
    const message = `autoAllocateBlocks is false, and ${asking.host}'s ${room.own.blocks.length} blocks are full`;
    return cause("NoClaimAllowed", message, "ipamctl configure --auto-allocate-blocks true");
  }
  if (config.strictAffinity && room.others.free > 0) {
    const own = room.own.blocks.length > 0 ? "may only use its own blocks, which are full" : "owns no block";
    const message =
      `strictAffinity is true: ${asking.host} ${own}; the ${room.others.free} ` +
      `addresses that are free in ${pools} are in blocks of others, and no block is left to claim`;
    return cause("StrictAffinity", message, "ipamctl top");
  }
  const message = `${pools}: no block is left to claim, and of the ${addresses} addresses in blocks none is free`;
  return cause("PoolExhausted", message, "ipamctl top");
}

const poolNames = (pools: readonly Pool[]) =>
  pools.map(({ name, source }) => `pool "${name}" (${source.spec.cidr})`).join(", ");

function contradicting({ inventory, asking, room }: Short): Found[] {
  const count = room.contradicting.length;
  if (count === 0 || room.counted - count >= inventory.cap) return [];
  const message =
    `${count} of the ${room.counted} blocks that count towards ${asking.host}'s limit of ${inventory.cap} are another's: ` +
    `its affinities to ${some(room.contradicting)} are left over`;
  return [cause("ContradictingAffinity", message, "ipamctl repair ContradictingAffinity")];
}

function heldByGoneNodes({ inventory, room, moment }: Short): Found[] {
  const held = room.others.blocks.filter(
    (block) => moment.ofGoneNodes.has(block.metadata.name) && freeOrdinals(block, inventory.reserved).length > 0,
  );
  if (held.length === 0) return [];
  const nodes = [...new Set(held.map((block) => nodeOwner(block) ?? ""))];
  const blocks = some(held.map(({ spec }) => spec.cidr));
  const message = `${blocks} have room, and their owners are gone: ${some(nodes)}`;
  return [cause("AffinityOfGoneNode", message, "ipamctl repair AffinityOfGoneNode")];
}

function leaked({ moment, asking }: Short, { blocks, addresses }: Holding): Found[] {
  const found = blocks.flatMap(({ metadata }) => moment.leaks.get(metadata.name) ?? []);
  if (found.length === 0) return [];
  const message = `${found.length} of the ${addresses} addresses that ${asking.host} could use are leaked: ${some(found)}`;
  return [cause("LeakedAddress", message, "ipamctl gc --dry-run")];
}

/**
 * Where affinity is strict, blocks of others of which every address is leaked: once those are released, the blocks are
 * empty, and the node can take them over.
 */
function leakedInOthers({ inventory, moment, room }: Short): Found[] {
  const { strictAffinity, autoAllocateBlocks } = inventory.config;
  if (!strictAffinity || !autoAllocateBlocks) return [];
  const held = room.others.blocks.filter(({ metadata, spec }) => {
    const leaks = moment.leaks.get(metadata.name) ?? [];
    return leaks.length > 0 && leaks.length === spec.allocations.filter((index) => index !== null).length;
  });
  if (held.length === 0) return [];
  const found = held.flatMap(({ metadata }) => moment.leaks.get(metadata.name) ?? []);
  const message =
    `${found.length} leaked addresses (${some(found)}) are all that ${held.length} blocks of other nodes hold ` +
    `(${some(held.map(({ spec }) => spec.cidr))}): the node can claim those once they are empty`;
  return [cause("LeakedAddress", message, "ipamctl gc --dry-run")];
}

function broken({ room, asking }: Short): Found[] {
  if (room.broken.length === 0) return [];
  const message = `blocks of ${asking.host} contradict themselves: ${some(room.broken)}`;
  return [cause("MalformedBlock", message, "ipamctl check")];
}

function cooling({ cooling: count, nextFree }: Holding): Found | undefined {
  if (count === 0) return undefined;
  return cause(
    "CoolingDown",
    `${count} addresses cool down, the next is free at ${nextFree}`,
    "ipamctl show --cooldown",
  );
}

/** At the limit of blocks only those of the node's own count; else also what could be claimed. */
function reserved({ inventory, room }: Short, atCap: boolean): Found | undefined {
  const count = atCap ? BigInt(room.own.reserved) : room.reservedUnused;
  if (count === 0n) return undefined;
  const { snapshot } = inventory;
  const isMeant = (each: IPReservation) =>
    room.usable.some(({ source }) => numReservedIPsInCIDR(source.spec.cidr, [each]) > 0n);
  const names = snapshot.reservations.filter(isMeant).map(({ metadata }) => metadata.name);
  const message = `${count} addresses would be free, and are reserved by IPReservation ${some(names)}`;
  const resource = kubectlName("IPReservation", snapshot);
  return cause("Reserved", message, resource ? `kubectl get ${resource} -o yaml` : "ipamctl show");
}

/** Pools that have room, and are not for this node. */
function elsewhere({ inventory, asking, version, room }: Short): Found[] {
  const { node } = labelled(inventory, asking);
  const others = inventory.pools.filter(
    (pool) => pool.cidr.version === version && !room.usable.includes(pool) && !disabledBecause(pool),
  );
  if (asking.askedPools || others.length === 0) return [];
  const names = others.filter(({ source }) => !selectsNode(source, node)).map(({ name }) => name);
  const { snapshot, reserved: set } = inventory;
  const counts = names.length === 0 ? [] : utilizationOf(snapshot.pools, soundBlocks(inventory), set, names);
  return counts
    .filter(({ available }) => available > 0n)
    .map(({ name, cidr, available }) => {
      const message = `pool "${name}" (${cidr}) has ${available} free addresses, and does not select ${asking.host}`;
      return cause("NodeNotSelected", message, `kubectl get node ${quoted(asking.host)} --show-labels`);
    });
}

const SHOWN = 3;

function some(texts: readonly string[]): string {
  const rest = texts.length - SHOWN;
  return texts.slice(0, SHOWN).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
