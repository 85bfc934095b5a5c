/** The table of configurations through the library's two doors, on the embedded store. */
import { afterEach, describe, expect, it } from "vitest";
import { type IPAMConfiguration, V3_API_VERSION } from "../../src/api/v3.ts";
import { type Datastore, isDatastoreError } from "../../src/datastore/datastore.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { type ConfigChanges, effectiveConfig, getIPAMConfig, setIPAMConfig } from "../../src/ipam/config.ts";
import { IpamError } from "../../src/ipam/errors.ts";
import { CONFIG_CASES, isCombination, wordsOf } from "./config-cases.ts";

const stores: Datastore[] = [];
const open = () => {
  const store = openEmbedded(":memory:");
  stores.push(store);
  return store;
};
afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));

/** What the library objects to, a sentence for each broken rule. */
const objections = async (call: Promise<unknown>): Promise<readonly string[]> => {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  );
  if (error === undefined) return [];
  expect(error).toBeInstanceOf(IpamError);
  expect(error.code).toBe("IPAMConfigConflict");
  return error.details;
};

describe.each(CONFIG_CASES)("$name", ({ spec, breaks }) => {
  it("set refuses exactly the broken rules, and stores what breaks none", async () => {
    const store = open();
    const said = await objections(setIPAMConfig(store, spec as ConfigChanges));
    expect(said).toEqual(breaks.map((name) => expect.stringContaining(wordsOf(name))));
    const { items } = await store.list("IPAMConfiguration");
    expect(items).toHaveLength(breaks.length === 0 && Object.keys(spec).length > 0 ? 1 : 0);
    if (breaks.length === 0) expect(await getIPAMConfig(store)).toEqual(effectiveConfig(spec));
  });

  it("get rejects what is stored where a rule between fields is broken, in the same words", async () => {
    const store = open();
    const metadata = { name: "default" };
    const object: IPAMConfiguration = {
      apiVersion: V3_API_VERSION,
      kind: "IPAMConfiguration",
      metadata,
      spec: { ...spec },
    };
    const refused = await store.create(object).then(
      () => undefined,
      (error) => error,
    );
    const said = await objections(getIPAMConfig(store));
    if (refused) {
      // What is no whole number or none of the words cannot be stored at all.
      expect(isDatastoreError(refused, "Invalid")).toBe(true);
      expect(breaks.some((name) => !isCombination(name))).toBe(true);
      expect(said).toEqual([]);
    } else {
      expect(said).toEqual(breaks.filter(isCombination).map((name) => expect.stringContaining(wordsOf(name))));
    }
  });
});
