/** The embedded store: the contract in memory and in a file, and what only a file has. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { printJson } from "../kube/json.ts";
import { collect } from "./contract/collect.ts";
import { describeDatastoreContract } from "./contract/contract.ts";
import { blockOf, configurationOf, handleOf, installationOf, MALFORMED } from "./contract/objects.ts";
import type { Datastore, Malformed } from "./datastore.ts";
import { openEmbedded } from "./embedded.ts";
import { explained, openDatabase } from "./embedded-database.ts";
import { Tables } from "./embedded-tables.ts";
import { marked } from "./rows.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "ipam-store-"));
  path = join(dir, "new", "ipam.db");
  mkdirSync(join(dir, "new"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Writes a row as another program would: past the store's checks. */
function putRow(name: string, spec: object): void {
  const database = openDatabase(path);
  const json = printJson({
    apiVersion: "projectcalico.org/v3",
    kind: "IPAMHandle",
    metadata: { name, uid: "u" },
    spec,
  });
  new Tables(database, 100).put("ADDED", "IPAMHandle", { name, uid: "u", json });
  database.close();
}

function opened(where: string) {
  const datastore = openEmbedded(where);
  return { datastore, close: () => datastore.close(), putMalformed: async (name: string) => putRow(name, MALFORMED) };
}

describeDatastoreContract("embedded, in a file", async () => opened(path));

describe("an Installation that another program made unreadable", () => {
  const spoil = (json: (stored: string) => string) => {
    const database = openDatabase(path);
    const tables = new Tables(database, 100);
    const row = tables.row("Installation", "default")!;
    tables.put("MODIFIED", "Installation", { ...row, json: json(row.json) });
    database.close();
  };
  const badSpec = (stored: string) => stored.replace('"managementPolicy":"Enforce"', '"managementPolicy":"Enfroce"');
  const badStatus = (stored: string) => stored.replace('"lastDrift":"x"', '"lastDrift":7');

  test.each([
    ["with a wrong spec", badSpec, { lastDrift: "x" }, 2],
    ["with a wrong status", badStatus, undefined, 1],
    ["as no JSON", () => "{", undefined, 1],
    ["without metadata", () => "{}", undefined, 1],
  ])(
    "%s is mended by an update at its revision, and keeps what of it is good",
    async (_, change, status, generation) => {
      const datastore = openEmbedded(path);
      const created = await datastore.create(installationOf());
      await datastore.updateStatus({ ...created, status: { lastDrift: "x" } });
      spoil(change);
      const [{ resourceVersion = "" } = {}] = (await datastore.list("Installation")).malformed;
      const there = { ...installationOf(), metadata: { name: "default", resourceVersion } };
      await expect(datastore.updateStatus({ ...there, status: {} })).rejects.toMatchObject({ code: "Invalid" });
      const mended = await datastore.update(there);
      expect(mended.metadata).toMatchObject({ uid: created.metadata.uid, generation });
      expect([mended.spec, mended.status]).toEqual([created.spec, status]);
      expect((await datastore.list("Installation")).malformed).toEqual([]);
      await datastore.close();
    },
  );
});

describe("a store in memory", () => {
  test("is empty, works, watches, and is gone when closed", async () => {
    const datastore = openEmbedded(":memory:", { clock: () => new Date("2026-01-02T03:04:05.678Z") });
    const watch = collect(datastore, "IPAMConfiguration");
    const created = await datastore.create(configurationOf());
    expect(created.metadata.creationTimestamp).toBe("2026-01-02T03:04:05Z");
    await datastore.delete(created);
    expect(await watch.until(2)).toEqual(["Added default", "Deleted default"]);
    await watch.stop();
    await datastore.close();
    const again = openEmbedded(":memory:");
    expect((await again.list("IPAMConfiguration")).items).toEqual([]);
    await again.close();
  });
});

