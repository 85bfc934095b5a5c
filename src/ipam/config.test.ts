import { afterEach, describe, expect, it } from "vitest";
import { type IPAMConfiguration, V3_API_VERSION } from "../api/v3.ts";
import type { Datastore } from "../datastore/datastore.ts";
import { openCopy } from "../datastore/embedded.ts";
import { createIpam } from "./client.ts";
import { type ConfigChanges, configViolations, DEFAULT_CONFIG, getIPAMConfig, setIPAMConfig } from "./config.ts";
import { IpamError } from "./errors.ts";

type Meddler = (store: Datastore) => Promise<unknown>;

const stores: Datastore[] = [];
afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));
const row = (spec: Record<string, unknown>): IPAMConfiguration => ({
  apiVersion: V3_API_VERSION,
  kind: "IPAMConfiguration",
  metadata: { name: "default" },
  spec,
});

/** An embedded store with one row. `meddlers` are other writers: each slips in right before one of our writes. */
async function oneRow(spec?: Record<string, unknown>, meddlers: Meddler[] = []) {
  const store = openCopy(":memory:");
  stores.push(store);
  if (spec) await store.create(row(spec));
  const writes: IPAMConfiguration[] = [];
  const write = async (object: IPAMConfiguration, put: (object: IPAMConfiguration) => Promise<IPAMConfiguration>) => {
    await meddlers.shift()?.(store);
    writes.push(object);
    return put(object);
  };
  const datastore = {
    get: store.get.bind(store),
    create: (object: IPAMConfiguration) => write(object, (it) => store.create(it)),
    update: (object: IPAMConfiguration) => write(object, (it) => store.update(it)),
  } as unknown as Datastore;
  return {
    datastore,
    writes,
    spec: async () => (await store.list("IPAMConfiguration")).items[0]?.spec,
  };
}

const deleteRow: Meddler = async (store) => store.delete(await store.get("IPAMConfiguration", "default"));

/** Another writer that changes the stored spec. */
const changing =
  (change: (spec: object) => object): Meddler =>
  async (store) => {
    const stored = await store.get("IPAMConfiguration", "default");
    await store.update({ ...stored, spec: { ...change(stored.spec) } });
  };

const rejection = async (promise: Promise<unknown>): Promise<IpamError> => {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(IpamError);
  return error;
};

describe("configViolations", () => {
  it("names every broken rule with fields, values and what to change", () => {
    const config = { ...DEFAULT_CONFIG, autoAllocateBlocks: false, maxBlocksPerHost: 2_000_000, ipCooldownSeconds: -1 };
    const violations = configViolations(config, { windowsHost: true });
    expect(violations.map(({ rule }) => rule)).toEqual([
      "AllocatesSomewhere",
      "CapNeedsStrictAffinity",
      "MaxBlocksPerHostRange",
      "IPCooldownSecondsRange",
      "WindowsNeedsStrictAffinity",
    ]);
    expect(violations[1]?.message).toBe(
      "MaxBlocksPerHost requires StrictAffinity to be enabled; set strictAffinity: true or maxBlocksPerHost: 0 " +
        "(found maxBlocksPerHost: 2000000, strictAffinity: false)",
    );
    for (const { message, value, fix } of violations) {
      expect(message).toContain(value);
      expect(message).toContain(fix);
    }
  });

  it.each([
    { maxBlocksPerHost: 1.5, strictAffinity: true },
    { maxBlocksPerHost: Number.NaN },
    { ipCooldownSeconds: 1201 },
    { ipCooldownSeconds: 0.5 },
    { kubeVirtVMAddressPersistence: "enabled" as "Enabled" },
  ])("refuses %j", (change) => {
    expect(configViolations({ ...DEFAULT_CONFIG, ...change })).toHaveLength(1);
  });

  it("keeps quiet about the bounds themselves", () => {
    const bounds = { ...DEFAULT_CONFIG, strictAffinity: true, maxBlocksPerHost: 1_000_000, ipCooldownSeconds: 1200 };
    expect(configViolations(bounds, { windowsHost: true })).toEqual([]);
  });
});

