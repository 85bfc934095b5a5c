/** TRY-27, the doors without a server: the embedded store, the manifests folder and `ipamctl plan` refuse in the table's words. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isDatastoreError, type Kind, type Stored } from "../../src/datastore/datastore.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { parseManifests } from "../../src/operator/manifests.ts";
import { ipamctl, scratchFile } from "../cli/ipamctl.ts";
import { sound } from "../cli/sound.ts";
import { putRows } from "../support/stored-rows.ts";
import { CREATES, EDITS, type EditCase, nameOf, objectOf, type WrittenCase, words } from "./refusals.ts";

let folder: string;
/** A store with the object of each edit, as an older version wrote it. */
let path: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "refusals-"));
  path = join(folder, "older.db");
  await putRows(
    path,
    ...EDITS.map((edit) => objectOf({ ...edit, spec: edit.stored, metadata: { name: oldName(edit) } })),
  );
});
afterAll(() => rm(folder, { recursive: true }));

const oldName = (edit: EditCase) => `old-${EDITS.indexOf(edit)}`;

/** The words that a write was refused with; nothing where it was taken. */
async function wordsOf(write: () => Promise<unknown>, expected: readonly string[]): Promise<readonly string[]> {
  try {
    await write();
    return [];
  } catch (error) {
    if (!isDatastoreError(error, "Invalid")) throw error;
    const rest = expected.reduce((text, one) => text.replace(one, () => ""), error.message);
    return /^\w+ "[^"]*" is invalid: (; )*$/.test(rest) ? expected : [error.message];
  }
}

describe("the embedded store", () => {
  it.each(CREATES.map((one) => [nameOf(one), one] as const))("refuses %s", async (name, written) => {
    const store = openEmbedded(":memory:");
    const object = objectOf(written) as unknown as Stored<Kind>;
    expect(await wordsOf(() => store.create(object), words[name]!)).toEqual(words[name]);
    await store.close();
  });

  it.each(EDITS.map((one) => [nameOf(one), one] as const))("judges %s of an older object", async (name, edit) => {
    const store = openEmbedded(path);
    const { items, malformed } = await store.list("IPPool");
    const stored = items.find(({ metadata }) => metadata.name === oldName(edit))?.metadata;
    const { resourceVersion } = stored ?? malformed.find((row) => row.name === oldName(edit))!;
    const next = { ...objectOf(edit), metadata: { name: oldName(edit), labels: { edited: "yes" }, resourceVersion } };
    expect(await wordsOf(() => store.update(next as unknown as Stored<"IPPool">), words[name]!)).toEqual(words[name]);
    await store.close();
  });
});

/** The words of an explanation; advice may follow each. */
function explains(said: readonly string[], expected: readonly string[]): void {
  expect(said.map((one) => expected.find((words) => one.startsWith(words)) ?? one).sort()).toEqual(expected);
}

/** What can be read of what is stored is compared with; a manifest takes the place of all else. */
const READABLE = EDITS.filter(({ stored }) => stored["cidr"] !== undefined);
const storedOf = (edit: EditCase) => objectOf({ ...edit, spec: edit.stored }) as unknown as Stored<"IPPool">;
const wordsForManifest = (edit: EditCase) => (edit.saysTheSame ? [] : words[nameOf(edit)]!);

describe("the manifests folder", () => {
  const saidOf = (written: WrittenCase, stored?: Stored<"IPPool">) =>
    parseManifests(JSON.stringify(objectOf(written)), () => stored).problems.map(({ message }) => message);

  it.each(CREATES.map((one) => [nameOf(one), one] as const))("refuses %s", (name, written) => {
    explains(saidOf(written), words[name]!);
  });

  it.each(READABLE.map((one) => [nameOf(one), one] as const))("judges %s of an older object", (_, edit) => {
    explains(saidOf(edit, storedOf(edit)), wordsForManifest(edit));
  });
});

describe("ipamctl plan", () => {
  const planned = async (written: WrittenCase, pools: readonly Stored<"IPPool">[]) => {
    const file = scratchFile("proposal.json");
    await writeFile(file, JSON.stringify(objectOf(written)));
    return ipamctl(["plan", "-f", file, "--nodes", "1", "--pods-per-node", "1"], { snapshot: { ...sound, pools } });
  };

  it.each(CREATES.map((one) => [nameOf(one), one] as const))("refuses %s", async (name, written) => {
    const { code, stderr } = await planned(written, []);
    expect([code, words[name]!.filter((one) => !stderr.includes(one))]).toEqual([1, []]);
  });

  // A pool whose range cannot be read is no part of a snapshot.
  const withRange = READABLE.filter(({ stored }) => stored["cidr"] !== "garbage");
  it.each(withRange.map((one) => [nameOf(one), one] as const))("judges %s of an older object", async (_, edit) => {
    const expected = wordsForManifest(edit);
    const { stderr } = await planned(edit, [storedOf(edit)]);
    expect(expected.filter((one) => !stderr.includes(one))).toEqual([]);
    if (expected.length === 0) expect(stderr).not.toContain("proposal.json");
  });
});
