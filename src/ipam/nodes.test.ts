/** Labels of nodes, and when a node is read at all. */
import { describe, expect, test, vi } from "vitest";
import { errorOf, world } from "../../test/support/ipam.ts";
import { anyNode, nodeLabels, readOnce } from "./nodes.ts";

const annotated = (text: string, labels?: Record<string, string>) => ({
  metadata: { annotations: { "projectcalico.org/labels": text }, labels },
});

describe("labels", () => {
  test("Calico's from the annotation, overlaid by Kubernetes' own", () => {
    const node = annotated('{"rack":"r1","zone":"old"}', { zone: "new", arch: "arm64" });
    expect(nodeLabels(node)).toEqual({ rack: "r1", zone: "new", arch: "arm64" });
  });

  test.each([{}, { metadata: {} }, annotated("null"), annotated("{}")])("none in %j", (node) => {
    expect(nodeLabels(node)).toEqual({});
  });

  test("a key like __proto__ is a key like any", () => {
    expect(Object.entries(nodeLabels(annotated('{"__proto__":"x"}')))).toEqual([["__proto__", "x"]]);
  });

  test.each(["rack=r1", "[]", '["r1"]', "7", '"r1"', '{"rack":1}', '{"rack":null}', '{"rack":{"a":"b"}}'])(
    "%s is no map of texts: the error says what to correct, and where",
    (text) => {
      expect(() => nodeLabels(annotated(text))).toThrow(
        expect.objectContaining({
          code: "MalformedObject",
          message: expect.stringContaining(`projectcalico.org/labels`),
        }),
      );
      expect(() => nodeLabels(annotated(text))).toThrow(`: ${text}. Correct it on the node`);
    },
  );
});

test("readOnce asks once for each node, also while the first answer is on its way", async () => {
  const nodes = vi.fn(anyNode);
  const once = readOnce(nodes);
  await Promise.all([once("a", {}), once("b", {}), once("a", {})]);
  await once("b", {});
  expect(nodes.mock.calls.map(([name]) => name)).toEqual(["a", "b"]);
});

describe("a node is read", () => {
  const counting = async (pools: NonNullable<Parameters<typeof world>[0]>["pools"] = [["10.0.0.0/24", 28]]) => {
    const nodes = vi.fn(async (name: string) =>
      name === "host-a" ? { metadata: { labels: { rack: "r1" } } } : undefined,
    );
    const w = await world({ pools });
    const ipam = w.openIpam({ nodes });
    const reads = () => nodes.mock.calls.splice(0).map(([name]) => name);
    return { w, ipam, reads };
  };
  const one = { num4: 1, intendedUse: "Workload", hostname: "host-a" } as const;

  test("of a host without blocks, and then no more while no pool has a selector", async () => {
    const { w, ipam, reads } = await counting();
    await using _ = w;
    await ipam.autoAssign(one);
    expect(reads()).toEqual(["host-a"]);
    await ipam.autoAssign(one);
    await ipam.ensureBlock({
      hostname: "host-a",
      hostReservedAttrIPv4s: { startOfBlock: 1, endOfBlock: 0, handle: "h", note: "" },
    });
    expect(reads()).toEqual([]);
  });

  test("once per call where a pool has a selector, whatever the number of pools and families", async () => {
    const nodeSelector = 'rack == "r1"';
    const { w, ipam, reads } = await counting([
      ["10.0.0.0/26", 28, { nodeSelector }],
      ["10.0.1.0/26", 28, { nodeSelector }],
      ["fd00::/120", 122, { nodeSelector }],
    ]);
    await using _ = w;
    for (const _round of [1, 2]) {
      const { v4, v6 } = await ipam.autoAssign({ ...one, num4: 20, num6: 1 });
      expect([v4?.ips.length, v6?.ips.length, reads()]).toEqual([20, 1, ["host-a"]]);
    }
  });

  test("not where the pools are asked for by CIDR, which selectors do not concern", async () => {
    const { w, ipam, reads } = await counting([["10.0.0.0/26", 28, { nodeSelector: 'rack == "r9"' }]]);
    await using _ = w;
    const asked = { ...one, ipv4Pools: ["10.0.0.0/26"] };
    await ipam.autoAssign(asked);
    expect(reads()).toEqual(["host-a"]); // the host is new
    await ipam.autoAssign(asked);
    expect(reads()).toEqual([]);
  });

  test("once per release, however many of its blocks become empty", async () => {
    const { w, ipam, reads } = await counting([["10.0.0.0/24", 30, { nodeSelector: 'rack == "r1"' }]]);
    await using _ = w;
    const { v4 } = await ipam.autoAssign({ ...one, num4: 12, handleID: "h" });
    reads();
    await ipam.releaseIPs(v4!.ips.map((ip) => ({ address: ip.split("/")[0]! })));
    expect(reads()).toEqual(["host-a"]);
  });

  test("never for load balancers", async () => {
    const { w, ipam, reads } = await counting([["10.0.0.0/24", 28, { allowedUses: ["LoadBalancer"] }]]);
    await using _ = w;
    await ipam.autoAssign({ ...one, intendedUse: "LoadBalancer" });
    expect(reads()).toEqual([]);
  });

  test("and where there is none of the name, nothing is claimed or assigned", async () => {
    const { w, ipam } = await counting();
    await using _ = w;
    w.writes();
    const error = await errorOf(ipam.autoAssign({ ...one, hostname: "host-z", handleID: "h" }));
    expect(error).toMatchObject({
      name: "IpamError",
      code: "NodeNotFound",
      message: expect.stringContaining("host-z"),
    });
    expect(w.writes()).toEqual([]);
  });

  test("whose annotation is no map: the call ends with the error", async () => {
    await using w = await world({ pools: [["10.0.0.0/24", 28, { nodeSelector: 'rack == "r1"' }]] });
    const ipam = w.openIpam({ nodes: async () => annotated("rack=r1") });
    expect(await errorOf(ipam.autoAssign(one))).toMatchObject({ code: "MalformedObject" });
  });
});
