import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { addressSet, EMPTY_SET } from "../net/address-set.ts";
import { type Cidr, formatCidr, parseCidr } from "../net/cidr.ts";
import { type BlockOrder, blockCount, blocksInOrder, hashedOrder, placeInOrder } from "./block-order.ts";

const golden = JSON.parse(readFileSync(join(import.meta.dirname, "../../test/golden/block-order.json"), "utf8")) as {
  starts: { host: string; log2NumBlocks: number; startIndex: number }[];
};
const cidr = (text: string): Cidr => {
  const parsed = parseCidr(text);
  if (!parsed) throw new Error(text);
  return parsed;
};
const pool = (text: string, blockSize: number) => ({ cidr: cidr(text), blockSize });
function first(range: ReturnType<typeof pool>, host: string, count: number): string[] {
  const found: string[] = [];
  for (const block of blocksInOrder(range, host, hashedOrder, EMPTY_SET)) {
    if (found.push(formatCidr(block)) === count) break;
  }
  return found;
}

describe("block order", () => {
  test("T71: an injected order starts where the reference starts, goes on and wraps", () => {
    for (const { host, log2NumBlocks, startIndex } of golden.starts.filter((it) => it.log2NumBlocks <= 8)) {
      const range = pool(`10.0.0.0/${30 - log2NumBlocks}`, 30);
      const order: BlockOrder = () => BigInt(startIndex);
      const count = 2 ** log2NumBlocks;
      const visited = [...blocksInOrder(range, host, order, EMPTY_SET)].map(({ base }) => Number(base & 0xffffn) / 4);
      expect(visited).toEqual(Array.from({ length: count }, (_, i) => (startIndex + i) % count));
    }
  });

  test("T71: the same host twice is the same order, also for blocks of one address", () => {
    expect(first(pool("10.0.0.0/16", 32), "node-a", 50)).toEqual(first(pool("10.0.0.0/16", 32), "node-a", 50));
  });

  test("T71: 1,000 neighbouring names are spread over 1,024 blocks", () => {
    const starts = Array.from({ length: 1000 }, (_, i) => hashedOrder(`node-${i}`, 1024n));
    expect(new Set(starts).size).toBeGreaterThan(570); // throwing 1,000 balls into 1,024 bins hits about 638
    const gaps = starts.slice(1).map((start, i) => Math.abs(Number(start - starts[i]!)));
    expect(gaps.filter((gap) => gap < 8).length).toBeLessThan(50);
  });

  test("T71: pools of more than 2^64 blocks are walked without a list", () => {
    const range = pool("fd00::/56", 122);
    expect(blockCount(range)).toBe(1n << 66n);
    expect(new Set(first(range, "node-a", 100)).size).toBe(100);
  });

  test("a pool smaller than a block has none", () => {
    expect(first(pool("10.0.0.0/28", 26), "node-a", 1)).toEqual([]);
  });

  test("wholly reserved blocks are stepped over at once", () => {
    const reserved = addressSet([cidr("fd00::/57")]);
    const [block] = blocksInOrder(pool("fd00::/56", 122), "h", () => 0n, reserved);
    expect(formatCidr(block!)).toBe("fd00:0:0:80::/122");
    const partly = addressSet([cidr("10.0.0.0/30"), cidr("10.0.0.4/31")]);
    const blocks = [...blocksInOrder(pool("10.0.0.0/29", 30), "h", () => 1n, partly)].map(formatCidr);
    expect(blocks).toEqual(["10.0.0.4/30"]);
  });

  test("the place of a block agrees with the walk", () => {
    const range = pool("10.0.0.0/26", 30);
    const place = placeInOrder(range, "node-b", hashedOrder);
    expect([...blocksInOrder(range, "node-b", hashedOrder, EMPTY_SET)].map(place)).toEqual(
      Array.from({ length: 16 }, (_, i) => BigInt(i)),
    );
  });
});
