/** TRY-27: a store file with objects that would be refused today is opened, and each is a finding and a sentence. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { V3_API_VERSION } from "../../src/api/v3.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { refusedToday } from "../../src/operator/refused-today.ts";
import { ipamctl } from "../cli/ipamctl.ts";
import { putRows } from "../support/stored-rows.ts";

let folder: string;
let path: string;
const object = (kind: string, name: string, spec: object) => ({
  apiVersion: V3_API_VERSION,
  kind,
  metadata: { name },
  spec,
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "older-store-"));
  path = join(folder, "ipam.db");
  await putRows(
    path,
    object("IPPool", "good", { cidr: "10.0.0.0/16" }),
    object("IPPool", "below", { cidr: "10.1.0.0/16", blockSize: -3 }),
    object("IPPool", "garbage", { cidr: "garbage" }),
    object("IPPool", "masked", { cidr: "10.2.0.1/16" }),
    object("IPPool", "typo", { cidr: "10.3.0.0/16", natOutging: true }),
    object("IPPool", "overlapping", { cidr: "10.0.0.0/24" }),
    object("IPReservation", "typo", { reservedCIDR: ["10.0.0.0/30"] }),
    object("IPAMConfiguration", "default", { strictAffinity: true, autoAllocateBlocks: true, future: 1 }),
  );
});
afterEach(() => rm(folder, { recursive: true }));

it("check names each", async () => {
  const { code, stdout } = await ipamctl(["check", "--datastore", `embedded:${path}`, "-o", "json"]);
  expect(code).toBe(3);
  const found = JSON.parse(stdout).items.map((item: Item) => `${item.code} ${item.object.name}`);
  expect(found).toEqual(
    expect.arrayContaining([
      "InvalidPool below",
      "UnreadableObject garbage",
      "InvalidPool masked",
      "RefusedObject typo",
      "OverlappingPools overlapping",
      "RefusedObject default",
    ]),
  );
});
interface Item {
  readonly code: string;
  readonly object: { readonly name: string };
}

it("the operator says each at its start", async () => {
  const store = openEmbedded(path);
  const sentences = await refusedToday(store);
  expect(sentences.map((sentence) => sentence.split(" is stored and would be refused today: ", 1)[0])).toEqual([
    'IPAMConfiguration "default"',
    'IPPool "below"',
    'IPPool "garbage"',
    'IPPool "masked"',
    'IPPool "typo"',
    'IPReservation "typo"',
  ]);
  expect(sentences.at(-1)).toContain('unknown field "spec.reservedCIDR"');
  await store.close();
});

it("an edit beside the fault is taken", async () => {
  const store = openEmbedded(path);
  const pool = await store.get("IPPool", "typo");
  const edited = await store.update({ ...pool, spec: { ...pool.spec, disabled: true } });
  expect(edited.spec).toEqual({ cidr: "10.3.0.0/16", natOutging: true, disabled: true });
  await store.close();
});
