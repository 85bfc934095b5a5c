/** Why there are fewer addresses than asked for, in words: what cools down, and what a host's blocks are full of. Pure. */

import { DEFAULT_MAX_BLOCKS_PER_HOST } from "../api/config-rules.ts";
import type { IPAMBlock } from "../api/v3.ts";
import type { AddressSet } from "../net/address-set.ts";
import { has } from "../net/address-set.ts";
import { addressAt, attributeAt, freeFrom, isCooling, rangeOf, timestamp } from "./block.ts";

/** The most blocks a host may own, and who says so. */
export interface BlockCap {
  readonly limit: number;
  readonly source: string;
}

/**
 * The smaller limit of the configuration's and the request's; 0 is none.
 * @param configuration how a sentence names the configuration
 */
export function blockCap(
  { global, request }: { readonly global: number; readonly request: number },
  configuration: string,
): BlockCap {
  const limits = [
    { limit: global, source: `maxBlocksPerHost of ${configuration}` },
    { limit: request, source: "maxBlocksPerHost of the request" },
  ].filter(({ limit }) => limit > 0);
  const [smallest] = limits.sort((a, b) => a.limit - b.limit);
  const source = `the default, as neither ${configuration} nor the request sets maxBlocksPerHost`;
  return smallest ?? { limit: DEFAULT_MAX_BLOCKS_PER_HOST, source };
}

export function capWords(host: string, owned: number, { limit, source }: BlockCap): string {
  return `host ${host} owns ${counted(owned, "block")} and may own ${limit}: ${source}`;
}

/** How full blocks are; undefined where there is none. What is allocated and has no pod any more is a leak. */
export function usageWords(blocks: readonly IPAMBlock[], cooldownSeconds: number): string | undefined {
  if (blocks.length === 0) return undefined;
  const held = blocks.flatMap(({ spec }) => spec.allocations).filter((index) => index !== null).length;
  const cold = blocks.flatMap((block) => coolingUntil(block, cooldownSeconds, [])).length;
  const all = blocks.reduce((sum, { spec }) => sum + spec.allocations.length, 0);
  const what = `${held - cold} of their ${counted(all, "address", "addresses")} are allocated and ${cold} cooling down`;
  return `${what}; addresses whose pod is gone are leaks: release them`;
}

/** How many addresses of the blocks cool down, and when the next one is free; undefined where none does. */
export function coolingWords(
  blocks: readonly IPAMBlock[],
  cooldownSeconds: number,
  reserved: AddressSet,
): string | undefined {
  const times = blocks.flatMap((block) => coolingUntil(block, cooldownSeconds, reserved));
  if (times.length === 0) return undefined;
  const next = new Date(times.reduce((first, time) => Math.min(first, time)));
  return `${counted(times.length, "address", "addresses")} cooling down, next at ${timestamp(next)}`;
}

/** When each cooling address is free again; those that are reserved never are. */
function coolingUntil(block: IPAMBlock, cooldownSeconds: number, reserved: AddressSet): number[] {
  if (!block.spec.attributes.some(isCooling)) return [];
  const range = rangeOf(block);
  return block.spec.allocations.flatMap((_, ordinal) => {
    const attribute = attributeAt(block, ordinal);
    const releasedAt = has(reserved, addressAt(range, ordinal)) ? undefined : attribute?.releasedAt;
    return releasedAt === undefined ? [] : [freeFrom(releasedAt, cooldownSeconds)];
  });
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
