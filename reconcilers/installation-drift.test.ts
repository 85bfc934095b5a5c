/** A configuration that others change: put back, told, counted, also over a crash in between. */
import { describe, expect, it } from "vitest";
import { aNode, theSurroundings } from "../test/support/installations.ts";
import { reconciling, unavailable } from "../test/support/reconciling.ts";

const { configuration, enforce, installed, reasons, reconcile, store, storeWith, world } = reconciling();

describe("a direct change", () => {
  it("is put back, told once, and remembered", async () => {
    await enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
    await reconcile();
    world.events.length = 0;
    await store({ strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 3 });
    await reconcile();
    expect((await configuration())?.spec.maxBlocksPerHost).toBe(8);
    expect(world.events).toEqual([
      "Warning Drift: maxBlocksPerHost of the stored configuration was changed to 3 by an unknown writer; reverted to 8",
    ]);
    expect((await installed()).status?.lastDrift).toMatch(/changed to 3/);
  });

  it("that deletes the configuration is told as that, and not as a creation besides", async () => {
    await enforce({ strictAffinity: true });
    await reconcile();
    world.events.length = 0;
    await world.datastore.delete((await configuration())!);
    await reconcile();
    expect((await configuration())?.spec).toEqual({ strictAffinity: true, autoAllocateBlocks: true });
    expect(world.events).toEqual([
      "Warning Drift: strictAffinity of the stored configuration was changed to false by its deletion; reverted to true",
    ]);
  });

  it("is none where the data is in another API group than before: what was in force there never was here", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    world.events.length = 0;
    world.surroundings = theSurroundings({ datastore: { apiGroup: "crd.projectcalico.org/v1", chosenBy: "Flag" } });
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    await reconcile();
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(60);
    expect(world.events).toEqual(["Normal Configured: changed ipCooldownSeconds from 5 to 60"]);
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 6 });
    await reconcile();
    expect(world.events.at(-1)).toMatch(/^Warning Drift: .*changed to 6/);
  });

  it("that comes back again and again is left alone after three corrections, until the spec changes", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    for (let i = 0; i < 4; i++) {
      await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
      await reconcile();
    }
    expect(await reasons()).toEqual(["Ready=False DriftFight", "Stalled=True DriftFight"]);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(5);
    const before = await installed();
    await reconcile();
    expect(await installed()).toEqual(before);
    await enforce({ ipCooldownSeconds: 61 });
    await reconcile();
    expect(await reasons()).toEqual(["Ready=True Succeeded"]);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(61);
  });

  it("comes to an end too where leaving it alone would make the other fields break a rule", async () => {
    await enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
    await reconcile();
    for (let i = 0; i < 8; i++) {
      const { maxBlocksPerHost = 0 } = (await configuration())?.spec ?? {};
      await store({ strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost });
      await reconcile();
      await reconcile();
    }
    expect(world.events.filter((event) => event.startsWith("Warning Drift:"))).toHaveLength(3);
    expect(world.events.filter((event) => event.startsWith("Normal Configured"))).toHaveLength(1);
    expect(await reasons()).toEqual(["Ready=False DriftFight", "Stalled=True DriftFight"]);
  });

  it("is told and counted although the status loses a race with an edit of the Installation", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    const edited = storeWith({
      updateStatus: async (object, options) => {
        const isLast = !object.status?.drift?.some(({ pending }) => pending);
        if (isLast && (await installed()).metadata.generation === 1) await enforce({ ipCooldownSeconds: 61 });
        return world.datastore.updateStatus(object, options);
      },
    });
    await reconcile(edited);
    const { metadata, spec, status } = await installed();
    expect(status?.drift).toMatchObject([{ name: "ipCooldownSeconds", corrections: { length: 1 } }]);
    expect([metadata.generation, status?.observedGeneration, spec.ipam?.ipCooldownSeconds]).toEqual([2, 1, 61]);
    expect(world.events.filter((event) => event.startsWith("Warning Drift"))).toHaveLength(1);
  });

  /** A process that is killed writes nothing more, and says nothing. */
  const killed = () => Promise.reject(new Error("killed"));
  const drifts = () => world.events.filter((event) => event.includes("Drift"));

  it("is told although the process is killed right after putting it back, and counts once", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    const dies = storeWith({
      updateStatus: async (object, options) =>
        object.status?.drift?.some(({ pending }) => pending) ? world.datastore.updateStatus(object, options) : killed(),
    });
    await expect(reconcile(dies)).rejects.toThrow("killed");
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(60);
    expect((await installed()).status).toMatchObject({ drift: [{ found: "5", corrections: [], pending: true }] });
    world.events.length = 0;
    await reconcile();
    expect(drifts()).toEqual([
      expect.stringMatching(/^Warning Drift: ipCooldownSeconds .* changed to 5 .*reverted to 60$/),
    ]);
    const { drift, lastDrift } = (await installed()).status ?? {};
    expect([drift?.[0]?.corrections.length, drift?.[0]?.pending, lastDrift]).toEqual([
      1,
      undefined,
      expect.stringContaining("reverted to 60"),
    ]);
    await reconcile();
    expect(drifts()).toHaveLength(1);
  });

  it("is written as an event before the status says that it was told: a process that ends in between loses neither", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    const order: string[] = [];
    world.flush = async () => {
      await new Promise(setImmediate);
      order.push(...drifts().map(() => "event"));
    };
    const seen = storeWith({
      updateStatus: (object, options) => {
        order.push(object.status?.drift?.some(({ pending }) => pending) ? "intent" : "status");
        return world.datastore.updateStatus(object, options);
      },
    });
    await reconcile(seen);
    expect(order).toEqual(["intent", "event", "status"]);
  });

  it("is in the status although its event cannot be written for now", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    world.flush = () => new Promise(() => {});
    await reconcile();
    expect((await installed()).status?.lastDrift).toMatch(/changed to 5/);
  });

  it("is not told as put back where the process was killed before that, and counts once", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    await expect(reconcile(storeWith({ update: killed }))).rejects.toThrow("killed");
    expect([drifts(), (await installed()).status?.lastDrift]).toEqual([[], undefined]);
    await reconcile();
    expect(drifts()).toHaveLength(1);
    expect((await installed()).status).toMatchObject({ drift: [{ corrections: [expect.any(String)] }] });
  });

  it("is forgotten where it was never put back, and the Installation no longer asks for that", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    await expect(reconcile(storeWith({ update: killed }))).rejects.toThrow("killed");
    await enforce({ strictAffinity: false });
    await reconcile();
    expect((await installed()).status).toMatchObject({ drift: [] });
    expect([drifts(), (await configuration())?.spec.ipCooldownSeconds]).toEqual([[], 5]);
  });

  it("stays drift when the first try to put it back fails", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    world.events.length = 0;
    await expect(reconcile(storeWith({ update: () => Promise.reject(unavailable()) }))).rejects.toThrow("reset");
    expect(await reasons()).toEqual(["Ready=Unknown Unavailable", "Reconciling=True Unavailable"]);
    await reconcile();
    expect(world.events.map((event) => event.split(":")[0])).toEqual([
      "Warning Unavailable",
      "Warning Drift",
      "Normal Succeeded",
    ]);
  });

  it("that was put back, with the answer lost, is told as put back", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    const answerLost = storeWith({
      update: async (object, options) => {
        await world.datastore.update(object, options);
        throw unavailable();
      },
    });
    await reconcile(answerLost);
    expect(await reasons()).toEqual(["Ready=True Succeeded"]);
    expect(world.events.at(-1)).toMatch(/^Warning Drift: .*reverted to 60/);
  });

  it("is not forgotten over a detour: a lock comes and goes, and the fight stays given up", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    for (let i = 0; i < 4; i++) {
      await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
      await reconcile();
    }
    world.surroundings = theSurroundings({ datastoreLocked: true });
    await reconcile();
    expect(await reasons()).toEqual(["Ready=False DatastoreLocked", "Reconciling=True DatastoreLocked"]);
    world.surroundings = theSurroundings();
    await reconcile();
    expect(await reasons()).toEqual(["Ready=False DriftFight", "Stalled=True DriftFight"]);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(5);
  });

  it("is not called put back where nothing was written", async () => {
    await enforce({ strictAffinity: false, ipCooldownSeconds: 60 });
    await reconcile();
    world.surroundings = theSurroundings({ nodes: [aNode("win-1", { windows: true })] });
    await store({ strictAffinity: true, autoAllocateBlocks: true, ipCooldownSeconds: 60 });
    await reconcile();
    expect(await reasons()).toEqual([
      "Ready=False WindowsNeedsStrictAffinity",
      "Stalled=True WindowsNeedsStrictAffinity",
    ]);
    expect((await configuration())?.spec.strictAffinity).toBe(true);
    expect((await installed()).status).toMatchObject({ drift: [] });
    expect(world.events.filter((event) => event.includes("Drift"))).toEqual([]);
  });

  it("under another name is a warning and nothing more", async () => {
    await enforce({ strictAffinity: true });
    await store({ strictAffinity: false, autoAllocateBlocks: true }, "distro-config");
    await reconcile();
    await reconcile();
    expect(world.events.filter((event) => event.includes("IgnoredConfiguration"))).toEqual([
      expect.stringContaining("only `default` is read"),
    ]);
    expect((await configuration("distro-config"))?.spec.strictAffinity).toBe(false);
  });
});
