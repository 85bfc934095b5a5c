import { afterEach, beforeEach, expect, test } from "vitest";
import { V3_API_VERSION } from "../api/v3.ts";
import type { Datastore } from "../datastore/datastore.ts";
import { openEmbedded } from "../datastore/embedded.ts";
import { createIpam } from "../ipam/client.ts";
import { createConsole } from "./console.ts";
import { createManifestSync, type SyncEvent } from "./manifest-sync.ts";
import { KEPT_MS, UNNAMED_MS } from "./manifest-unnamed.ts";

const poolNamed = (name: string, cidr = "10.0.0.0/16") =>
  `apiVersion: ${V3_API_VERSION}\nkind: IPPool\nmetadata: {name: ${name}}\nspec: {cidr: ${cidr}}\n`;

let datastore: Datastore;
beforeEach(() => {
  datastore = openEmbedded(":memory:");
});
afterEach(() => datastore.close());

function setUp() {
  const events: SyncEvent[] = [];
  let time = 0;
  const { sync } = createManifestSync({ datastore, folder: "m", tell: (event) => events.push(event), now: () => time });
  /** Passes until what no file names has been looked at once more. */
  const run = async (files: Record<string, string>) => {
    events.length = 0;
    for (const wait of [UNNAMED_MS, KEPT_MS, 0]) {
      await sync(new Map(Object.entries(files)));
      time += wait;
    }
    return events.map((event) => ("kind" in event ? `${event.type} ${event.kind} ${event.name}` : event.type));
  };
  return { run, events };
}

const names = async () => (await datastore.list("IPPool")).items.map(({ metadata }) => metadata.name);
const ipam = () => createIpam({ datastore });
const assign = (handleID: string) =>
  ipam().autoAssign({ num4: 2, handleID, hostname: "node-a", intendedUse: "Workload" });

test.each([
  ["its file is gone", {}],
  ["its file names another pool now", { "a.yaml": poolNamed("other", "10.9.0.0/16") }],
  ["it was renamed", { "a.yaml": poolNamed("q") }],
])("TRY-27: a pool with addresses in use is kept when %s, and that is said once", async (_, files) => {
  const { run, events } = setUp();
  await run({ "a.yaml": poolNamed("p") });
  await assign("h");
  expect((await run(files)).filter((said) => said.endsWith(" p"))).toEqual(["kept IPPool p"]);
  expect(events.find(({ type }) => type === "kept")).toMatchObject({ file: "a.yaml", addresses: 2 });
  expect((await run(files)).filter((said) => said.endsWith(" p"))).toEqual([]);
  expect(await names()).toContain("p");
});

test("TRY-27: it is deleted once none of its addresses is in use", async () => {
  const { run } = setUp();
  await run({ "a.yaml": poolNamed("p") });
  await assign("h");
  await run({});
  await ipam().releaseByHandle("h");
  expect(await run({})).toEqual(["deleted IPPool p"]);
  expect(await names()).toEqual([]);
});

test("addresses of another range keep nothing, and a pool that is named again is no longer waited for", async () => {
  const { run } = setUp();
  const other = poolNamed("other", "10.9.0.0/16");
  await run({ "a.yaml": poolNamed("p"), "b.yaml": other });
  await assign("h");
  const [used] = (await datastore.list("IPAMBlock")).items;
  const [unused, kept] = used!.spec.cidr.startsWith("10.9.") ? ["p", "other"] : ["other", "p"];
  expect((await run({})).sort()).toEqual([`deleted IPPool ${unused}`, `kept IPPool ${kept}`]);
  await run({ "a.yaml": poolNamed("p"), "b.yaml": other });
  expect(await run({})).toContain(`kept IPPool ${kept}`);
});

test("reports how many addresses are in use, and what to do", () => {
  let text = "";
  const terminal = createConsole({ write: (more) => (text += more), nextStep: () => [] });
  terminal.file("m", { type: "kept", file: "a.yaml", kind: "IPPool", name: "p", addresses: 2 });
  expect(text).toBe(
    "m/a.yaml: IPPool p is in no file any more. 2 of its addresses are in use, so it is kept, and deleted once none is. " +
      "New addresses still come from it: to stop that, add it to a file again, with disabled: true.\n",
  );
});
