/** Cases of text that comes from elsewhere: handles, names and attributes that would like to be something else. */
import { describe, expect, test } from "vitest";
import { withSpec } from "../../src/ipam/block.ts";
import { legacyBlock, strangeHandles } from "../support/case-inputs.ts";
import { errorOf, type World, world } from "../support/ipam.ts";
import { pool } from "../support/ipam-data.ts";

const ask = { num4: 1, intendedUse: "Workload", hostname: "node-a" } as const;
const pools = [["10.65.0.0/26", 29]] as const;
const NASTY = ["line\nfeed", "\u001b[31mred\u001b[0m", "bell\u0007", "\u202eright-to-left", "\u009b31m"];

/** Block d of input 08, sound but for its handle, which holds CR LF and an interface name. */
async function withOldHandle(): Promise<World> {
  const w = await world({ pools });
  const { metadata, ...block } = withSpec(legacyBlock("d"), {
    affinity: "host:node-b",
    allocations: [0, null, null, 1, null, null, null, null],
    unallocated: [1, 2, 4, 5, 6, 7],
  });
  await w.store.create({ ...block, metadata: { name: metadata.name } });
  return w;
}

describe("GC-13: a handle that holds CR LF and an interface name", () => {
  test("its address is released by address and number, though no handle object is there", async () => {
    await using w = await withOldHandle();
    const release = { address: "10.65.0.24", handle: "k8s-pod-network.bbbb\r\neth0", sequenceNumber: 11n };
    expect(await w.ipam.releaseIPs([release])).toMatchObject({ unallocated: [], processed: [release] });
    expect((await w.block("10.65.0.24/29")).spec.unallocated).toEqual([1, 2, 4, 5, 6, 7, 0]);
  });

  test("its address is found and released by the part before", async () => {
    await using w = await withOldHandle();
    expect(await w.ipam.getAssignmentAttributes("10.65.0.24")).toMatchObject({ handleID: "k8s-pod-network.bbbb" });
    await w.put("IPAMHandle", "k8s-pod-network.bbbb", {
      handleID: "k8s-pod-network.bbbb",
      block: { "10.65.0.24/29": 1 },
    });
    expect(await w.ipam.ipsByHandle("k8s-pod-network.bbbb\r\neth0")).toEqual(["10.65.0.24"]);
    await w.ipam.releaseByHandle("k8s-pod-network.bbbb");
    expect(await w.all("IPAMHandle")).toEqual([]);
  });

  test("one that no object can be named after is told at once not to exist, and why", async () => {
    await using w = await withOldHandle();
    for (const handleID of ["has_underscore", "with/slash", "", "a..b", "-lead", "h".repeat(254), ...NASTY]) {
      for (const call of [w.ipam.releaseByHandle(handleID), w.ipam.ipsByHandle(handleID)]) {
        const details = [expect.stringMatching(/^handle ".*cannot be stored.*released by itself$/)];
        expect(await errorOf(call)).toMatchObject({ code: "NotFound", details });
      }
    }
    expect(w.calls).toEqual([]);
  });

  test("no new address gets such a handle", async () => {
    await using w = await withOldHandle();
    for (const handleID of ["k8s-pod-network.bbbb\r\neth0", "tab\t", ...NASTY]) {
      for (const call of [w.ipam.autoAssign({ ...ask, handleID }), w.ipam.assignIP({ ip: "10.65.0.30", handleID })]) {
        expect(await errorOf(call)).toMatchObject({ code: "InvalidHandle" });
      }
    }
    expect(w.calls).toEqual([]);
  });
});

// GC-18: that a pass goes on, and that waiting work is tried again, are the collector's part.
test("GC-18: of a hundred addresses one cannot be released: the others are", async () => {
  await using w = await world({ pools: [["10.0.0.0/24", 26]] });
  const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 100, handleID: "leaked" });
  const blocks = await w.all("IPAMBlock");
  const [first] = v4!.ips.map((ip) => ip.split("/")[0]!);
  const blockOfFirst = blocks.find(
    ({ spec }) => spec.cidr === v4!.ips[0]!.replace(/\.(\d+)\/26/, (_, n) => `.${Number(n) & 192}/26`),
  )!;
  const releases = v4!.ips.map((ip) => {
    const address = ip.split("/")[0]!;
    return { address, handle: "leaked", ...(address === first && { sequenceNumber: 1n }) };
  });
  const error = await errorOf(w.ipam.releaseIPs(releases));
  expect(error).toMatchObject({ code: "BadSequenceNumber" });
  const kept = await w.ipam.ipsByHandle("leaked");
  expect(kept.length).toBe(blockOfFirst.spec.allocations.filter((index) => index !== null).length);
  await w.ipam.releaseIPs(releases.filter(({ address }) => address !== first));
  expect(await w.ipam.ipsByHandle("leaked")).toEqual([first]);
});

