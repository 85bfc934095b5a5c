/**
 * Replays what the reference did with its configuration (test/golden/ipamconfig.*.json): the same configurations through
 * setIPAMConfig and getIPAMConfig, the stored spec compared field by field. Where the product departs on purpose, the
 * numbered difference is named: 1 get rejects a broken configuration and set repairs it; 28 Windows is an error, in set
 * as well; 30 equal values write nothing; 31 the bounds are 1000000 and 1200 everywhere, and no number wraps around.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { IPAMConfigurationSpec } from "../../src/api/v3.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { type ConfigChanges, type ConfigOptions, getIPAMConfig, setIPAMConfig } from "../../src/ipam/config.ts";

interface GoConfig {
  readonly StrictAffinity: boolean;
  readonly AutoAllocateBlocks: boolean;
  readonly MaxBlocksPerHost: number;
  readonly ipCooldownSeconds?: number;
  readonly KubeVirtVMAddressPersistence?: string | null;
}
interface GoError {
  readonly type: string;
  readonly message: string;
}
interface Verdict {
  readonly ok: boolean;
  readonly error: GoError | null;
}
interface Golden {
  readonly table: readonly {
    readonly config: GoConfig;
    readonly accepted: boolean;
    readonly error: GoError | null;
    readonly stored: IPAMConfigurationSpec | null;
    readonly get: GoConfig;
    readonly setAgain: Verdict;
  }[];
  readonly transitions: readonly {
    readonly from: GoConfig;
    readonly to: GoConfig;
    readonly accepted: boolean;
    readonly error: GoError | null;
    readonly stored: IPAMConfigurationSpec;
  }[];
  readonly storedInvalid: readonly {
    readonly written: Record<string, unknown>;
    readonly apiserverStatus: number;
    readonly storedSpec: IPAMConfigurationSpec | null;
    readonly get: GoConfig;
    readonly setSameBack: Verdict;
  }[];
  readonly windows: Readonly<Record<string, Verdict>>;
  readonly otherName: { readonly get: GoConfig };
}

/** What the replay needs of a backend. */
export interface ReplayTarget {
  readonly datastore: () => Datastore;
  /** Removes every configuration. */
  readonly clear: () => Promise<void>;
  /** Writes past the library, as a user's kubectl does; false where it is refused. */
  readonly write: (name: string, spec: Record<string, unknown>) => Promise<boolean>;
  /** The stored spec of `default` as it lies there, undefined where there is none. */
  readonly stored: () => Promise<unknown>;
  /** Whether the backend checks single fields as the CRDs do. */
  readonly checksFields: boolean;
}

const changesOf = (config: GoConfig): ConfigChanges => ({
  strictAffinity: config.StrictAffinity,
  autoAllocateBlocks: config.AutoAllocateBlocks,
  maxBlocksPerHost: config.MaxBlocksPerHost,
  ipCooldownSeconds: config.ipCooldownSeconds ?? 0,
  kubeVirtVMAddressPersistence: (config.KubeVirtVMAddressPersistence ?? null) as "Enabled" | null,
});
/** An unset persistence means Enabled. */
const readOf = (config: GoConfig) => ({
  ...changesOf(config),
  kubeVirtVMAddressPersistence: config.KubeVirtVMAddressPersistence ?? "Enabled",
});
const beyondBounds = (config: GoConfig) =>
  config.MaxBlocksPerHost > 1_000_000 || (config.ipCooldownSeconds ?? 0) > 1200;
const breaksCombination = (config: GoConfig) =>
  !config.StrictAffinity && (!config.AutoAllocateBlocks || config.MaxBlocksPerHost > 0);

/** The library's own texts to the letter; where the API server refused, the field. */
const texts = ({ type, message }: GoError) =>
  type === "*errors.errorString" ? [message] : [...message.matchAll(/spec\.(\w+): /g)].map(([, field]) => field);

async function expectRefusal(call: Promise<unknown>, error: GoError | null, code = "IPAMConfigConflict") {
  const reason = await call.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(reason).toMatchObject({ name: "IpamError", code });
  for (const text of error ? texts(error) : []) expect(reason.message).toContain(text);
}

