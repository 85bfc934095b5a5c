/** Where the judgement says that the next pod gets an address, the real library gives one, and the other way round. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { inventoryOf } from "../../src/judgement/inventory.ts";
import { nextOn } from "../../src/judgement/why/asking.ts";
import { verdictOn } from "../../src/judgement/why/causes.ts";
import { momentOf } from "../../src/judgement/why/moment.ts";
import { situation } from "../cli/situations.ts";
import { NOW } from "../cli/sound.ts";
import { affinity, configuration, pool, reservation } from "../support/ipam-data.ts";

const SELECTORS = ["all()", 'zone == "a"', 'zone == "b"'];
const HOSTS = ["node-a", "node-b"];

const worlds = fc.record({
  strictAffinity: fc.boolean(),
  autoAllocateBlocks: fc.boolean(),
  maxBlocksPerHost: fc.constantFrom(0, 1, 2),
  ipCooldownSeconds: fc.constantFrom(0, 300),
  selectors: fc.array(fc.constantFrom(...SELECTORS), { minLength: 1, maxLength: 2 }),
  disabled: fc.boolean(),
  pods: fc.array(fc.constantFrom(...HOSTS), { maxLength: 14 }),
  released: fc.nat(3),
  reserved: fc.constantFrom("10.0.0.0/30", "10.0.0.6/32", "10.1.0.0/29"),
  dangling: fc.boolean(),
});

it("agrees with the library, or is narrower where Calico is", async () => {
  const asked = fc.asyncProperty(worlds, async (world) => {
    const { selectors, pods, released, reserved, dangling, disabled, ...config } = world;
    const here = situation();
    for (const [at, nodeSelector] of selectors.entries()) {
      const spec = { blockSize: 30, nodeSelector, disabled: disabled && at === 1 };
      await here.store.create(pool(`p${at}`, `10.${at}.0.0/29`, spec));
    }
    await here.store.create(reservation("some", reserved));
    for (const [at, host] of pods.entries()) await here.fill(host, `pod-${at}`).catch(() => {});
    for (let at = 0; at < released; at++) {
      await here.ipam.releaseByHandle(`k8s-pod-network.pod-${at}`).catch(() => {});
      here.lose(`pod-${at}`);
    }
    if (dangling) await here.store.create(affinity("node-a", "10.0.0.4/30")).catch(() => {});
    await here.store.create(configuration(config));
    const snapshot = await here.snapshot();
    const inventory = inventoryOf(snapshot);
    const { causes } = verdictOn(inventory, nextOn(inventory, "node-a", "shop"), 4, momentOf(snapshot, NOW));
    const given = await here.next("node-a");
    const codes = causes.map(({ code }) => code);
    if (given === 0) expect(codes).not.toEqual([]);
    else if (!codes.includes("BlockCapReached")) expect(codes).toEqual([]);
    await here.store.close();
  });
  await fc.assert(asked, { numRuns: 60 });
}, 120_000);
