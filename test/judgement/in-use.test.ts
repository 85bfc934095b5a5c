/** The one predicate: whether an address is in use, with the cases that were judged wrongly before. */
import { describe, expect, it } from "vitest";
import type { AllocationAttribute } from "../../src/api/v3.ts";
import { collectionOf, type Decision } from "../../src/judgement/collection.ts";
import { usageOf } from "../../src/judgement/in-use.ts";
import { inventoryOf } from "../../src/judgement/inventory.ts";
import { judge } from "../../src/judgement/judge.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { NOW, node, ofPod, ofTunnel, pod, sound } from "../cli/sound.ts";
import { inputSnapshot } from "../support/input-snapshot.ts";
import { usedBlock } from "../support/ipam-data.ts";

const input = (name: string) => inputSnapshot(`${name}.yaml`, NOW);

function collected(snapshot: Snapshot): Decision[] {
  const found = judge(snapshot, { now: NOW });
  const looks = { inventory: inventoryOf(snapshot), found, lasting: found, isUnchanged: () => true };
  return collectionOf(looks, NOW).filter(({ action }) => action !== "keep");
}

/** The answer for the one address that the first block holds for shop/web-3 on node-a. */
function answer(change: Partial<Snapshot>, entry: AllocationAttribute = ofPod("web-3", "node-a")) {
  const blocks = [usedBlock("10.0.0.8/30", "node-a", { 0: entry }), ...sound.blocks];
  const { inUse } = usageOf({ ...sound, blocks, ...change }).at("10.0.0.8");
  return inUse;
}
const withPod = (...given: Parameters<typeof pod>) => ({ pods: [...sound.pods!, pod(...given)] });
const NOT_READY = { nodes: [node("node-a", { ready: false }), node("node-b")] };

describe("a pod", () => {
  it.each<[string, Partial<Snapshot>, string]>([
    ["that lists the address", withPod("other", "node-b", ["10.0.0.8"]), "yes"],
    ["that does not exist", {}, "no"],
    ["that is starting", withPod("web-3", "node-a", []), "yes"],
    [
      "that is starting and younger than the allocation",
      withPod("web-3", "node-a", [], { createdAt: "2026-01-02T05:00:00Z" }),
      "unknown",
    ],
    ["that was never bound to a node", withPod("web-3", "", [], { node: undefined as never, phase: "Pending" }), "no"],
    ["that has succeeded and lists it", withPod("web-3", "node-a", ["10.0.0.8"], { phase: "Succeeded" }), "no"],
    ["that has failed and lists it", withPod("web-3", "node-a", ["10.0.0.8"], { phase: "Failed" }), "no"],
    [
      "that has failed on a node that is not ready",
      { ...NOT_READY, ...withPod("web-3", "node-a", ["10.0.0.8"], { phase: "Failed" }) },
      "yes",
    ],
    [
      "that has failed on a node whose readiness is not known",
      {
        nodes: [node("node-a", { ready: undefined })],
        ...withPod("web-3", "node-a", ["10.0.0.8"], { phase: "Failed" }),
      },
      "unknown",
    ],
    [
      "that has failed on a node that is gone",
      { nodes: [], ...withPod("web-3", "node-a", ["10.0.0.8"], { phase: "Failed" }) },
      "no",
    ],
    ["that is being deleted", withPod("web-3", "node-a", [], { terminating: true }), "yes"],
    ["that lists an address that no block holds for it", withPod("web-3", "node-a", ["10.0.0.2"]), "unknown"],
    [
      "that may not be read",
      { pods: undefined, unread: [{ part: "pods", reason: "may not list pods" }] } as never,
      "unknown",
    ],
    [
      "beside Services that may not be read",
      { services: undefined, unread: [{ part: "services", reason: "no" }] } as never,
      "unknown",
    ],
    [
      "beside a node that cannot be read",
      { malformed: [{ kind: "Node", name: "node-c", reason: "labels" }] },
      "unknown",
    ],
  ])("%s: %s", (_what, change, expected) => {
    expect(answer(change)).toBe(expected);
  });

  it("TRY-40: with another handle, its former sandbox's address is free, unless it is the younger one", () => {
    const sandboxes = (timestamp: string) => {
      const again = { ...ofPod("web-3", "node-a"), handle_id: "k8s-pod-network.again" };
      const entry = { ...again, secondary: { ...again.secondary, timestamp } };
      return {
        blocks: [usedBlock("10.0.0.8/30", "node-a", { 0: ofPod("web-3", "node-a"), 1: entry })],
        ...withPod("web-3", "node-a", ["10.0.0.9"]),
      };
    };
    expect(answer(sandboxes("2026-01-02 03:04:06.123456789 +0000 UTC"))).toBe("no");
    expect(answer(sandboxes("2026-01-02 03:04:04 +0000 UTC"))).toBe("unknown");
  });
});

