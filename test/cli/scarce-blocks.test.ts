/** With strict affinity blocks run out before addresses do: `check`, `top` and the operator say so by one rule. */
import { expect, it } from "vitest";
import { warningsFor } from "../../reconcilers/installation/warnings.ts";
import { effectiveConfig } from "../../src/api/config-rules.ts";
import { inputSnapshot } from "../support/input-snapshot.ts";
import { pool } from "../support/ipam-data.ts";
import { ipamctl } from "./ipamctl.ts";
import { NOW, node } from "./sound.ts";

const snapshot = inputSnapshot("r22-pool-of-scarce-blocks.yaml", NOW);
const SENTENCE =
  'strictAffinity is true, and 17 nodes share the 16 blocks of pool "dc-subnet" (10.60.0.0/22, blocks of /26): 1 node can get ' +
  "no block, and pods there no address";

it("check finds it, with the numbers and what to do", async () => {
  const ran = await ipamctl(["check", "-o", "json"], { snapshot });
  const found = JSON.parse(ran.stdout).items.find(({ code }: { code: string }) => code === "FewerBlocksThanNodes");
  expect(ran.code).toBe(3);
  expect(found).toMatchObject({ object: { kind: "IPPool", name: "dc-subnet" }, message: SENTENCE });
  const { stdout } = await ipamctl(["explain", "FewerBlocksThanNodes"]);
  expect(stdout).toContain("smaller blocks");
});

it("top says it", async () => {
  expect((await ipamctl(["top"], { snapshot })).stderr).toContain(`${SENTENCE}\n`);
});

const facts = (names: readonly string[], labels = {}) =>
  names.map((name) => ({ ...node(name, { labels }), podCapacity: 60 as number | undefined }));
const strict = effectiveConfig({ strictAffinity: true });
const warned = (pools: readonly ReturnType<typeof pool>[], nodes: ReturnType<typeof facts>, config = strict) => {
  const surroundings = { nodes, pools } as unknown as Parameters<typeof warningsFor>[1];
  return warningsFor(config, surroundings, []).find(({ type }) => type === "FewerBlocksThanNodes")?.message;
};
const names = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`);

it("the operator warns of it, and only where it is so", () => {
  const pools = [pool("dc-subnet", "10.60.0.0/22", { blockSize: 26 })];
  expect(warned(pools, facts(names(17)))).toContain(SENTENCE);
  expect(warned(pools, facts(names(16)))).toBeUndefined();
  expect(warned(pools, facts(names(17)), effectiveConfig({ strictAffinity: false }))).toBeUndefined();
  expect(warned([...pools, pool("more", "10.61.0.0/26")], facts(names(17)))).toBeUndefined();
});

it("a pool of other nodes, a disabled one and one for Services do not help", () => {
  const small = pool("a", "10.0.0.0/26", { nodeSelector: 'zone == "a"' });
  const others = [
    pool("b", "10.0.1.0/24", { nodeSelector: 'zone == "b"' }),
    pool("off", "10.0.2.0/24", { disabled: true }),
    pool("lb", "10.0.3.0/24", { allowedUses: ["LoadBalancer"] }),
  ];
  const nodes = [...facts(["a1", "a2"], { zone: "a" }), ...facts(["b1"], { zone: "b" })];
  expect(warned([small, ...others], nodes)).toContain('2 nodes share the 1 block of pool "a"');
});