/** Registers the replay of one recording against `target`. */
export function replayConfigurations(generation: "v1" | "v3", target: ReplayTarget): void {
  const path = join(import.meta.dirname, `../golden/ipamconfig.${generation}.json`);
  const golden: Golden = JSON.parse(readFileSync(path, "utf8"));
  const set = (config: GoConfig, options?: ConfigOptions) =>
    setIPAMConfig(target.datastore(), changesOf(config), options);
  const get = (options?: ConfigOptions) => getIPAMConfig(target.datastore(), options);
  beforeEach(target.clear);

  it.each(golden.table)("table: $config", async ({ config, accepted, error, stored, ...after }) => {
    if (!accepted || beyondBounds(config)) {
      await expectRefusal(set(config), accepted ? null : error); // accepted by the reference: 31
      expect(await target.stored()).toBeUndefined();
      return;
    }
    expect((await set(config)).written).toBe(true);
    expect(await target.stored()).toEqual(stored);
    expect(await get()).toEqual(readOf(after.get));
    expect(after.setAgain.ok).toBe(true);
    expect((await set(config)).written).toBe(false); // 30
  });

  it.each(golden.transitions)("transition: $from to $to", async ({ from, to, accepted, error, stored }) => {
    await set(from);
    if (accepted) await set(to);
    else await expectRefusal(set(to), error);
    expect(await target.stored()).toEqual(stored);
  });

  const direct = golden.storedInvalid.filter(({ apiserverStatus }) => target.checksFields || apiserverStatus === 201);
  it.each(direct)("written directly: $written", async ({ written, apiserverStatus, storedSpec, ...reference }) => {
    expect(await target.write("default", written)).toBe(apiserverStatus === 201);
    expect(await target.stored()).toEqual(storedSpec ?? undefined);
    expect(reference.setSameBack.ok).toBe(true);
    if (breaksCombination(reference.get)) {
      await expectRefusal(get(), null); // 1
      await expectRefusal(set(reference.get), null);
      await setIPAMConfig(target.datastore(), { strictAffinity: true });
      expect(await get()).toEqual({ ...readOf(reference.get), strictAffinity: true });
    } else {
      expect(await get()).toEqual(readOf(reference.get));
      expect((await set(reference.get)).written).toBe(storedSpec === null);
    }
  });

  describe("on a Windows host", () => {
    const windows = { windowsHost: true };
    const strict = golden.table[3]!.config;
    const lax = golden.table[0]!.config;
    const recorded = (name: string) => golden.windows[name]!;

    it("get rejects what is not strict, stored or not", async () => {
      await expectRefusal(get(windows), recorded("get on windows, nothing stored").error, "StrictAffinity");
      await set(lax);
      await expectRefusal(get(windows), recorded("get on windows, stored not strict").error, "StrictAffinity");
    });

    it("set repairs what is not strict, which the reference's rejecting read prevented (1)", async () => {
      expect(recorded("set(strict) on windows, stored not strict").ok).toBe(false);
      await set(lax);
      expect((await set(strict, windows)).config.strictAffinity).toBe(true);
    });

    it("set refuses to turn it off, which the reference let pass (28)", async () => {
      expect(recorded("set(not strict) on windows, stored strict").ok).toBe(true);
      await set(strict);
      await expectRefusal(set(lax, windows), null, "StrictAffinity");
    });
  });

  it("only the object named default counts", async () => {
    await target.write("other", { strictAffinity: true, autoAllocateBlocks: true });
    expect(await get()).toEqual(readOf(golden.otherName.get));
  });

  it("an allocated block is no reason to refuse", async () => {
    const spec = {
      cidr: "10.0.0.0/30",
      allocations: [0],
      unallocated: [1, 2, 3],
      attributes: [{}],
      strictAffinity: false,
    };
    const metadata = { name: "10-0-0-0-30" };
    await target.datastore().create({ apiVersion: "projectcalico.org/v3", kind: "IPAMBlock", metadata, spec });
    expect((await setIPAMConfig(target.datastore(), { strictAffinity: true, maxBlocksPerHost: 1 })).written).toBe(true);
  });
}