describe("another owner", () => {
  const vm = { handle_id: "vm", secondary: { namespace: "shop", pod: "launcher", "vmi-name": "db", node: "node-a" } };
  const migrating = {
    ...ofPod("web-3", "node-a"),
    alternateOwnerAttrs: { namespace: "shop", pod: "target", node: "node-b" },
  };

  it.each<[string, Partial<Snapshot>, AllocationAttribute, string]>([
    ["a VM that runs", withPod("launcher-2", "node-b", [], { vm: "db" }), vm, "yes"],
    ["a VM that is stopped", { vms: [{ namespace: "shop", name: "db" }] }, vm, "yes"],
    ["a VM that is gone", { vms: [] }, vm, "no"],
    ["a VM where VMs were not read", {}, vm, "unknown"],
    ["the alternate owner of a migration", withPod("target", "node-b", []), migrating, "yes"],
    ["no alternate owner any more", {}, migrating, "no"],
    ["a tunnel of a node that is gone", { nodes: [node("node-b")] }, ofTunnel("node-a"), "no"],
    ["a tunnel that the node does not list yet", { nodes: [node("node-a")] }, ofTunnel("node-a"), "yes"],
    ["a tunnel of which the node lists another address", {}, ofTunnel("node-a"), "unknown"],
    [
      "WireGuard of a node",
      { nodes: [node("node-a", { tunnels: { wireguardV6TunnelAddress: "10.0.0.8" } })] },
      {},
      "yes",
    ],
    ["nobody that it names", {}, { handle_id: "by-hand" }, "unknown"],
    ["no attributes at all", {}, {}, "unknown"],
  ])("%s: %s", (_what, change, entry, expected) => {
    expect(answer(change, entry)).toBe(expected);
  });

  it("a Service counts where nobody can say whether Calico serves it", () => {
    const services = [{ ...sound.services![0]!, addresses: ["10.0.0.8"] }];
    const blind = { services, controllers: undefined, unread: [{ part: "controllers", reason: "no" }] } as never;
    expect(answer(blind)).toBe("unknown");
    expect(answer({ services })).toBe("yes");
  });
});

describe("blocks", () => {
  it("TRY-03: of an address that two blocks hold, neither is freed while somebody uses it", () => {
    const snapshot = input("r01-overlapping-block-sizes");
    const leaks = judge(snapshot, { now: NOW }).filter(({ code }) => code === "LeakedAddress");
    expect(leaks).toEqual([]);
    expect(collected(snapshot)).toEqual([]);
  });

  it("TRY-03: the block whose attributes name the pod is right, and the other is no reason to delete the pod", () => {
    const snapshot = input("r01-overlapping-block-sizes");
    const pods = snapshot.pods!.filter(({ name }) => name !== "p-n05-1");
    const codes = judge({ ...snapshot, pods }, { now: NOW }).map(({ code, address }) => [code, address]);
    expect(codes).not.toContainEqual(["AllocatedToAnother", "10.233.64.33"]);
    expect(collected({ ...snapshot, pods })).toEqual([]);
  });

  it("TRY-03: two pods with one address are one finding, and the pod of the odd block has to go", () => {
    const found = judge(input("r01-overlapping-block-sizes"), { now: NOW });
    const twice = found.filter(({ code, address }) => code === "DuplicateAddress" && address === "10.233.64.33");
    expect(twice.map(({ command }) => command)).toEqual(["kubectl delete pod -n app p-n05-1"]);
  });

  it.each(["r07-empty-block-with-a-pod-in-it", "r07b-gone-and-unowned"])(
    "TRY-04: %s: a pod's block is kept",
    (name) => {
      expect(collected(input(name))).toEqual([]);
    },
  );

  it("TRY-04: nothing is given up while pods may not be read", () => {
    const { pods: _pods, ...rest } = input("r07-empty-block-with-a-pod-in-it");
    expect(collected({ ...rest, unread: [{ part: "pods", reason: "may not list pods" }] })).toEqual([]);
  });

  it("TRY-04: an empty block over another's used addresses may go", () => {
    const snapshot = input("r01b-minimal-overlap");
    const blocks = [snapshot.blocks[0]!, usedBlock("10.0.0.0/29", "n2", { 0: ofPod("web-0", "n2") })];
    const nodes = [node("n2")];
    const pods = [pod("web-0", "n2", ["10.0.0.0"])];
    expect(collected({ ...snapshot, blocks, nodes, pods }).map(({ action }) => action)).toEqual(["give up"]);
  });

  it("TRY-07: what was kept for a pod that was never scheduled is free", () => {
    const blocks = [...sound.blocks, usedBlock("10.0.0.8/30", "dead", { 0: ofPod("pend", "dead") })];
    const pend = { ...pod("pend", "", [], { phase: "Pending" }), node: undefined as never };
    const freed = collected({ ...sound, blocks, pods: [...sound.pods!, pend] });
    expect(freed).toMatchObject([{ action: "release", allocations: [{ address: "10.0.0.8" }] }]);
  });

  it("an address that was released by mistake is kept when it has cooled down", () => {
    const cold = usedBlock("10.0.0.8/30", "node-a", { 1: { releasedAt: "2026-01-02T11:00:00Z" } });
    const blocks = [cold, ...sound.blocks];
    expect(collected({ ...sound, blocks }).map(({ action }) => action)).toEqual(["free"]);
    expect(collected({ ...sound, blocks, ...withPod("web-3", "node-a", ["10.0.0.9"]) })).toEqual([]);
  });

  it("TRY-14: the last block of its node goes with its pool", () => {
    const { pools: _pools, ...rest } = input("r07-empty-block-with-a-pod-in-it");
    const blocks = [rest.blocks[1]!];
    expect(collected({ ...rest, blocks, handles: [], pods: [], pools: [] })).toMatchObject([
      { action: "give up", block: blocks[0] },
    ]);
  });
});

it("is worked out once for each look", () => {
  expect(usageOf(sound)).toBe(usageOf(sound));
});
