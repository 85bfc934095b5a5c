import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { V3_API_VERSION } from "../api/v3.ts";
import { type Datastore, DatastoreError } from "../datastore/datastore.ts";
import { openEmbedded } from "../datastore/embedded.ts";
import { openDatabase } from "../datastore/embedded-database.ts";
import { Tables } from "../datastore/embedded-tables.ts";
import type { FileContent } from "./manifest-folder.ts";
import { FILE_ANNOTATION } from "./manifest-origin.ts";
import { createManifestSync, type SyncEvent } from "./manifest-sync.ts";
import { UNNAMED_MS } from "./manifest-unnamed.ts";

const installation = (cooldown: number) => `
apiVersion: ipam-operator.io/v1alpha1
kind: Installation
metadata: {name: default, labels: {team: net}}
spec: {managementPolicy: Enforce, ipam: {ipCooldownSeconds: ${cooldown}}}
`;
const pool = `apiVersion: ${V3_API_VERSION}\nkind: IPPool\nmetadata: {name: p}\nspec: {cidr: 10.0.0.0/16}\n`;

let datastore: Datastore;
beforeEach(() => {
  datastore = openEmbedded(":memory:");
});
afterEach(() => datastore.close());

function setUp(folder = "m") {
  const events: SyncEvent[] = [];
  let time = 0;
  const { sync } = createManifestSync({ datastore, folder, tell: (event) => events.push(event), now: () => time });
  /** One pass, and one more when it has been so for long enough. */
  const run = async (files: Record<string, FileContent>, { settle = true } = {}) => {
    events.length = 0;
    await sync(new Map(Object.entries(files)));
    time += UNNAMED_MS;
    if (settle) await sync(new Map(Object.entries(files)));
    return events.map((event) => ("kind" in event ? `${event.type} ${event.kind} ${event.name}` : event.type));
  };
  return { run, events };
}
const cooldown = async () => (await datastore.get("Installation", "default")).spec.ipam?.ipCooldownSeconds;
const names = async () => (await datastore.list("IPPool")).items.map(({ metadata }) => metadata.name);

