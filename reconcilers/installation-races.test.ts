/** What happens between the look at the configuration and the write of it. */

import { describe, expect, it } from "vitest";
import type { Condition } from "../src/api/meta.ts";
import { reconciling } from "../test/support/reconciling.ts";

const { configuration, enforce, installed, reasons, reconcile, store, storeWith, world } = reconciling();

const annotate = async (edit: number) => {
  const { metadata, ...rest } = await installed();
  await world.datastore.update({ ...rest, metadata: { ...metadata, annotations: { edit: String(edit) } } });
};

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
    await reconcile(taken);
    expect(await reasons()).toEqual(["Ready=False OwnedByOther", "Stalled=True OwnedByOther"]);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(33);
  });

  it("is decided anew: a configuration that somebody deletes between look and write is created", async () => {
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    await enforce({ ipCooldownSeconds: 60 });
    const deleted = storeWith({
      update: async (object, options) => {
        await world.datastore.delete((await configuration())!);
        return world.datastore.update(object, options);
      },
    });
    await reconcile(deleted);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(60);
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

describe("TRY-26: foreign edits of the Installation", () => {
  /** Runs `edit` before each of the first `times` writes of the status. */
  const editedBeforeStatus = (edit: (count: number) => Promise<unknown>, times = 1) => {
    let count = 0;
    return storeWith({
      updateStatus: async (object, options) => {
        if (++count <= times) await edit(count);
        return world.datastore.updateStatus(object, options);
      },
    });
  };

  it("of metadata before each write of the status cost one reconcile nothing, at first contact and after drift", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile(editedBeforeStatus(annotate, 7));
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(60);
    expect(await reasons()).toEqual(["Ready=True Succeeded"]);
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    await reconcile(editedBeforeStatus(annotate, 7));
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(60);
    expect((await installed()).status).toMatchObject({ drift: [{ name: "ipCooldownSeconds", found: "5" }] });
  });

  it("of the spec: the status that is written names the generation that it is about", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await enforce({ ipCooldownSeconds: 61 });
    await reconcile(editedBeforeStatus(() => enforce({ ipCooldownSeconds: 62 })));
    const { metadata, status } = await installed();
    expect([metadata.generation, status?.observedGeneration, status?.effective?.ipCooldownSeconds]).toEqual([3, 2, 61]);
  });

  it("a pause that comes before the first write is respected", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    const pause = async () => {
      const stored = await installed();
      await world.datastore.update({ ...stored, spec: { ...stored.spec, managementPolicy: "Paused" } });
    };
    await reconcile(editedBeforeStatus(pause));
    expect(await configuration()).toBeUndefined();
    expect(await reasons()).toEqual(["Ready=Unknown Paused"]);
  });

  it("never overwrites the status of a newer generation", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await enforce({ ipCooldownSeconds: 61 });
    const newer = async () => {
      await enforce({ ipCooldownSeconds: 62 });
      await reconcile();
    };
    await reconcile(editedBeforeStatus(newer));
    const { metadata, status } = await installed();
    expect([metadata.generation, status?.observedGeneration, status?.effective?.ipCooldownSeconds]).toEqual([3, 3, 62]);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(62);
  });

  it("keeps conditions of other types, those too that are written meanwhile, and writes nothing more for them", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    const add = (type: string) => async () => {
      const stored = await installed();
      const condition: Condition = {
        type,
        status: "True",
        reason: "Theirs",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      };
      const conditions = [...(stored.status?.conditions ?? []), condition];
      await world.datastore.updateStatus({ ...stored, status: { ...stored.status, conditions } });
    };
    await add("Audited")();
    await reconcile(editedBeforeStatus(add("Billed")));
    expect(await reasons()).toEqual(["Ready=True Succeeded", "Audited=True Theirs", "Billed=True Theirs"]);
    const { resourceVersion } = (await installed()).metadata;
    await reconcile();
    expect((await installed()).metadata.resourceVersion).toBe(resourceVersion);
  });

  it("another Installation of the name gets no status of the one before", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await enforce({ ipCooldownSeconds: 61 });
    const replace = async () => {
      await world.datastore.delete(await installed());
      await enforce({ ipCooldownSeconds: 63 });
    };
    await reconcile(editedBeforeStatus(replace));
    expect((await installed()).status).toBeUndefined();
  });
});

it("a configuration that is deleted between look and write is created again, and nothing is reported as failed", async () => {
  await enforce({ ipCooldownSeconds: 60 });
  await reconcile();
  await enforce({ ipCooldownSeconds: 61 });
  let isFirst = true;
  const deleted = storeWith({
    update: async (object, options) => {
      if (isFirst) await world.datastore.delete((await configuration())!);
      isFirst = false;
      return world.datastore.update(object, options);
    },
  });
  await reconcile(deleted);
  expect((await configuration())?.spec.ipCooldownSeconds).toBe(61);
});
