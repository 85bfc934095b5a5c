/** One reconcile at a time over the embedded store: what is written, what the status says, which events are told. */
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Installation, InstallationSpec } from "../src/api/installation.ts";
import type { IPAMConfiguration, IPAMConfigurationSpec } from "../src/api/v3.ts";
import { type Datastore, DatastoreError } from "../src/datastore/datastore.ts";
import { openEmbedded } from "../src/datastore/embedded.ts";
import { aConfiguration, aNode, NOW, theSurroundings } from "../test/support/installations.ts";
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

/** The same store, with some of its methods replaced: how a test injects what another writer or a network does. */
function storeWith(faults: Partial<Datastore>): Datastore {
  return new Proxy(datastore, {
    get: (target, name: keyof Datastore) =>
      faults[name] ?? (target[name] as () => unknown).bind?.(target) ?? target[name],
  });
}
const unavailable = () => new DatastoreError("Unavailable", "IPAMConfiguration", "default", "connection reset");

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
    await datastore.create({ apiVersion, kind: "Installation", metadata: { name: "default" }, spec });
  }
}
const enforce = (ipam: InstallationSpec["ipam"]) => install({ managementPolicy: "Enforce", ...(ipam ? { ipam } : {}) });

async function store(spec: IPAMConfigurationSpec, name = "default"): Promise<void> {
  const stored = await configuration(name);
  if (stored) await datastore.update({ ...stored, spec });
  else {
    const { resourceVersion: _none, ...metadata } = aConfiguration(spec).metadata;
    await datastore.create({ ...aConfiguration(spec), metadata: { ...metadata, name } });
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
      "Normal Configured: created the configuration with strictAffinity: true, maxBlocksPerHost: 8",
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
    const dies = storeWith({
      update: async (object, options) => {
        await datastore.update(object, options);
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
    await datastore.delete(await installed());
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
      "Warning Drift: maxBlocksPerHost of the stored configuration was changed to 3 by an unknown writer; put back to 8",
    ]);
    expect((await installed()).status?.lastDrift).toMatch(/changed to 3/);
  });

  it("that deletes the configuration is told as that, and not as a creation besides", async () => {
    await enforce({ strictAffinity: true });
    await reconcile();
    events.length = 0;
    await datastore.delete((await configuration())!);
    await reconcile();
    expect((await configuration())?.spec).toEqual({ strictAffinity: true, autoAllocateBlocks: true });
    expect(events).toEqual([
      "Warning Drift: strictAffinity of the stored configuration was changed to false by its deletion; put back to true",
    ]);
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
    expect(events.filter((event) => event.startsWith("Warning Drift:"))).toHaveLength(3);
    expect(events.filter((event) => event.startsWith("Normal Configured"))).toHaveLength(1);
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
        return datastore.updateStatus(object, options);
      },
    });
    await reconcile(edited);
    const { metadata, spec, status } = await installed();
    expect(status?.drift).toMatchObject([{ name: "ipCooldownSeconds", corrections: { length: 1 } }]);
    expect([metadata.generation, status?.observedGeneration, spec.ipam?.ipCooldownSeconds]).toEqual([2, 1, 61]);
    expect(events.filter((event) => event.startsWith("Warning Drift"))).toHaveLength(1);
  });

  /** A process that is killed writes nothing more, and says nothing. */
  const killed = () => Promise.reject(new Error("killed"));
  const drifts = () => events.filter((event) => event.includes("Drift"));

  it("is told although the process is killed right after putting it back, and counts once", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    const dies = storeWith({
      updateStatus: async (object, options) =>
        object.status?.drift?.some(({ pending }) => pending) ? datastore.updateStatus(object, options) : killed(),
    });
    await expect(reconcile(dies)).rejects.toThrow("killed");
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(60);
    expect((await installed()).status).toMatchObject({ drift: [{ found: "5", corrections: [], pending: true }] });
    events.length = 0;
    await reconcile();
    expect(drifts()).toEqual([
      expect.stringMatching(/^Warning Drift: ipCooldownSeconds .* changed to 5 .*back to 60$/),
    ]);
    const { drift, lastDrift } = (await installed()).status ?? {};
    expect([drift?.[0]?.corrections.length, drift?.[0]?.pending, lastDrift]).toEqual([
      1,
      undefined,
      expect.stringContaining("put back to 60"),
    ]);
    await reconcile();
    expect(drifts()).toHaveLength(1);
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
    events.length = 0;
    await expect(reconcile(storeWith({ update: () => Promise.reject(unavailable()) }))).rejects.toThrow("reset");
    expect(await reasons()).toEqual(["Ready=Unknown Unavailable", "Reconciling=True Unavailable"]);
    await reconcile();
    expect(events.map((event) => event.split(":")[0])).toEqual([
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
        await datastore.update(object, options);
        throw unavailable();
      },
    });
    await reconcile(answerLost);
    expect(await reasons()).toEqual(["Ready=True Succeeded"]);
    expect(events.at(-1)).toMatch(/^Warning Drift: .*put back to 60/);
  });

  it("is not forgotten over a detour: a lock comes and goes, and the fight stays given up", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    for (let i = 0; i < 4; i++) {
      await store({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
      await reconcile();
    }
    surroundings = theSurroundings({ datastoreLocked: true });
    await reconcile();
    expect(await reasons()).toEqual(["Ready=False DatastoreLocked", "Reconciling=True DatastoreLocked"]);
    surroundings = theSurroundings();
    await reconcile();
    expect(await reasons()).toEqual(["Ready=False DriftFight", "Stalled=True DriftFight"]);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(5);
  });

  it("is not called put back where nothing was written", async () => {
    await enforce({ strictAffinity: false, ipCooldownSeconds: 60 });
    await reconcile();
    surroundings = theSurroundings({ nodes: [aNode("win-1", { windows: true })] });
    await store({ strictAffinity: true, autoAllocateBlocks: true, ipCooldownSeconds: 60 });
    await reconcile();
    expect(await reasons()).toEqual([
      "Ready=False WindowsNeedsStrictAffinity",
      "Stalled=True WindowsNeedsStrictAffinity",
    ]);
    expect((await configuration())?.spec.strictAffinity).toBe(true);
    expect((await installed()).status).toMatchObject({ drift: [] });
    expect(events.filter((event) => event.includes("Drift"))).toEqual([]);
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
        await datastore.update({
          ...stored,
          metadata: { ...stored.metadata, labels },
          spec,
        });
        return datastore.update(object, options);
      },
    });
    await expect(reconcile(taken)).rejects.toMatchObject({ code: "Conflict" });
    await reconcile();
    expect(await reasons()).toEqual(["Ready=False OwnedByOther", "Stalled=True OwnedByOther"]);
    expect((await configuration())?.spec.ipCooldownSeconds).toBe(33);
  });

  it("with a mutating webhook is neither told as written nor as a missing field", async () => {
    await enforce({ ipCooldownSeconds: 60 });
    await reconcile();
    await enforce({ ipCooldownSeconds: 62 });
    events.length = 0;
    const mutated = storeWith({
      update: (object, options) =>
        datastore.update({ ...object, spec: { ...object.spec, ipCooldownSeconds: 7 } } as typeof object, options),
    });
    await reconcile(mutated);
    expect(await reasons()).toEqual(["Ready=False OwnedByOther", "Stalled=True OwnedByOther"]);
    expect(events).toEqual([
      expect.stringMatching(/^Warning OwnedByOther: .*stored another value of ipCooldownSeconds/),
    ]);
  });
});

describe("a policy", () => {
  it("Observe tells that Enforce would be refused", async () => {
    await store({ strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 5 });
    await install({ managementPolicy: "Observe", ipam: { ipCooldownSeconds: 60 } });
    await reconcile();
    expect(await reasons()).toEqual(["Ready=True Observed"]);
    const [ready] = (await installed()).status?.conditions ?? [];
    expect(ready?.message).toMatch(/would change nothing and end in InvalidSpec: MaxBlocksPerHost requires/);
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