describe("the store follows the files", () => {
  test("creates, changes and deletes, and says each once", async () => {
    const { run } = setUp();
    expect(await run({ "a.yaml": installation(1), "b.yaml": pool })).toEqual([
      "created Installation default",
      "created IPPool p",
    ]);
    expect(await run({ "a.yaml": installation(1), "b.yaml": pool })).toEqual([]);
    expect(await run({ "a.yaml": installation(2), "b.yaml": pool })).toEqual(["changed Installation default"]);
    expect(await cooldown()).toBe(2);
    expect(await run({ "a.yaml": installation(2) })).toEqual(["deleted IPPool p"]);
    expect(await names()).toEqual([]);
  });

  test("another spelling of the same pool, and defaults spelt out, change nothing", async () => {
    const { run, events } = setUp();
    const written = (spec: string) =>
      `apiVersion: ${V3_API_VERSION}\nkind: IPPool\nmetadata: {name: p}\nspec: ${spec}\n`;
    await run({ "p.yaml": written('{cidr: "2001:db8::/64"}') });
    const before = await datastore.get("IPPool", "p");
    const spelt =
      '{cidr: "2001:DB8:0::0/64", blockSize: 122, vxlanMode: Never, natOutgoing: false, nodeSelector: all(), allowedUses: [Tunnel, Workload]}';
    expect(await run({ "p.yaml": written(spelt) })).toEqual([]);
    expect(await datastore.get("IPPool", "p")).toEqual(before);
    expect(await run({ "p.yaml": written('{cidr: "2001:DB8:0::0/64", natOutgoing: true}') })).toEqual([
      "changed IPPool p",
    ]);
    expect(events).toMatchObject([{ changes: "natOutgoing false becomes true" }]);
    expect((await datastore.get("IPPool", "p")).spec).toMatchObject({ cidr: "2001:db8::/64", natOutgoing: true });
  });

  test("manifests in the form of crd.projectcalico.org/v1 are kept in the form of v3", async () => {
    const { run } = setUp();
    const v1 = (kind: string, name: string, spec: string) =>
      `apiVersion: crd.projectcalico.org/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
    const files = {
      "c.yaml": v1("IPAMConfig", "default", "{strictAffinity: true, autoAllocateBlocks: true}"),
      "p.yaml": v1("IPPool", "p", "{cidr: 10.0.0.0/16, ipipMode: Never}"),
    };
    expect(await run(files)).toEqual(["created IPAMConfiguration default", "created IPPool p"]);
    expect(await datastore.get("IPAMConfiguration", "default")).toMatchObject({
      apiVersion: V3_API_VERSION,
      kind: "IPAMConfiguration",
      spec: { strictAffinity: true },
    });
    expect(await run({ ...files, "c.yaml": v1("IPAMConfig", "default", "{strictAffinity: true}") })).toEqual([
      "refused",
    ]);
  });

  test("keeps what others wrote into the object: status and uid", async () => {
    const { run } = setUp();
    await run({ "a.yaml": installation(1) });
    const stored = await datastore.get("Installation", "default");
    await datastore.updateStatus({ ...stored, status: { lastDrift: "x" } });
    await run({ "a.yaml": installation(2) });
    const after = await datastore.get("Installation", "default");
    expect(after).toMatchObject({ status: { lastDrift: "x" }, spec: { ipam: { ipCooldownSeconds: 2 } } });
    expect(after.metadata).toMatchObject({ uid: stored.metadata.uid, labels: { team: "net" }, generation: 2 });
  });

  test("a refused file keeps its last good objects, and says the rule and the line", async () => {
    const { run, events } = setUp();
    await run({ "a.yaml": installation(1) });
    expect(await run({ "a.yaml": installation(5000) })).toEqual(["refused"]);
    expect(events).toMatchObject([{ file: "a.yaml", problems: [{ line: 5 }] }]);
    expect(await cooldown()).toBe(1);
    expect(await run({ "a.yaml": installation(3) })).toEqual(["changed Installation default"]);
  });

  test("a file that is put right again is told as accepted, once, where nothing else tells it", async () => {
    const { run } = setUp();
    await run({ "a.yaml": installation(1) });
    await run({ "a.yaml": installation(5000) });
    expect(await run({ "a.yaml": installation(1) })).toEqual(["accepted"]);
    expect(await run({ "a.yaml": `${installation(1)}# a comment` })).toEqual([]);
    expect(await run({ "a.yaml": installation(1), "b.yaml": "kind: [" })).toEqual(["refused"]);
    expect(await run({ "a.yaml": installation(1), "b.yaml": pool })).toEqual(["created IPPool p"]);
  });

  test("leaves an object alone that another writer changed, until its file changes", async () => {
    const { run } = setUp();
    await run({ "a.yaml": installation(1) });
    const stored = await datastore.get("Installation", "default");
    await datastore.update({ ...stored, spec: { managementPolicy: "Paused" } });
    expect(await run({ "a.yaml": installation(1) })).toEqual([]);
    expect(await run({ "a.yaml": installation(2) })).toEqual(["changed Installation default"]);
  });

  test("a file deleted while nothing ran takes its objects with it, others stay", async () => {
    await setUp().run({ "a.yaml": installation(1), "b.yaml": pool });
    await datastore.create({
      apiVersion: V3_API_VERSION,
      kind: "IPPool",
      metadata: { name: "own" },
      spec: { cidr: "10.1.0.0/16" },
    });
    expect(await setUp().run({ "a.yaml": installation(1) })).toEqual(["deleted IPPool p"]);
    expect(await names()).toEqual(["own"]);
  });

  test("a file that is broken at the start keeps what it brought before", async () => {
    await setUp().run({ "b.yaml": pool });
    expect(await setUp().run({ "b.yaml": "nonsense: [" })).toEqual(["refused"]);
    expect(await names()).toEqual(["p"]);
  });

  test("one object in two files is refused in the second", async () => {
    const { run, events } = setUp();
    expect(await run({ "a.yaml": installation(1), "b.yaml": installation(2) })).toEqual([
      "refused",
      "created Installation default",
    ]);
    expect(events[0]).toMatchObject({
      file: "b.yaml",
      problems: [{ message: expect.stringContaining("also in a.yaml") }],
    });
    expect(await cooldown()).toBe(1);
  });

  test("an object knows its file", async () => {
    await setUp().run({ "b.yaml": pool });
    expect((await datastore.get("IPPool", "p")).metadata.annotations).toEqual({ [FILE_ANNOTATION]: "m/b.yaml" });
  });

  test("a renamed file keeps its object, and a duplicate is taken in once the first is gone", async () => {
    const { run } = setUp();
    await run({ "a.yaml": installation(1) });
    const { uid } = (await datastore.get("Installation", "default")).metadata;
    expect(await run({ "b.yaml": installation(1) })).toEqual(["changed Installation default"]);
    expect(await run({ "a.yaml": installation(2), "b.yaml": installation(1) })).toEqual(["refused"]);
    expect(await run({ "a.yaml": installation(2) })).toEqual(["changed Installation default"]);
    expect((await datastore.get("Installation", "default")).metadata.uid).toBe(uid);
    expect(await cooldown()).toBe(2);
  });

  test("one object twice in one file is refused, naming both lines", async () => {
    const { run, events } = setUp();
    expect(await run({ "a.yaml": `${installation(1)}---${installation(2)}` })).toEqual(["refused"]);
    expect(events).toMatchObject([{ problems: [{ line: 8, message: expect.stringContaining("at line 3 of this") }] }]);
  });

  test("a bad file holds no other back, and is named", async () => {
    const { run, events } = setUp();
    expect(await run({ "a.yaml": "a: *nope\n", "z.yaml": installation(1) })).toEqual([
      "refused",
      "created Installation default",
    ]);
    expect(events[0]).toMatchObject({ file: "a.yaml" });
  });

  test("what the store could not take is tried again in the next pass", async () => {
    const { run } = setUp();
    await run({ "a.yaml": installation(1) });
    const locked = new DatastoreError("Unavailable", "", "s.db", "the store is locked");
    const fault = vi.spyOn(datastore, "update").mockRejectedValueOnce(locked);
    await expect(run({ "a.yaml": installation(2) })).rejects.toThrow("locked");
    fault.mockRestore();
    expect(await run({ "a.yaml": installation(2) })).toEqual(["changed Installation default"]);
  });

  test("a broken file holds what it brought: a second file with the same object waits until the first is gone", async () => {
    const { run } = setUp();
    await run({ "a.yaml": installation(1) });
    expect(await run({ "a.yaml": "a: [", "b.yaml": installation(2) })).toEqual(["refused", "refused"]);
    expect(await cooldown()).toBe(1);
    expect(await run({ "b.yaml": installation(2) })).toEqual(["changed Installation default"]);
  });

  test("an unreadable file keeps its objects, and says why once", async () => {
    const { run } = setUp();
    await run({ "a.yaml": installation(1) });
    expect(await run({ "a.yaml": { unreadable: "permissions" } })).toEqual(["refused"]);
    expect(await cooldown()).toBe(1);
  });

  test.each([{ "a.yaml": "# saving\n" }, {}])(
    "a file empty or gone for a moment, %j, deletes nothing",
    async (files) => {
      const { run } = setUp();
      await run({ "a.yaml": installation(1) });
      expect(await run(files as Record<string, string>, { settle: false })).toEqual([]);
      expect(await run({ "a.yaml": installation(1) })).toEqual([]);
      expect(await run(files as Record<string, string>)).toEqual(["deleted Installation default"]);
    },
  );

  test("an object that another program made unreadable is written anew from its good file, with a running sync too", async () => {
    const folder = await mkdtemp(join(tmpdir(), "ipam-manifests-"));
    const path = join(folder, "ipam.db");
    await datastore.close();
    datastore = openEmbedded(path);
    const { run } = setUp();
    await run({ "a.yaml": installation(1), "b.yaml": pool });
    const other = openDatabase(path);
    const tables = new Tables(other, 100);
    for (const [kind, name] of [
      ["Installation", "default"],
      ["IPPool", "p"],
    ] as const)
      tables.put("MODIFIED", kind, { ...tables.row(kind, name)!, json: "{}" });
    other.close();
    const files = { "a.yaml": installation(1), "b.yaml": pool };
    expect(await run(files)).toEqual(["mended Installation default", "mended IPPool p"]);
    expect([await cooldown(), await names()]).toEqual([1, ["p"]]);
    expect(await run(files)).toEqual([]);
    await rm(folder, { recursive: true });
  });

  test("another folder's objects are left alone", async () => {
    await setUp("one").run({ "a.yaml": installation(1) });
    expect(await setUp("two").run({})).toEqual([]);
    expect(await cooldown()).toBe(1);
    expect(await setUp("two").run({ "a.yaml": installation(2) })).toEqual(["changed Installation default"]);
    expect(await setUp("one").run({})).toEqual([]);
    expect(await cooldown()).toBe(2);
  });
});
