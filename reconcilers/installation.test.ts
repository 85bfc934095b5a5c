/** What an Installation makes of the configuration: what is written, what the status says, which events are told. */
import { describe, expect, it } from "vitest";
import { NOW, theSurroundings } from "../test/support/installations.ts";
import { kstatusOf } from "../test/support/kstatus.ts";
import { reconciling } from "../test/support/reconciling.ts";

const { configuration, enforce, install, installed, reasons, reconcile, store, storeWith, world } = reconciling();

describe("an Installation", () => {
  it("becomes the configuration, with the library's defaults for what it does not name", async () => {
    await enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
    await reconcile();
    expect((await configuration())?.spec).toEqual({
      strictAffinity: true,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 8,
    });
    expect(await reasons()).toEqual(["Ready=True Succeeded"]);
    expect(kstatusOf(await installed())).toBe("Current");
    expect(world.events).toEqual([
      "Normal Configured: created the configuration with strictAffinity: true, maxBlocksPerHost: 8",
      "Normal Succeeded: the stored configuration has strictAffinity: true, maxBlocksPerHost: 8",
    ]);
  });

  it("is left in peace once it has converged: no write, no event", async () => {
    await enforce({ strictAffinity: true });
    await reconcile();
    const [before, beforeConfig] = [await installed(), await configuration()];
    world.events.length = 0;
    world.now = new Date(NOW.getTime() + 60_000);
    await reconcile();
    expect([await installed(), await configuration()]).toEqual([before, beforeConfig]);
    expect(world.events).toEqual([]);
  });

  it("never has its spec written (CFG-05)", async () => {
    await enforce({ strictAffinity: true });
    for (let i = 0; i < 3; i++) await reconcile();
    const { metadata, spec } = await installed();
    expect(metadata.generation).toBe(1);
    expect(spec).toEqual({ managementPolicy: "Enforce", ipam: { strictAffinity: true } });
  });

  it("follows each edit, and leaves the stored value when a line is removed (CFG-02)", async () => {
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 60 });
    for (const strictAffinity of [true, false, true]) {
      await enforce({ strictAffinity });
      await reconcile();
      expect((await configuration())?.spec.strictAffinity).toBe(strictAffinity);
    }
    await enforce(undefined);
    await reconcile();
    expect((await configuration())?.spec).toMatchObject({ strictAffinity: true, ipCooldownSeconds: 60 });
  });

  it("keeps unmanaged and unknown fields of the configuration (CFG-10)", async () => {
    const known = {
      strictAffinity: false,
      autoAllocateBlocks: true,
      kubeVirtVMAddressPersistence: "Disabled",
    } as const;
    const newer = { ...known, future: 1 };
    await store(newer);
    await enforce({ strictAffinity: true });
    await reconcile();
    expect((await configuration())?.spec).toEqual({
      strictAffinity: true,
      autoAllocateBlocks: true,
      kubeVirtVMAddressPersistence: "Disabled",
      future: 1,
    });
  });

  it("keeps the values found at first contact in its status", async () => {
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 30 });
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    const { status } = await installed();
    expect(status?.adopted).toContainEqual({ name: "ipCooldownSeconds", value: "30" });
    expect(status?.effective?.ipCooldownSeconds).toBe(60);
  });

  it("keeps them even where the operator dies right after its first write", async () => {
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 30 });
    await enforce({ ipCooldownSeconds: 60 });
    const dies = storeWith({
      update: async (object, options) => {
        await world.datastore.update(object, options);
        throw new Error("killed");
      },
    });
    await expect(reconcile(dies)).rejects.toThrow("killed");
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(60);
    await reconcile();
    expect((await installed()).status?.adopted).toContainEqual({ name: "ipCooldownSeconds", value: "30" });
  });

  it("that is deleted leaves the configuration as it is", async () => {
    await enforce({ strictAffinity: true });
    await reconcile();
    await world.datastore.delete(await installed());
    await reconcile();
    expect((await configuration())?.spec.strictAffinity).toBe(true);
  });
});

describe("a policy", () => {
  it("Observe tells that Enforce would be refused", async () => {
    await store({ strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 5 });
    await install({ managementPolicy: "Observe", ipam: { ipCooldownSeconds: 60 } });
    await reconcile();
    expect(await reasons()).toEqual(["Ready=True Observed"]);
    const [ready] = (await installed()).status?.conditions ?? [];
    expect(ready?.message).toMatch(/would change nothing, with the result InvalidSpec: MaxBlocksPerHost requires/);
  });

  it("Observe reports the difference and writes nothing", async () => {
    await install({ managementPolicy: "Observe", ipam: { strictAffinity: true } });
    await reconcile();
    expect(await configuration()).toBeUndefined();
    expect(await reasons()).toEqual(["Ready=True Observed"]);
  });

  it("Paused writes nothing but the status", async () => {
    await install({ managementPolicy: "Paused", ipam: { strictAffinity: true } });
    await reconcile();
    expect(await configuration()).toBeUndefined();
    expect((await installed()).status).toMatchObject({ observedGeneration: 1, conditions: [{ reason: "Paused" }] });
    expect((await installed()).status).not.toHaveProperty("effective");
  });
});

describe("what stands in the way", () => {
  it("is said, and gone once it is mended", async () => {
    world.surroundings = theSurroundings({
      blocked: { reason: "APINotInstalled", message: "install the CRDs in crds/v3" },
    });
    await enforce({ strictAffinity: true });
    expect(await reconcile()).toEqual({ requeueAfterMs: 30_000 });
    expect(await reasons()).toEqual(["Ready=False APINotInstalled", "Stalled=True APINotInstalled"]);
    world.surroundings = theSurroundings();
    expect(await reconcile()).toEqual({});
    expect(await reasons()).toEqual(["Ready=True Succeeded"]);
    expect(world.events.map((event) => event.split(":")[0])).toEqual([
      "Warning APINotInstalled",
      "Normal Configured",
      "Normal Succeeded",
    ]);
  });

  it("an invalid edit keeps the last good configuration and names the rule", async () => {
    await enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
    await reconcile();
    await enforce({ strictAffinity: false, maxBlocksPerHost: 8 });
    await reconcile();
    expect((await configuration())?.spec).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 8 });
    const { status } = await installed();
    expect(status?.conditions?.[1]?.message).toMatch(/MaxBlocksPerHost requires StrictAffinity to be enabled/);
    expect(status?.observedGeneration).toBe(2);
  });
});
