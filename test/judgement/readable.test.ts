/** One object without a range is named by every verb, and keeps none from looking at the others. */
import { expect, test } from "vitest";
import { judge } from "../../src/judgement/judge.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { ipamctl } from "../cli/ipamctl.ts";
import { affinity, block, pool, usedBlock } from "../support/ipam-data.ts";

const now = new Date("2026-01-02T03:04:05Z");
const odd = "::ffff:10.60.0.0/122";
const named = <T extends { metadata: object; spec: object }>(object: T, name: string): T => ({
  ...object,
  metadata: { ...object.metadata, name },
  spec: { ...object.spec, cidr: odd },
});
const stored: Snapshot = {
  ...emptySnapshot(now.toISOString()),
  pools: [pool("p", "10.0.0.0/24"), pool("odd-pool", odd)],
  blocks: [
    usedBlock("10.0.0.0/26", "node-a", { 0: { handle_id: "h", secondary: { node: "node-a" } } }),
    named(block("10.60.0.0/26"), "odd-block"),
  ],
  affinities: [affinity("node-a", "10.0.0.0/26"), named(affinity("node-a", "10.60.0.0/26"), "odd-affinity")],
};

test("check names each, once", () => {
  const found = judge(stored, { now }).filter(({ code }) => code === "UnreadableObject");
  const message = `spec.cidr "${odd}" is not an IPv4 or IPv6 range`;
  expect(found.map(({ object, message }) => [object.kind, object.name, message])).toEqual([
    ["IPAMBlock", "odd-block", message],
    ["BlockAffinity", "odd-affinity", message],
    ["IPPool", "odd-pool", message],
  ]);
});

test.each([
  "show",
  "show --blocks",
  "show --ip 10.0.0.0",
  "show --node node-a",
  "show --map",
  "top",
  "check --second-look 0",
  "why --node node-a",
  "plan --nodes 1 --pods-per-node 1",
])("ipamctl %s: answers from the others", async (line) => {
  const { code, stdout, stderr } = await ipamctl([...line.split(" "), "--bundle", "not-read"], {
    take: async () => stored,
  });
  for (const name of ["odd-block", "odd-affinity", "odd-pool"]) expect(stderr).toContain(`"${name}" cannot be read`);
  expect([0, 3]).toContain(code);
  expect(stdout).not.toBe("");
});
