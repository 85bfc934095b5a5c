/** What happens between the look at the configuration and the write of it. */

import { describe, expect, it } from "vitest";
import { LostRace } from "../src/operator/controller.ts";
import { reconciling } from "../test/support/reconciling.ts";

const { configuration, enforce, reasons, reconcile, store, storeWith, world } = reconciling();

describe("a race", () => {
  it("is decided anew: a configuration that Helm takes between look and write is left to it", async () => {
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await enforce({ ipCooldownSeconds: 61 });
    const taken = storeWith({
      update: async (object, options) => {
        const stored = (await configuration())!;
        const labels = { "app.kubernetes.io/managed-by": "Helm" };
        const spec = { ...stored.spec, ipCooldownSeconds: 33 };
        await world.datastore.update({
          ...stored,
          metadata: { ...stored.metadata, labels },
          spec,
        });
        return world.datastore.update(object, options);
      },
    });
    await expect(reconcile(taken)).rejects.toThrow(LostRace);
    await reconcile();
    expect(await reasons()).toEqual(["Ready=False OwnedByOther", "Stalled=True OwnedByOther"]);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(33);
  });

  it("with a mutating webhook is neither told as written nor as a missing field", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await enforce({ ipCooldownSeconds: 62 });
    world.events.length = 0;
    const mutated = storeWith({
      update: (object, options) =>
        world.datastore.update({ ...object, spec: { ...object.spec, ipCooldownSeconds: 7 } } as typeof object, options),
    });
    await reconcile(mutated);
    expect(await reasons()).toEqual(["Ready=False OwnedByOther", "Stalled=True OwnedByOther"]);
    expect(world.events).toEqual([
      expect.stringMatching(/^Warning OwnedByOther: .*stored another value of ipCooldownSeconds/),
    ]);
  });
});