describe("SEC-03: untrusted text", () => {
  test("keys of __proto__ and constructor are keys as any other", async () => {
    await using w = await world({ pools });
    const attrs = JSON.parse('{"__proto__": "polluted", "constructor": "c", "pod": "p"}') as Record<string, string>;
    await w.ipam.assignIP({ ip: "10.65.0.1", hostname: "node-a", handleID: "constructor", attrs });
    await w.ipam.assignIP({ ip: "10.65.0.2", hostname: "node-a", handleID: "constructor" });
    const { activeOwnerAttrs } = await w.ipam.getAssignmentAttributes("10.65.0.1");
    expect(Object.entries(activeOwnerAttrs)).toEqual(Object.entries(attrs));
    expect(await w.ipam.ipsByHandle("constructor")).toEqual(["10.65.0.1", "10.65.0.2"]);
    await w.ipam.setOwnerAttributes("10.65.0.2", "constructor", { activeOwnerAttrs: attrs });
    await w.ipam.releaseByHandle("constructor");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(Object.prototype).not.toHaveProperty("pod");
  });

  test.each(["__proto__", "../../etc/passwd", "a/b", "Node-A", "ü", "node a", "", ".", "x".repeat(513), ...NASTY])(
    "a host named %j is refused before anything is written",
    async (host) => {
      await using w = await world({ pools });
      const owner = { affinityType: "host", host } as const;
      const calls = [
        w.ipam.claimAffinity("10.65.0.0/29", owner),
        ...(host === ""
          ? []
          : [w.ipam.autoAssign({ ...ask, hostname: host }), w.ipam.assignIP({ ip: "10.65.0.1", hostname: host })]),
      ];
      for (const error of await Promise.all(calls.map(errorOf))) {
        expect(error).toMatchObject({ code: "InvalidArgument", message: expect.stringContaining("host name") });
        expect(error.message).not.toMatch(/\p{Cc}|\p{Cf}/u);
      }
      expect(w.writes()).toEqual([]);
      await w.ipam.removeIPAMHost(owner).catch(() => {});
    },
  );

  test("what is stored is repeated in messages without its control characters", async () => {
    await using w = await world({ pools });
    const [pod, namespace, node] = NASTY as [string, string, string];
    await w.ipam.assignIP({ ip: "10.65.0.1", hostname: "node-a", handleID: "h", attrs: { pod, namespace, node } });
    const error = await errorOf(w.ipam.assignIP({ ip: "10.65.0.1", hostname: "node-a", handleID: "h2" }));
    const { details, holder } = error as unknown as { details: string[]; holder: object };
    expect(details[0]).toBe(
      String.raw`10.65.0.1 belongs to handle h (\u001b[31mred\u001b[0m/line\nfeed) on node bell\u0007`,
    );
    expect(holder).toMatchObject({ activeOwnerAttrs: { pod, namespace, node } });
    await w.store.create(pool("odd", "10.66.0.0/24", { nodeSelector: NASTY[1], disabled: true }));
    await w.put("IPAMBlock", "10-66-0-0-29", { ...(await w.block("10.65.0.0/29")).spec, cidr: NASTY[1] });
    await w.ipam.getUtilization();
    for (const warning of w.warnings) expect(warning).not.toMatch(/\p{Cc}/u);
    expect(w.warnings).not.toEqual([]);
  });

  test("ten kilobytes of a pod's name are kept as they are; a megabyte is refused", async () => {
    await using w = await world({ pools });
    const attrs = { pod: "p".repeat(10_000) };
    await w.ipam.assignIP({ ip: "10.65.0.1", hostname: "node-a", handleID: "h", attrs });
    expect((await w.ipam.getAssignmentAttributes("10.65.0.1")).activeOwnerAttrs).toEqual(attrs);
    w.writes();
    const huge = { pod: "p".repeat(1_000_000) };
    for (const call of [
      w.ipam.assignIP({ ip: "10.65.0.2", hostname: "node-a", handleID: "h", attrs: huge }),
      w.ipam.autoAssign({ ...ask, attrs: huge }),
      w.ipam.setOwnerAttributes("10.65.0.1", "h", { alternateOwnerAttrs: huge }),
    ]) {
      expect(await errorOf(call)).toMatchObject({ code: "InvalidArgument", message: expect.stringContaining("16384") });
    }
    expect(w.writes()).toEqual([]);
  });

  test("handles that others stored strangely are read, and disturb nobody", async () => {
    await using w = await withOldHandle();
    for (const { metadata, spec } of strangeHandles()) {
      if (!spec.deleted) await w.put("IPAMHandle", metadata.name, spec);
    }
    expect(await w.ipam.ipsByHandle("k8s-pod-network.dddd")).toEqual([]);
    expect(await w.ipam.ipsByHandle("k8s-pod-network.ffff")).toEqual([]);
    await w.ipam.releaseByHandle("k8s-pod-network.ffff");
    const { v4 } = await w.ipam.autoAssign({ ...ask, handleID: "k8s-pod-network.dddd" });
    expect(v4?.ips).toHaveLength(1);
    expect(await w.ipam.ipsByHandle("k8s-pod-network.dddd")).toHaveLength(1);
  });
});
