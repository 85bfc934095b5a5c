import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { V3_API_VERSION } from "../api/v3.ts";
import type { Datastore } from "../datastore/datastore.ts";
import { openEmbedded } from "../datastore/embedded.ts";
import { createManifestSync, FILE_ANNOTATION, type SyncEvent } from "./manifest-sync.ts";

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

function setUp() {
  const events: SyncEvent[] = [];
  const { sync } = createManifestSync(datastore, (event) => events.push(event));
  const run = async (files: Record<string, string>) => {
    events.length = 0;
    await sync(new Map(Object.entries(files)));
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
    expect((await datastore.get("IPPool", "p")).metadata.annotations).toEqual({ [FILE_ANNOTATION]: "b.yaml" });
  });
});
