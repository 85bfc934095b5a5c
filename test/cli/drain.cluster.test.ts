/** `ipamctl repair OverlappingBlocks` on a real API server, from a block in use to one that is gone. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { affinity, usedBlock } from "../support/ipam-data.ts";
import { type EditorCluster, startEditorCluster } from "./editor-cluster.ts";
import { scratchFile } from "./ipamctl.ts";
import { rowsOf } from "./writing-site.ts";

let on: EditorCluster;
beforeAll(async () => {
  on = await startEditorCluster("v1");
});
afterAll(async () => {
  expect(await on.refused()).toEqual([]);
  await on.stop();
});

it("the odd block loses its affinity, waits for its pod, and is deleted; the right one stays", async () => {
  await on.reset();
  const used = await on.allocate("right");
  await on.runPod("right", used);
  const odd = usedBlock("10.0.0.0/24", "node-a", {
    200: { handle_id: "h.odd", secondary: { namespace: "shop", pod: "odd", node: "node-a" } },
  });
  await on.store.create({ ...odd, kind: "IPAMBlock" });
  await on.store.create({ ...affinity("node-a", "10.0.0.0/24"), kind: "BlockAffinity" });
  await on.runPod("odd", "10.0.0.200");
  const repair = () =>
    on.json("repair", "OverlappingBlocks", "--grace", "0", "--copy", scratchFile(`${crypto.randomUUID()}.jsonl`));
  const first = await repair();
  expect(rowsOf(first)).toEqual(["done release affinity IPAMBlock/10-0-0-0-24"]);
  expect(rowsOf(await repair())).toEqual(["kept remove IPAMBlock/10-0-0-0-24"]);
  await on.plane.kubectl(["delete", "pods", "-n", "shop", "odd", "--grace-period=0", "--force"]);
  await on.json("gc", "--grace", "0");
  const blocks = async () => (await on.store.list("IPAMBlock")).items.map(({ spec }) => spec.cidr);
  await repair();
  expect(await blocks()).not.toContain("10.0.0.0/24");
  expect(await on.ipam.ipsByHandle("h.right")).toEqual([used]);
}, 60_000);
