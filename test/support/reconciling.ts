/** One reconcile at a time over the embedded store, with what it wrote, said and told at hand. */
import { pino } from "pino";
import { afterEach, beforeEach } from "vitest";
import type { Surroundings } from "../../reconcilers/installation/surroundings.ts";
import { createInstallationReconciler } from "../../reconcilers/installation.ts";
import type { Installation, InstallationSpec } from "../../src/api/installation.ts";
import type { IPAMConfiguration, IPAMConfigurationSpec } from "../../src/api/v3.ts";
import { type Datastore, DatastoreError } from "../../src/datastore/datastore.ts";
import { openCopy } from "../../src/datastore/embedded.ts";
import { aConfiguration, NOW, theSurroundings } from "./installations.ts";

const log = pino({ level: "silent" });

export const unavailable = () => new DatastoreError("Unavailable", "IPAMConfiguration", "default", "connection reset");

/** New before each test of the file that calls it; `world` is what a test looks at and sets. */
export function reconciling() {
  const fresh = () => ({
    datastore: openCopy(":memory:"),
    events: [] as string[],
    surroundings: theSurroundings() as Surroundings,
    now: NOW,
    flush: undefined as undefined | (() => Promise<void>),
  });
  const world = {} as ReturnType<typeof fresh>;
  beforeEach(() => {
    Object.assign(world, fresh());
  });
  afterEach(() => world.datastore.close());

  /** The same store, with some of its methods replaced: how a test injects what another writer or a network does. */
  const storeWith = (faults: Partial<Datastore>): Datastore =>
    new Proxy(world.datastore, {
      get: (target, name: keyof Datastore) =>
        faults[name] ?? (target[name] as () => unknown).bind?.(target) ?? target[name],
    });

  const reconcile = (store: Datastore = world.datastore) =>
    createInstallationReconciler({
      datastore: store,
      surroundings: () => world.surroundings,
      events: {
        event: (_regarding, type, reason, note) => world.events.push(`${type} ${reason}: ${note}`),
        ...(world.flush && { flush: world.flush }),
      },
      clock: () => world.now,
    }).reconcile("default", { signal: new AbortController().signal, log });

  const installed = (): Promise<Installation> => world.datastore.get("Installation", "default");

  async function install(spec: InstallationSpec): Promise<void> {
    const stored = await installed().catch(() => undefined);
    if (stored) await world.datastore.update({ ...stored, spec });
    else {
      const apiVersion = "ipam-operator.io/v1alpha1";
      await world.datastore.create({ apiVersion, kind: "Installation", metadata: { name: "default" }, spec });
    }
  }
  const enforce = (ipam: InstallationSpec["ipam"]) =>
    install({ managementPolicy: "Enforce", ...(ipam ? { ipam } : {}) });

  const configuration = (name = "default"): Promise<IPAMConfiguration | undefined> =>
    world.datastore.get("IPAMConfiguration", name).catch(() => undefined);

  /** Writes the configuration as somebody else does. */
  async function store(spec: IPAMConfigurationSpec, name = "default"): Promise<void> {
    const stored = await configuration(name);
    if (stored) await world.datastore.update({ ...stored, spec });
    else {
      const { resourceVersion: _none, ...metadata } = aConfiguration(spec).metadata;
      await world.datastore.create({ ...aConfiguration(spec), metadata: { ...metadata, name } });
    }
  }

  /** `Ready=True Succeeded` for each condition. */
  const reasons = async () =>
    (await installed()).status?.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

  return { world, storeWith, reconcile, installed, install, enforce, configuration, store, reasons };
}
