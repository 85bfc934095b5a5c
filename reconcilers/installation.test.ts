/** One reconcile at a time over the embedded store: what is written, what the status says, which events are told. */
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Installation, InstallationSpec } from "../src/api/installation.ts";
import type { IPAMConfiguration, IPAMConfigurationSpec } from "../src/api/v3.ts";
import type { Datastore } from "../src/datastore/datastore.ts";
import { openEmbedded } from "../src/datastore/embedded.ts";
import { aConfiguration, NOW, theSurroundings } from "../test/support/installations.ts";
import { kstatusOf } from "../test/support/kstatus.ts";
import type { Surroundings } from "./installation/surroundings.ts";
import { createInstallationReconciler } from "./installation.ts";

let datastore: Datastore;
let events: string[];
let surroundings: Surroundings;
let now: Date;

beforeEach(async () => {
  datastore = await openEmbedded(":memory:");
  events = [];
  surroundings = theSurroundings();
  now = NOW;
});
afterEach(() => datastore.close());

const log = pino({ level: "silent" });

async function reconcile(store: Datastore = datastore) {
  const reconciler = createInstallationReconciler({
    datastore: store,
    surroundings: () => surroundings,
    events: { event: (_regarding, type, reason, note) => events.push(`${type} ${reason}: ${note}`) },
    clock: () => now,
  });
  return reconciler.reconcile("default", { signal: new AbortController().signal, log });
}

async function install(spec: InstallationSpec): Promise<void> {
  const stored = await datastore.get("Installation", "default").catch(() => undefined);
  if (stored) await datastore.update({ ...stored, spec });
  else {
    const apiVersion = "ipam-operator.io/v1alpha1";
    await datastore.create<"Installation">({ apiVersion, kind: "Installation", metadata: { name: "default" }, spec });
  }
}
const enforce = (ipam: InstallationSpec["ipam"]) => install({ managementPolicy: "Enforce", ...(ipam ? { ipam } : {}) });

async function store(spec: IPAMConfigurationSpec, name = "default"): Promise<void> {
  const stored = await configuration(name);
  if (stored) await datastore.update<"IPAMConfiguration">({ ...stored, spec });
  else {
    const { resourceVersion: _none, ...metadata } = aConfiguration(spec).metadata;
    await datastore.create<"IPAMConfiguration">({ ...aConfiguration(spec), metadata: { ...metadata, name } });
  }
}
const configuration = (name = "default"): Promise<IPAMConfiguration | undefined> =>
  datastore.get("IPAMConfiguration", name).catch(() => undefined);
const installed = (): Promise<Installation> => datastore.get("Installation", "default");
const reasons = async () =>
  (await installed()).status?.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

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
    expect(events).toEqual([
      "Normal Configured: changed strictAffinity from false to true, maxBlocksPerHost from 0 to 8",
      "Normal Succeeded: the stored configuration has strictAffinity: true, maxBlocksPerHost: 8",
    ]);
  });

  it("is left in peace once it has converged: no write, no event", async () => {
    await enforce({ strictAffinity: true });
    await reconcile();
    const [before, beforeConfig] = [await installed(), await configuration()];
    events.length = 0;
    now = new Date(NOW.getTime() + 60_000);
    await reconcile();
    expect([await installed(), await configuration()]).toEqual([before, beforeConfig]);
    expect(events).toEqual([]);
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
    await store({
      strictAffinity: false,
      autoAllocateBlocks: true,
      kubeVirtVMAddressPersistence: "Disabled",
      future: 1,
    });
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
    const dies: Datastore = {
      ...datastore,
      list: datastore.list.bind(datastore),
      get: datastore.get.bind(datastore),
      create: datastore.create.bind(datastore),
      updateStatus: datastore.updateStatus.bind(datastore),
      update: async (object, options) => {
        await datastore.update(object, options);
        throw new Error("killed");
      },
    };
    await expect(reconcile(dies)).rejects.toThrow("killed");
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(60);
    await reconcile();
    expect((await installed()).status?.adopted).toContainEqual({ name: "ipCooldownSeconds", value: "30" });
  });

  it("that is deleted leaves the configuration as it is", async () => {
    await enforce({ strictAffinity: true });
    await reconcile();
    await datastore.delete<"Installation">(await installed());
    await reconcile();
    expect((await configuration())?.spec.strictAffinity).toBe(true);
  });
});

describe("a direct change", () => {
  it("is put back, told once, and remembered", async () => {
    await enforce({ strictAffinity: true, maxBlocksPerHost: 8 });
    await reconcile();
    events.length = 0;
    await store({ strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 3 });
    await reconcile();
    expect((await configuration())?.spec.maxBlocksPerHost).toBe(8);
    expect(events).toEqual([
      "Warning Drift: maxBlocksPerHost of the stored configuration was changed to 3 by unknown; put back to 8",
    ]);
    expect((await installed()).status?.lastDrift).toMatch(/changed to 3/);
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

  it("under another name is a warning and nothing more", async () => {
    await enforce({ strictAffinity: true });
    await store({ strictAffinity: false, autoAllocateBlocks: true }, "distro-config");
    await reconcile();
    await reconcile();
    expect(events.filter((event) => event.includes("IgnoredConfiguration"))).toEqual([
      expect.stringContaining("only `default` is read"),
    ]);
    expect((await configuration("distro-config"))?.spec.strictAffinity).toBe(false);
  });
});

describe("a policy", () => {
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
    surroundings = theSurroundings({ blocked: { reason: "APINotInstalled", message: "install the CRDs in crds/v3" } });
    await enforce({ strictAffinity: true });
    expect(await reconcile()).toEqual({ requeueAfterMs: 30_000 });
    expect(await reasons()).toEqual(["Ready=False APINotInstalled", "Stalled=True APINotInstalled"]);
    surroundings = theSurroundings();
    expect(await reconcile()).toEqual({});
    expect(await reasons()).toEqual(["Ready=True Succeeded"]);
    expect(events.map((event) => event.split(":")[0])).toEqual([
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