describe("a file", () => {
  test("keeps objects and revisions from one opening to the next", async () => {
    const first = openEmbedded(path);
    const block = await first.create(blockOf("10.0.0.0/30"));
    const handle = await first.create(handleOf("a"));
    await first.delete(handle);
    await first.close();
    const second = openEmbedded(path);
    expect(await second.get("IPAMBlock", "10-0-0-0-30")).toEqual(block);
    const next = await second.create(handleOf("a"));
    expect(Number(next.metadata.resourceVersion)).toBe(Number(handle.metadata.resourceVersion) + 2);
    await second.close();
  });

  test("shows one store's writes to a watch of another", async () => {
    const [mine, other] = [openEmbedded(path), openEmbedded(path)];
    const watch = collect(mine, "IPAMHandle");
    const created = await other.create(handleOf("a"));
    await watch.until(1);
    await other.delete(created);
    expect(await watch.until(2)).toEqual(["Added a", "Deleted a"]);
    await watch.stop();
    await Promise.all([mine.close(), other.close()]);
  });

  test("reports to its watcher what it cannot read", async () => {
    const malformed: string[] = [];
    const datastore = openEmbedded(path);
    const onMalformed = ({ name, reason }: Malformed) => malformed.push(`${name}: ${reason}`);
    const watch = collect(datastore, "IPAMHandle", { onMalformed });
    putRow("broken", MALFORMED);
    await datastore.create(handleOf("a"));
    await watch.until(1);
    expect(malformed).toEqual([expect.stringMatching(/^broken: IPAMHandle "broken" is stored malformed: spec\.block/)]);
    await watch.stop();
    await datastore.close();
  });
});

describe("the history of changes", () => {
  const fill = async (datastore: Datastore, count: number) => {
    for (let i = 0; i < count; i++) await datastore.create(handleOf(`h${i}`));
  };

  test("a watch from a revision that is no longer kept is Expired, and says what to do", async () => {
    const datastore = openEmbedded(path, { history: 5 });
    const { revision } = await datastore.list("IPAMHandle");
    await fill(datastore, 6);
    await expect(collect(datastore, "IPAMHandle", { revision }).until(1)).rejects.toMatchObject({
      code: "Expired",
      message: expect.stringContaining("list again"),
    });
    await expect(collect(datastore, "IPAMHandle", { revision: "1000" }).until(1)).rejects.toMatchObject({
      code: "Expired",
    });
    const reachable = collect(datastore, "IPAMHandle", { revision: "1" });
    expect(await reachable.until(5)).toEqual(["h1", "h2", "h3", "h4", "h5"].map((name) => `Added ${name}`));
    await reachable.stop();
    await datastore.close();
  });

  test("a watch of everything that fell behind catches up by listing: what went is Deleted, what stays is not repeated", async () => {
    const datastore = openEmbedded(path, { history: 3 });
    const signal = new AbortController();
    const gone = await datastore.create(handleOf("gone"));
    await datastore.create(handleOf("stays"));
    const watch = datastore.watch("IPAMHandle", { signal: signal.signal })[Symbol.asyncIterator]();
    const take = async (count: number) => {
      const events: string[] = [];
      while (events.length < count) {
        const { value } = await watch.next();
        events.push(`${value.type} ${value.object.metadata.name}`);
      }
      return events;
    };
    expect(await take(2)).toEqual(["Added gone", "Added stays"]);
    await datastore.delete(gone);
    await fill(datastore, 4);
    expect(await take(5)).toEqual(["Deleted gone", "Added h0", "Added h1", "Added h2", "Added h3"]);
    signal.abort();
    await datastore.close();
  });

  test("writes of other kinds do not make an idle watch expire", async () => {
    const datastore = openEmbedded(path, { history: 3 });
    const { revision } = await datastore.list("Installation");
    const watch = collect(datastore, "Installation", { revision });
    for (let i = 0; i < 9; i++) {
      await datastore.create(handleOf(`h${i}`));
      await new Promise(setImmediate);
    }
    await datastore.create(installationOf());
    expect(await watch.until(1)).toEqual(["Added default"]);
    await watch.stop();
    await datastore.close();
  });
});

