/** Addresses, ranges and names stand in the order of their numbers on every screen, for people and for programs. */
import { expect, it } from "vitest";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, configuration, handle, pool, reservation, usedBlock } from "../support/ipam-data.ts";
import { bundleOf, ipamctl } from "./ipamctl.ts";
import { node, ofPod, pod } from "./sound.ts";

/** In no order at all. */
const COUNTS = [10, 2, 1, 12, 9, 11, 3];
const SORTED = COUNTS.toSorted((a, b) => a - b);
const names = (prefix: string, counts = SORTED) => counts.map((count) => `${prefix}${count}`);
const v6 = (count: number) => `fd00::${(count * 64).toString(16)}/122`;
const v4 = (count: number) => `10.0.0.${count * 4}/30`;

/** Node N holds two blocks: its IPv4 block is the Nth of its pool, and so is its IPv6 block. Pods are gone, so all leaks. */
const world: Snapshot = {
  ...emptySnapshot("2026-01-02T12:00:00.000Z", "projectcalico.org/v3"),
  pools: [
    pool("p-10", "10.0.0.0/24", { blockSize: 30 }),
    pool("p-2", "fd00::/116", { blockSize: 122 }),
    pool("p-1", "10.9.0.0/24", { blockSize: 30 }),
  ],
  reservations: [reservation("r-10", "10.9.0.1/32"), reservation("r-2", "10.9.0.1/32")],
  configurations: [configuration({ strictAffinity: false, autoAllocateBlocks: true })],
  blocks: COUNTS.flatMap((count) => [
    usedBlock(v4(count), `node-${count}`, { 0: ofPod(`gone-${count}`, `node-${count}`), 3: ofPod("x", "node-2") }),
    usedBlock(v6(count), `node-${count}`, { 0: ofPod(`gone-${count}`, `node-${count}`) }),
  ]),
  affinities: COUNTS.flatMap((count) => [affinity(`node-${count}`, v6(count)), affinity(`node-${count}`, v4(count))]),
  handles: COUNTS.flatMap((count) => [
    handle(`ghost-${count}`, { [v4(count)]: 1 }),
    handle(`k8s-pod-network.gone-${count}`, { [v6(count)]: 1, [v4(count)]: 1 }),
  ]),
  nodes: COUNTS.map((count) => node(`node-${count}`)),
  namespaces: [],
  pods: COUNTS.map((count) => pod(`out-${count}`, `node-${count}`, [`192.0.2.${count}`])),
  services: [],
  events: [],
};

const json = async (...args: string[]) => {
  const ran = await ipamctl([...args, "-o", "json", "--bundle", await bundleOf(world)]);
  return JSON.parse(ran.stdout);
};

it("pools, by name", async () => {
  const { items } = await json("show");
  expect(items.map(({ name }: { name: string }) => name)).toEqual(["p-1", "p-2", "p-10"]);
});

it("blocks, by range: pool after pool", async () => {
  const { items } = await json("show", "--blocks");
  expect(items.map(({ cidr }: { cidr: string }) => cidr)).toEqual([...SORTED.map(v6), ...SORTED.map(v4)]);
});

it.each([["--borrowed"], ["--namespace", "shop"]])("addresses: show %s %s", async (...flags) => {
  const { items } = await json("show", ...flags.filter(Boolean));
  const addresses = items.map(({ address }: { address: string }) => address);
  const last = SORTED.map((count) => `10.0.0.${count * 4 + 3}`);
  const first = (count: number) => `10.0.0.${count * 4}`;
  const all = [
    ...SORTED.flatMap((count) => [first(count), `10.0.0.${count * 4 + 3}`]),
    ...SORTED.map((c) => v6(c).slice(0, -4)),
  ];
  expect(addresses).toEqual(flags[0] === "--borrowed" ? last.filter((address) => address !== "10.0.0.11") : all);
});

it("nodes of top that are as full as each other, by name", async () => {
  const { nodes } = await json("top", "--limit", "0");
  expect(nodes.map(({ name }: { name: string }) => name)).toEqual(names("node-"));
});

it("findings of a code, by address or by name", async () => {
  const { items } = await json("check", "--second-look", "0");
  const of = (code: string, field: string) =>
    items
      .filter((found: { code: string }) => found.code === code)
      .map((found: Record<string, unknown>) => found[field] ?? (found["object"] as { name: string }).name);
  expect(of("InUseOutsidePools", "address")).toEqual(names("192.0.2."));
  expect(of("OrphanHandle", "")).toEqual(names("ghost-"));
  expect(of("LeakedAddress", "address")).toEqual([
    ...SORTED.flatMap((count) => [`10.0.0.${count * 4}`, `10.0.0.${count * 4 + 3}`]),
    ...SORTED.map((c) => v6(c).slice(0, -4)),
  ]);
});

it("names of objects", async () => {
  const { stdout } = await ipamctl(["show", "--blocks", "-o", "name"], { snapshot: world });
  expect(stdout.split("\n").slice(0, 2)).toEqual(["ipamblock/fd00--40-122", "ipamblock/fd00--80-122"]);
});
