import { describe, expect, it } from "vitest";
import { CODES } from "../../src/judgement/codes.ts";
import { judge } from "../../src/judgement/judge.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { NOW, node, ofPod, ofTunnel, pod, sound } from "../cli/sound.ts";
import { deepFrozen } from "../support/ipam.ts";
import { usedBlock } from "../support/ipam-data.ts";
import { DAMAGES } from "./damage.ts";

const found = (snapshot: Snapshot) => judge(snapshot, { now: NOW });
const codesOf = (snapshot: Snapshot) => [...new Set(found(snapshot).map(({ code }) => code))];

describe("every code", () => {
  it("has a data set that shows it", () => {
    expect(new Set(DAMAGES.map(([code]) => code))).toEqual(new Set(Object.keys(CODES)));
  });

  it("is not shown by a cluster that is as it should be", () => {
    expect(found(sound)).toEqual([]);
  });

  it.each(DAMAGES)("%s: %s shows exactly it", (code, _what, damaged) => {
    expect(codesOf({ ...sound, ...damaged })).toEqual([code]);
  });
});

describe("an address is called leaked only where it surely is", () => {
  const leaks = (change: Partial<Snapshot>) =>
    found({ ...sound, ...change })
      .filter(({ code }) => code === "LeakedAddress")
      .map(({ address }) => address);
  const podsWith = (...changed: NonNullable<Snapshot["pods"]>) => [
    ...sound.pods!.filter(({ name }) => !changed.some((other) => other.name === name)),
    ...changed,
  ];

  it("GC-09: a pod that exists and has no address yet is starting", () => {
    expect(leaks({ pods: podsWith(pod("web-1", "node-b", [])) })).toEqual([]);
  });

  it("a pod that is being deleted may have its address until it is gone", () => {
    expect(leaks({ pods: podsWith(pod("web-1", "node-b", [], { terminating: true })) })).toEqual([]);
    expect(leaks({ pods: podsWith(pod("web-1", "node-b", ["10.0.0.4"], { terminating: true })) })).toEqual([]);
  });

  it("GC-01: of a handle with two addresses, one in use, neither", () => {
    expect(leaks({ pods: podsWith(pod("web-0", "node-a", ["10.0.0.0"])) })).toEqual([]);
    expect(leaks({ pods: sound.pods!.filter(({ name }) => name !== "web-0") })).toEqual(["10.0.0.0", "fd00::"]);
  });

  it("GC-04: a pod that has failed has none, and whoever has it now keeps it", () => {
    const failed = pod("web-1", "node-b", ["10.0.0.4"], { phase: "Failed" });
    expect(leaks({ pods: podsWith(failed) })).toEqual(["10.0.0.4"]);
    expect(leaks({ pods: [...podsWith(failed), pod("heir", "node-b", ["10.0.0.4"])] })).toEqual([]);
  });

  it("GC-16: an address of a second network is in use where an annotation lists it", () => {
    const blocks = [
      usedBlock("10.0.0.0/30", "node-a", {
        0: ofPod("web-0", "node-a"),
        1: ofTunnel("node-a"),
        2: { ...ofPod("web-0", "node-a"), handle_id: "net2.web-0" },
      }),
      ...sound.blocks.slice(1),
    ];
    expect(leaks({ blocks, pods: podsWith(pod("web-0", "node-a", ["10.0.0.0", "fd00::", "10.0.0.2"])) })).toEqual([]);
    expect(leaks({ blocks })).toEqual(["10.0.0.2"]);
  });

  it("BLK-17: what a Windows node keeps for itself never is", () => {
    const reserve = { handle_id: "Windows-Reserved-IPAM-Handle", secondary: { note: "windows host rsvd" } };
    const blocks = [usedBlock("10.0.0.8/30", "node-a", { 0: reserve, 3: reserve }), ...sound.blocks];
    expect(codesOf({ ...sound, blocks }).filter((code) => code !== "BlockWithoutAffinity")).toEqual([]);
  });

  it.each(["pods", "nodes", "services"] as const)("nobody can say where %s may not be read", (part) => {
    const gone = { pods: [], nodes: [], services: [] } as const;
    expect(leaks({ [part]: gone[part] }).length).toBeGreaterThan(0);
    expect(leaks({ [part]: undefined })).toEqual([]);
  });

  it("an IPv6 tunnel's address is in use as the IPv4 one's is", () => {
    const entry = {
      handle_id: "vxlan-v6-tunnel-addr-node-a",
      secondary: { node: "node-a", type: "vxlanV6TunnelAddress" },
    };
    const blocks = [
      ...sound.blocks.slice(0, 3),
      usedBlock("fd00::/122", "node-a", { 0: ofPod("web-0", "node-a"), 1: entry }),
    ];
    const tunnels = { vxlanTunnelAddress: "10.0.0.1", vxlanV6TunnelAddress: "fd00::1" };
    expect(leaks({ blocks, nodes: [node("node-a", { tunnels }), node("node-b")] })).toEqual([]);
    expect(leaks({ blocks, nodes: [node("node-b")] })).toEqual(["10.0.0.1", "fd00::1"]);
  });

  it("a Service that Calico does not serve uses none of its addresses", () => {
    const services = [{ ...sound.services![0]!, addresses: ["10.0.0.9"] }];
    const foreign = (change: Partial<Snapshot>) =>
      found({ ...sound, services, ...change }).some(({ code }) => code === "InUseNotAllocated");
    expect(foreign({})).toBe(true);
    expect(foreign({ controllers: {} })).toBe(false);
    expect(foreign({ controllers: { assignIPs: "RequestedServicesOnly" } })).toBe(false);
    expect(foreign({ services: [{ ...services[0]!, loadBalancerClass: "metallb" }] })).toBe(false);
  });
});

describe("a second look", () => {
  const gone = { ...sound, pods: sound.pods!.filter(({ name }) => name !== "web-1") };

  it("tells what may be a change under way only where both looks found the same", () => {
    const earlier = found(gone);
    expect(judge(gone, { now: NOW, earlier })).toEqual(earlier);
    expect(judge(gone, { now: NOW, earlier: [] })).toEqual([]);
  });

  it("an address that was taken again in between is another one", () => {
    const [first, second, ...rest] = sound.blocks;
    const again = {
      ...second!,
      spec: { ...second!.spec, sequenceNumber: 1002n, sequenceNumberForAllocation: { 0: 1001n, 1: 999n } },
    };
    expect(judge({ ...gone, blocks: [first!, again, ...rest] }, { now: NOW, earlier: found(gone) })).toEqual([]);
  });

  it("tells what is wrong in any case at the first", () => {
    const invalid = { ...sound, configurations: [{ ...sound.configurations[0]!, spec: { maxBlocksPerHost: 4 } }] };
    expect(judge(invalid, { now: NOW, earlier: [] }).map(({ code }) => code)).toEqual(["InvalidConfiguration"]);
  });
});

it("changes nothing of what it looks at", () => {
  for (const [, , damaged] of DAMAGES) judge(deepFrozen({ ...sound, ...damaged }), { now: NOW });
});

it("SEC-03: names may be anything", () => {
  const names = ["__proto__", "constructor", "x".repeat(10_000), "a\u001b[2jb"];
  const handles = names.map((name) => ({
    ...sound.handles[0]!,
    metadata: { name },
    spec: { handleID: name, block: { "10.0.0.0/30": 1 } },
  }));
  const shown = found({ ...sound, handles: [...sound.handles, ...handles] });
  expect(shown.map(({ object }) => object.name.length)).toEqual(names.map(({ length }) => length));
});