describe("getIPAMConfig", () => {
  it("gives the defaults where nothing is stored, and writes nothing (T65)", async () => {
    const one = await oneRow();
    expect(await getIPAMConfig(one.datastore)).toEqual(DEFAULT_CONFIG);
    expect(one.writes).toEqual([]);
    expect(await one.spec()).toBeUndefined();
  });

  it("takes an absent autoAllocateBlocks for true (CFG-03)", async () => {
    const { datastore } = await oneRow({ strictAffinity: true, maxBlocksPerHost: 4 });
    expect(await getIPAMConfig(datastore)).toMatchObject({ autoAllocateBlocks: true, maxBlocksPerHost: 4 });
  });

  it("rejects a stored configuration that breaks a combination rule, with set's words (CFG-04)", async () => {
    const { datastore } = await oneRow({ strictAffinity: false, maxBlocksPerHost: 4 });
    const read = await rejection(getIPAMConfig(datastore));
    const write = await rejection(setIPAMConfig(datastore, { ipCooldownSeconds: 1 }));
    expect(read.code).toBe("IPAMConfigConflict");
    expect(read.message).toContain("MaxBlocksPerHost requires StrictAffinity to be enabled");
    expect(write.details).toEqual(read.details);
  });

  it("tolerates a value out of range that v1 allows", async () => {
    const { datastore } = await oneRow({ strictAffinity: true, maxBlocksPerHost: 2_000_000 });
    expect((await getIPAMConfig(datastore)).maxBlocksPerHost).toBe(2_000_000);
  });

  it("rejects on a Windows host what is not strict, also where nothing is stored", async () => {
    const { datastore } = await oneRow();
    const error = await rejection(createIpam({ datastore, windowsHost: true }).getIPAMConfig());
    expect(error.code).toBe("StrictAffinity");
    expect(error.message).toContain("global strict affinity should not be false for Windows node");
  });
});

