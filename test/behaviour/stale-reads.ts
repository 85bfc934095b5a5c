/**
 * What a long-lived process does whose watches have gone silent while another process changed the objects. An old read may
 * cost it a lost race and a request more, never an address, and it must not be the reason for a refusal.
 */
import { beforeEach, describe, expect, test } from "vitest";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { check } from "../invariants/check.ts";
import { POOLS } from "../races/racing.ts";
import { storedObjects } from "../races/stored.ts";
import { errorOf } from "../support/ipam.ts";
import { pool } from "../support/ipam-data.ts";

/** A store with nothing in it. */
export interface StaleStore {
  readonly store: Datastore;
  /** The store as cached reads show it from now on: nothing that is written by others arrives. */
  stalled(): Promise<Datastore>;
}

const [A, B] = ["host-a", "host-b"].map((host) => ({ affinityType: "host", host }) as const) as [Owner, Owner];
type Owner = { readonly affinityType: "host"; readonly host: string };
const BLOCK = "10.0.0.0/28";
const pod = (name: string) => ({ namespace: "n", pod: name });
const owner = (name: string) => ({ namespace: "n", name });

export function describeStaleReads(name: string, open: () => Promise<StaleStore>): void {
  describe(`${name}: meanwhile another process`, { timeout: 60_000 }, () => {
    let datastore: Datastore;
    /** The other process, which reads what is stored. */
    let other: Ipam;
    let stalled: StaleStore["stalled"];
    beforeEach(async () => {
      ({ store: datastore, stalled } = await open());
      other = openIpam(datastore);
      for (const { name, cidr, blockSize } of POOLS) await datastore.create<"IPPool">(pool(name, cidr, { blockSize }));
      await other.setIPAMConfig({ strictAffinity: true });
    });
    const openIpam = (store: Datastore) =>
      createIpam({ datastore: store, hostname: A.host, nodes: async () => ({}), warn: () => {} });
    const openOld = async () => openIpam(await stalled());
    const take = (handleID: string, ip = "10.0.0.1", attrs = {}) =>
      other.assignIP({ ip, hostname: A.host, handleID, attrs });
    const handOver = async () => {
      await other.releaseHostAffinities(A, true);
      await other.claimAffinity(BLOCK, B);
    };
    const ask = (handleID: string) => ({ num4: 1, handleID, intendedUse: "Workload" }) as const;
    const isGone = async (handleID: string) =>
      expect(await errorOf(other.ipsByHandle(handleID))).toMatchObject({ code: "NotFound" });
    const atRest = async () => check(await storedObjects(datastore), { mode: "atRest", now: new Date() });

    test("took addresses: others are given", async () => {
      await take("first");
      const old = await openOld();
      await take("second", "10.0.0.2");
      const { v4 } = await old.autoAssign({ ...ask("third"), num4: 14 });
      expect(v4?.ips.map((ip) => ip.split("/")[0]).filter((ip) => /^10\.0\.0\.[12]$/.test(ip!))).toEqual([]);
      expect(v4?.ips).toHaveLength(14);
    });

    test("took the address that is asked for: who has it is told", async () => {
      await take("first");
      const old = await openOld();
      await take("second", "10.0.0.2");
      const refused = await errorOf(old.assignIP({ ip: "10.0.0.2", handleID: "third" }));
      expect(refused).toMatchObject({ code: "AlreadyExists", holder: { handleID: "second" } });
    });

    test("released the address that is asked for: it is given", async () => {
      await take("first");
      const old = await openOld();
      await other.releaseByHandle("first");
      await old.assignIP({ ip: "10.0.0.1", handleID: "second" });
      expect(await other.ipsByHandle("second")).toEqual(["10.0.0.1"]);
    });

    test("gave up the host's block: another one is claimed", async () => {
      await take("first");
      const old = await openOld();
      await other.releaseByHandle("first");
      await other.releaseHostAffinities(A, true);
      const { v4 } = await old.autoAssign(ask("second"));
      expect(await other.ipsByHandle("second")).toEqual(v4?.ips.map((ip) => ip.split("/")[0]));
      expect(await atRest()).toEqual([]);
    });

    test("gave the host's block to another host: nothing comes from there", async () => {
      await other.claimAffinity(BLOCK, A);
      const old = await openOld();
      await handOver();
      const { v4 } = await old.autoAssign(ask("first"));
      expect(v4?.ips).toHaveLength(1);
      expect(v4?.ips[0]).not.toMatch(/^10\.0\.0\.\d\//);
      expect(await atRest()).toEqual([]);
    });

    test("took addresses for a handle: the handle's release releases them all", async () => {
      await take("first");
      const old = await openOld();
      await take("first", "10.0.0.2");
      await take("second", "10.0.0.3");
      await old.releaseByHandle("second");
      await isGone("second");
      await old.releaseByHandle("first");
      await isGone("first");
    });

    test("took more for a handle whose release is under way with an old read: they are released too", async () => {
      await take("first");
      const old = await openOld();
      await take("first", "10.0.0.2");
      await old.releaseByHandle("first");
      await isGone("first");
    });

    test("took an address: its release releases it", async () => {
      await take("first");
      const old = await openOld();
      await take("second", "10.0.0.2");
      expect((await old.releaseIPs([{ address: "10.0.0.2", handle: "second" }])).unallocated).toEqual([]);
      await isGone("second");
    });

    test("took an address in a pool that is new: its release releases it", async () => {
      const old = await openOld();
      await datastore.create<"IPPool">(pool("new", "10.1.0.0/24"));
      await take("first", "10.1.0.1");
      expect((await old.releaseIPs([{ address: "10.1.0.1" }])).unallocated).toEqual([]);
      await isGone("first");
    });

    test("gave the address to another handle: a release for the one before is refused, for the new one done", async () => {
      await take("first");
      const old = await openOld();
      await other.releaseByHandle("first");
      await take("second");
      const refused = await errorOf(old.releaseIPs([{ address: "10.0.0.1", handle: "first" }]));
      expect(refused).toMatchObject({ code: "BadHandle" });
      expect(await other.ipsByHandle("second")).toEqual(["10.0.0.1"]);
      const again = await openOld();
      await other.releaseByHandle("second");
      await take("third");
      expect((await again.releaseIPs([{ address: "10.0.0.1", handle: "third" }])).unallocated).toEqual([]);
      await isGone("third");
    });

    test("gave the handle at its limit its addresses: they are given again", async () => {
      await other.claimAffinity(BLOCK, A);
      await other.claimAffinity("fd00::/126", A);
      const old = await openOld();
      const vm = { ...ask("vm"), num6: 1, maxAllocToHandlePerIPVersion: 1 };
      const given = await other.autoAssign(vm);
      expect(await old.autoAssign(vm)).toEqual(given);
    });

    test("changed whose an address is: conditions hold for what is stored", async () => {
      await take("vm", "10.0.0.1", pod("a"));
      const old = await openOld();
      await other.setOwnerAttributes("10.0.0.1", "vm", { activeOwnerAttrs: pod("b") });
      const toC = { activeOwnerAttrs: pod("c") };
      const refused = old.setOwnerAttributes("10.0.0.1", "vm", toC, { expectedActiveOwner: owner("a") });
      expect(await errorOf(refused)).toMatchObject({ code: "PreconditionFailed" });
      const again = await openOld();
      await other.setOwnerAttributes("10.0.0.1", "vm", { activeOwnerAttrs: pod("d") });
      await again.setOwnerAttributes("10.0.0.1", "vm", toC, { expectedActiveOwner: owner("d") });
      expect((await other.getAssignmentAttributes("10.0.0.1")).activeOwnerAttrs).toEqual(pod("c"));
    });

    test("named a VM's next pod: it gets the VM's addresses", async () => {
      await take("vm", "10.0.0.1", pod("a"));
      const old = await openOld();
      await take("vm", "10.0.0.2", pod("a"));
      for (const ip of ["10.0.0.1", "10.0.0.2"]) {
        await other.setOwnerAttributes(ip, "vm", { alternateOwnerAttrs: pod("b") });
      }
      await old.swapOwners("vm", owner("b"));
      for (const ip of ["10.0.0.1", "10.0.0.2"]) {
        expect((await other.getAssignmentAttributes(ip)).activeOwnerAttrs).toEqual(pod("b"));
      }
    });

    test("got the block for this host: it is claimed, and stays so", async () => {
      await other.claimAffinity(BLOCK, B);
      const old = await openOld();
      await other.releaseHostAffinities(B, true);
      await other.claimAffinity(BLOCK, A);
      expect(await old.claimAffinity(BLOCK, A)).toEqual({ claimed: [BLOCK], failed: [] });
      expect(await atRest()).toEqual([]);
    });

    test("got the block for the host that is to give it up: it is given up", async () => {
      await other.claimAffinity(BLOCK, B);
      const old = await openOld();
      await other.releaseHostAffinities(B, true);
      await other.claimAffinity(BLOCK, A);
      await old.releaseAffinity(BLOCK, A.host, true);
      expect((await storedObjects(datastore)).affinities).toEqual([]);
      expect(await atRest()).toEqual([]);
    });

    test("released the last address of a block: it is empty enough to be given up", async () => {
      await take("first");
      const old = await openOld();
      await other.releaseByHandle("first");
      await old.releaseAffinity(BLOCK, A.host, true);
      expect((await storedObjects(datastore)).blocks).toEqual([]);
    });
  });
}
