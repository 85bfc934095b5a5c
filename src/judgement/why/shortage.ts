/** Pools are there, and yet there is no address: what holds them all, and which of it can be changed. Pure. */

import { plural } from "../../api/plural.ts";
import type { IPReservation } from "../../api/v3.ts";
import { disabledBecause, type Pool } from "../../ipam/pools.ts";
import { numReservedIPsInCIDR } from "../../ipam/reserved.ts";
import { selectorProblem, selectsNode } from "../../ipam/selection.ts";
import { utilizationOf } from "../../ipam/utilization.ts";
import type { Inventory } from "../inventory.ts";
import { soundBlocks } from "../inventory.ts";
import { editCommand } from "../mend.ts";
import { quoted } from "../shell.ts";
import { cause, type Found, type Short, some } from "./found.ts";
import { heldByGoneNodes } from "./gone-nodes.ts";
import { leaked, leakedInOthers } from "./leaks.ts";
import { labelled } from "./pools.ts";
import type { Holding, Room } from "./room.ts";

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
  return [
    ...(atCap ? contradicting(short) : []),
    ...lost(short),
    ...leaked(short, within),
    ...elsewhereLeaked,
    ...(atCap ? [] : heldByGoneNodes(short)),
    ...broken(short),
    ...inOrder(
      elsewhereLeaked.length > 0 ? [] : mechanism(short, within, atCap),
      [cooling(within), reserved(short, atCap)],
      within,
      room,
    ),
    ...elsewhere(short),
  ];
}

/** What keeps the node from more. Where nothing is left to have, lifting a limit alone helps nobody, and comes second. */
function mechanism(short: Short, within: Holding, atCap: boolean): Found[] {
  const { config } = short.inventory;
  const { claimable, others } = short.room;
  const limits = [...(atCap ? [capReached(short)] : []), ...(config.autoAllocateBlocks ? [] : [noClaim(short)])];
  return claimable || (!config.strictAffinity && others.free > 0) ? limits : [noRoom(short, within), ...limits];
}

/** Temporary or wilful shortage is the first cause only where it is most of the matter. */
function inOrder(
  mechanisms: readonly Found[],
  others: readonly (Found | undefined)[],
  within: Holding,
  room: Room,
): Found[] {
  const present = others.filter((found) => found !== undefined);
  const isMost = ({ code }: Found) =>
    code === "CoolingDown" ? within.cooling * 2 >= within.addresses : room.reservedUnused * 2n >= room.capacity;
  const [most, rest] = [present.filter(isMost), present.filter((found) => !isMost(found))];
  return [...most, ...mechanisms, ...rest];
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
  return cause("BlockCapReached", message, raiseLimit(inventory, room) ?? `ipamctl show --node ${quoted(asking.host)}`);
}

/** A limit of one's own needs strict affinity, and with that nothing is borrowed: there must be a block to claim. */
function raiseLimit({ config, cap }: Inventory, { claimable }: Room): string | undefined {
  if (config.strictAffinity) return `ipamctl configure --max-blocks-per-host ${cap + 1}`;
  return claimable ? `ipamctl configure --strict-affinity true --max-blocks-per-host ${cap + 1}` : undefined;
}

function noClaim({ asking, room }: Short): Found {
  const own = fullText(room.own.blocks.length);
  return cause(
    "NoClaimAllowed",
    `autoAllocateBlocks is false, and ${asking.host} ${own}`,
    "ipamctl configure --auto-allocate-blocks true",
  );
}

function fullText(blocks: number): string {
  if (blocks === 0) return "owns no block";
  return blocks === 1 ? "owns one block, which is full" : `owns ${blocks} blocks, which are full`;
}

function noRoom({ inventory, asking, room }: Short, { addresses }: Holding): Found {
  const { config } = inventory;
  const pools = poolNames(room.usable);
  if (config.strictAffinity && room.others.free > 0) {
    const message =
      `strictAffinity is true: ${asking.host} ${fullText(room.own.blocks.length)}; the ${room.others.free} ` +
      `addresses that are free in ${pools} are in blocks of others, and no block is left to claim`;
    return cause("StrictAffinity", message, withoutStrictAffinity(inventory));
  }
  const message =
    addresses === 0
      ? `${pools}: no block is left to claim, and ${asking.host} ${fullText(0)}`
      : `${pools}: no block is left to claim, and of the ${addresses} addresses in blocks none is free`;
  return cause("PoolExhausted", message, "ipamctl top");
}

/** Windows nodes need it; a limit of blocks and nodes that claim none do too. */
function withoutStrictAffinity({ snapshot, config }: Inventory): string {
  if (snapshot.nodes?.some(({ windows }) => windows)) return "ipamctl top";
  return [
    "ipamctl configure --strict-affinity false",
    ...(config.maxBlocksPerHost > 0 ? ["--max-blocks-per-host 0"] : []),
    ...(config.autoAllocateBlocks ? [] : ["--auto-allocate-blocks true"]),
  ].join(" ");
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

function lost({ room, asking }: Short): Found[] {
  if (room.lost.length === 0) return [];
  const message = `${some(room.lost)} have free addresses and are ${asking.host}'s, and no affinity names them: it does not find them`;
  return [cause("BlockWithoutAffinity", message, "ipamctl repair BlockWithoutAffinity")];
}

function broken({ room, asking, moment }: Short): Found[] {
  if (room.broken.length === 0) return [];
  const message = `blocks of ${asking.host} contradict themselves: ${some(room.broken)}`;
  const commands = room.broken.flatMap((name) => moment.repairs.get(name) ?? []);
  return [cause("MalformedBlock", message, commands[0] ?? "ipamctl check")];
}

function cooling({ cooling: count, nextFree }: Holding): Found | undefined {
  if (count === 0) return undefined;
  return cause(
    "CoolingDown",
    `${plural(count, "address")} cooling down, the next is free at ${nextFree}`,
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
  return cause("Reserved", message, editCommand({ kind: "IPReservation", name: names[0] ?? "" }, snapshot));
}

/** Pools that have room, and are not for this node. */
function elsewhere({ inventory, asking, version, room }: Short): Found[] {
  const { node } = labelled(inventory, asking);
  const others = inventory.pools.filter(
    (pool) =>
      pool.cidr.version === version &&
      !room.usable.includes(pool) &&
      !disabledBecause(pool) &&
      !selectorProblem(pool.source),
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