describe("setIPAMConfig", () => {
  it("creates with the library's defaults for the rest", async () => {
    const one = await oneRow();
    const result = await setIPAMConfig(one.datastore, { strictAffinity: true });
    expect(result).toMatchObject({ written: true, config: { ...DEFAULT_CONFIG, strictAffinity: true } });
    expect(await one.spec()).toEqual({ strictAffinity: true, autoAllocateBlocks: true });
  });

  it("writes nothing for no changes, but a missing row for default values", async () => {
    const one = await oneRow();
    expect(await setIPAMConfig(one.datastore, {})).toMatchObject({ written: false, object: undefined });
    expect(await setIPAMConfig(one.datastore, { maxBlocksPerHost: 0 })).toMatchObject({ written: true });
    expect(await one.spec()).toEqual({ strictAffinity: false, autoAllocateBlocks: true });
  });

  it("writes nothing where the values are equal", async () => {
    const one = await oneRow({ strictAffinity: true, maxBlocksPerHost: 0 });
    const same = { strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 0, ipCooldownSeconds: 0 };
    expect(await setIPAMConfig(one.datastore, same)).toMatchObject({ written: false });
    expect(one.writes).toEqual([]);
  });

  it("keeps what is not named: other fields, unknown fields, metadata", async () => {
    const one = await oneRow({ strictAffinity: true, ipCooldownSeconds: 60, fromTheFuture: { a: 1 } });
    const before = await one.datastore.get("IPAMConfiguration", "default");
    await setIPAMConfig(one.datastore, { maxBlocksPerHost: 4, autoAllocateBlocks: undefined });
    expect(one.writes[0]?.metadata).toEqual(before.metadata);
    expect(await one.spec()).toEqual({
      strictAffinity: true,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 4,
      ipCooldownSeconds: 60,
      fromTheFuture: { a: 1 },
    });
  });

  it("sets and unsets the VM address persistence", async () => {
    const one = await oneRow({ strictAffinity: true });
    await setIPAMConfig(one.datastore, { kubeVirtVMAddressPersistence: "Enabled" });
    expect(await one.spec()).toHaveProperty("kubeVirtVMAddressPersistence", "Enabled");
    expect(await setIPAMConfig(one.datastore, { kubeVirtVMAddressPersistence: null })).toMatchObject({ written: true });
    expect(await one.spec()).not.toHaveProperty("kubeVirtVMAddressPersistence");
  });

  it("refuses with every broken rule at once", async () => {
    const one = await oneRow();
    const changes: ConfigChanges = { autoAllocateBlocks: false, maxBlocksPerHost: 5, ipCooldownSeconds: 3600 };
    const error = await rejection(setIPAMConfig(one.datastore, changes));
    expect(error.code).toBe("IPAMConfigConflict");
    expect(error.details).toHaveLength(3);
    for (const detail of error.details) expect(error.message).toContain(detail);
    expect(one.writes).toEqual([]);
  });

  it("repairs a stored configuration that breaks a rule, and refuses to leave it broken", async () => {
    const one = await oneRow({ strictAffinity: false, autoAllocateBlocks: false });
    await rejection(setIPAMConfig(one.datastore, { strictAffinity: false, autoAllocateBlocks: false }));
    await setIPAMConfig(one.datastore, { autoAllocateBlocks: true });
    expect(await getIPAMConfig(one.datastore)).toMatchObject({ strictAffinity: false, autoAllocateBlocks: true });
  });

  it("refuses a value out of range, and leaves a stored one alone that is not being changed", async () => {
    const one = await oneRow({ strictAffinity: true, maxBlocksPerHost: 2_000_000 });
    await rejection(setIPAMConfig(one.datastore, { maxBlocksPerHost: 1_000_001 }));
    await setIPAMConfig(one.datastore, { ipCooldownSeconds: 60 });
    expect(await one.spec()).toMatchObject({ maxBlocksPerHost: 2_000_000, ipCooldownSeconds: 60 });
  });

  it("refuses on a Windows host to turn strict affinity off, and repairs it there", async () => {
    const one = await oneRow({ strictAffinity: true });
    const ipam = createIpam({ datastore: one.datastore, windowsHost: true });
    expect((await rejection(ipam.setIPAMConfig({ strictAffinity: false }))).code).toBe("StrictAffinity");
    await setIPAMConfig(one.datastore, { strictAffinity: false });
    expect((await ipam.setIPAMConfig({ strictAffinity: true })).config.strictAffinity).toBe(true);
  });

  it("tries a lost race again and keeps what the winner changed in another field", async () => {
    const cooldown = changing((spec) => ({ ...spec, ipCooldownSeconds: 30 }));
    const one = await oneRow({ strictAffinity: true }, [cooldown]);
    await setIPAMConfig(one.datastore, { maxBlocksPerHost: 7 });
    expect(await one.spec()).toMatchObject({ maxBlocksPerHost: 7, ipCooldownSeconds: 30 });
  });

  it("asks the rules again of what the winner left", async () => {
    const lax = changing(() => ({ strictAffinity: false }));
    const one = await oneRow({ strictAffinity: true }, [lax]);
    const error = await rejection(setIPAMConfig(one.datastore, { maxBlocksPerHost: 7 }));
    expect(error.message).toContain("MaxBlocksPerHost requires StrictAffinity to be enabled");
  });

  it("survives a row that appears before its create and one that vanishes before its update", async () => {
    const spec = { strictAffinity: true, maxBlocksPerHost: 9 };
    const created = await oneRow(undefined, [(store) => store.create(row(spec))]);
    await setIPAMConfig(created.datastore, { ipCooldownSeconds: 5 });
    expect(await created.spec()).toEqual({ ...spec, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
    const deleted = await oneRow(spec, [deleteRow]);
    await setIPAMConfig(deleted.datastore, { ipCooldownSeconds: 5 });
    expect(await deleted.spec()).toEqual({ strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5 });
  });
});

describe("input of a caller without types", () => {
  it("is refused where it names a field that does not exist", async () => {
    const { datastore, writes } = await oneRow();
    const misspelt = { strictAfinity: true } as ConfigChanges;
    await expect(setIPAMConfig(datastore, misspelt)).rejects.toMatchObject({
      code: "InvalidArgument",
      message: expect.stringMatching(/no field strictAfinity; its fields are strictAffinity,/),
    });
    expect(writes).toEqual([]);
  });

  it("is refused where a number is a text, and shows it as one", async () => {
    const { datastore } = await oneRow();
    const text = { ipCooldownSeconds: "60" } as unknown as ConfigChanges;
    await expect(setIPAMConfig(datastore, text)).rejects.toThrow(/found ipCooldownSeconds: "60"/);
  });
});