describe("a file that is no store of ours", () => {
  const opening = () => {
    try {
      openEmbedded(path);
    } catch (error) {
      return error;
    }
    throw new Error("it was opened");
  };
  const sql = (text: string) => {
    const database = openDatabase(path);
    database.exec(text);
    database.close();
  };

  test("TRY-27: in a folder that does not exist, which is not made", () => {
    const folder = join(dir, "nonexist");
    expect(() => openEmbedded(join(folder, "x.db"))).toThrow(
      `the store ${join(folder, "x.db")} has no folder: ${folder} does not exist. Correct the path, or create the folder`,
    );
    expect(existsSync(folder)).toBe(false);
  });

  test("a text file", () => {
    writeFileSync(path, "kind: Installation\n".repeat(100));
    expect(opening()).toMatchObject({ code: "Invalid", message: expect.stringContaining("is not a database") });
  });

  test("another program's database, which is left as it is", () => {
    sql("PRAGMA application_id = 7");
    expect(opening()).toMatchObject({ code: "Invalid", message: expect.stringContaining("another program's") });
  });

  test("a store of a newer version", () => {
    sql("PRAGMA user_version = 99");
    expect(opening()).toMatchObject({ code: "Invalid", message: expect.stringMatching(/format 99.*knows format 1/) });
  });

  test("a folder", () => {
    mkdirSync(path);
    expect(opening()).toMatchObject({
      code: "Unauthorized",
      message: expect.stringContaining("check that it is a file"),
    });
  });

  test("a folder in a file's place", () => {
    rmSync(join(dir, "new"), { recursive: true });
    writeFileSync(join(dir, "new"), "");
    expect(opening()).toMatchObject({ name: "DatastoreError", message: expect.stringContaining(path) });
  });

  test.each([
    [8, "Unauthorized", "may not be written"],
    [11, "Invalid", "is damaged"],
    [13, "Unavailable", "disk is full"],
  ])("SQLite's error %i is %s: %s", (errcode, code, words) => {
    const failing = () => {
      throw Object.assign(new Error("from SQLite"), { code: "ERR_SQLITE_ERROR", errcode });
    };
    expect(() => explained(path, failing)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(`ipam.db ${words}|ipam.db.*${words}`) }),
    );
  });

  test("a store that another process keeps locked", { timeout: 20_000 }, async () => {
    const datastore = openEmbedded(path);
    const holder = openDatabase(path);
    holder.exec("BEGIN IMMEDIATE");
    await expect(datastore.create(handleOf("a"))).rejects.toMatchObject({
      code: "Unavailable",
      message: expect.stringContaining("locked by another process"),
    });
    holder.exec("ROLLBACK");
    holder.close();
    await datastore.create(handleOf("a"));
    await datastore.close();
  });

  test("a store that was closed", async () => {
    const datastore = openEmbedded(path);
    await datastore.close();
    await datastore.close();
    await expect(datastore.list("IPPool")).rejects.toMatchObject({
      code: "Unavailable",
      message: expect.stringContaining("closed"),
    });
  });
});

test("gives an owner's blocks without a list, past what cannot be read or is marked", async () => {
  const datastore = openEmbedded(path);
  const [block] = [await datastore.create(blockOf("10.0.0.0/30")), await datastore.create(blockOf("10.0.0.4/30"))];
  const gone = await datastore.create(blockOf("10.0.0.8/30"));
  await datastore.update(marked(gone));
  for (const affinity of ["host:node-ab", "virtual:node-a", undefined]) {
    await datastore.create(blockOf(`10.0.1.${4 * (affinity?.length ?? 0)}/30`, { affinity }));
  }
  const database = openDatabase(path);
  const tables = new Tables(database, 100);
  tables.put("ADDED", "IPAMBlock", { name: "no-json", uid: "u", json: '{"spec":{"affinity":"host:node-a"' });
  tables.put("ADDED", "IPAMBlock", { name: "no-block", uid: "u", json: '{"spec":{"affinity":"host:node-a"}}' });
  database.close();
  expect(datastore.blocksOf!("host:node-a")!.map(({ spec }) => spec.cidr)).toEqual(["10.0.0.0/30", "10.0.0.4/30"]);
  expect(datastore.blocksOf!("host:node-a")![0]).toEqual(block);
  await datastore.close();
});

test("gives sequence numbers as bigint however small they are", async () => {
  const store = openEmbedded(":memory:");
  const spec = { allocations: [0], unallocated: [], attributes: [{}], strictAffinity: false, cidr: "10.0.0.0/32" };
  const numbers = { sequenceNumber: 12n, sequenceNumberForAllocation: { "0": 11n } };
  await store.create({
    apiVersion: "projectcalico.org/v3",
    kind: "IPAMBlock",
    metadata: { name: "10-0-0-0-32" },
    spec: { ...spec, ...numbers },
  });
  expect((await store.get("IPAMBlock", "10-0-0-0-32")).spec).toMatchObject(numbers);
  await store.close();
});
