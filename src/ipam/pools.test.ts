import { describe, expect, test } from "vitest";
import { type IPPool, V3_API_VERSION } from "../api/v3.ts";
import { choosePools, maxPrefixLength, type PoolQuery } from "./pool-choice.ts";
import { poolsOf } from "./pools.ts";
import { selectsNamespace, selectsNode } from "./selection.ts";

const pool = (name: string, cidr: string, spec: object = {}, more: object = {}): IPPool => ({
  apiVersion: V3_API_VERSION,
  kind: "IPPool",
  metadata: { name },
  spec: { cidr, ...spec },
  ...more,
});
const query: PoolQuery = { version: 4, requested: [], host: "n", node: {}, use: "Workload" };
const choose = (sources: IPPool[], changes: Partial<PoolQuery> = {}) =>
  choosePools(poolsOf(sources), { ...query, ...changes });
const names = (choice: ReturnType<typeof choose>) => choice.usable.map(({ name }) => name);
const node = { metadata: { labels: { rack: "1" } } };

describe("T70: choosing pools", () => {
  test("both selectors must match; Manual ones are not taken by themselves", () => {
    const sources = [
      pool("a", "10.0.0.0/24", { nodeSelector: "rack == '1'", namespaceSelector: "team == 'x'" }),
      pool("b", "10.1.0.0/24", { nodeSelector: "rack == '2'" }),
      pool("c", "10.2.0.0/24", { assignmentMode: "Manual" }),
      pool("d", "10.3.0.0/24"),
    ];
    expect(names(choose(sources, { node }))).toEqual(["d"]);
    const namespace = { metadata: { labels: { team: "x" } } };
    expect(names(choose(sources, { node, namespace }))).toEqual(["a", "d"]);
  });

  test("a pool that was asked for needs no selector and no mode, and is matched by its masked CIDR", () => {
    const sources = [pool("a", "10.0.0.7/24", { nodeSelector: "has(nothing)", assignmentMode: "Manual" })];
    expect(names(choose(sources, { requested: ["10.0.0.0/24"] }))).toEqual(["a"]);
    expect(names(choose(sources, { requested: ["10.0.0.9/24"] }))).toEqual(["a"]);
  });

  test("a pool that was asked for and is disabled ends the call, whatever others there are", () => {
    const sources = [pool("a", "10.0.0.0/24", { disabled: true }), pool("b", "10.1.0.0/24")];
    expect(() => choose(sources, { requested: ["10.0.0.0/24", "10.1.0.0/24"] })).toThrow(
      expect.objectContaining({ code: "PoolNotEnabled" }),
    );
  });

  test("a selector that is none ends the call", () => {
    const malformed = (field: string) =>
      expect.objectContaining({
        code: "MalformedObject",
        message: expect.stringMatching(`^IPPool "a", spec.${field}: `),
      });
    for (const field of ["nodeSelector", "namespaceSelector"]) {
      expect(() => choose([pool("a", "10.0.0.0/24", { [field]: "rack ==" })])).toThrow(malformed(field));
    }
  });

  test("disabled, deleting and not allocatable pools are named with their reason", () => {
    const conditions = [{ type: "Allocatable", status: "False", reason: "CIDROverlap" }];
    const sources = [
      pool("a", "10.0.0.0/24", { disabled: true }),
      pool("b", "10.1.0.0/24", {}, { metadata: { name: "b", deletionTimestamp: "2026-01-02T03:04:05Z" } }),
      pool("c", "10.2.0.0/24", {}, { status: { conditions } }),
      pool("d", "fd00::/112"),
    ];
    expect(() => choose(sources)).toThrow(
      expect.objectContaining({
        code: "NoQualifiedPool",
        class: "validation",
        message: "cannot find a qualified ippool",
        details: [
          'pool "a" (10.0.0.0/24) is disabled',
          'pool "b" (10.1.0.0/24) is being deleted',
          'pool "c" (10.2.0.0/24) is not allocatable (CIDROverlap)',
        ],
      }),
    );
  });

  test("defaults: /26 and /122 blocks, Workload and Tunnel", () => {
    const [four, six] = poolsOf([
      pool("a", "10.0.0.0/24", { blockSize: 0 }),
      pool("b", "fd00::/112", { allowedUses: [] }),
    ]);
    expect([four?.blockSize, six?.blockSize, six?.allowedUses]).toEqual([26, 122, ["Workload", "Tunnel"]]);
    expect(poolsOf([pool("x", "nonsense")])).toEqual([]);
  });

  test("a host's reserve rules out blocks it would fill, also of pools that are chosen automatically", () => {
    const reserved = { startOfBlock: 3, endOfBlock: 1, handle: "h", note: "n" };
    const sources = [pool("a", "10.0.0.0/24", { blockSize: 30 }), pool("b", "10.1.0.0/24", { blockSize: 29 })];
    expect(names(choose(sources, { reserved }))).toEqual(["b"]);
    expect(() => choose(sources, { reserved, requested: ["10.0.0.0/24"] })).toThrow(
      /does not exist, or is not enabled/,
    );
  });
});

test.each([
  [3, 1, 29],
  [1, 0, 31],
  [7, 1, 28],
  [32, 33, 25],
])("a reserve of %i and %i leaves room in a /%i", (startOfBlock, endOfBlock, prefix) => {
  expect(maxPrefixLength(4, { startOfBlock, endOfBlock, handle: "", note: "" })).toBe(prefix);
  expect(maxPrefixLength(6, undefined)).toBe(128);
});

test("a node's labels are Calico's, overlaid by Kubernetes' own", () => {
  const annotations = { "projectcalico.org/labels": '{"rack":"9","zone":"a"}' };
  const annotated = { metadata: { labels: { rack: "1" }, annotations } };
  expect(selectsNode(pool("a", "10.0.0.0/24", { nodeSelector: "rack == '1' && zone == 'a'" }), annotated)).toBe(true);
  expect(selectsNamespace(pool("a", "10.0.0.0/24", { namespaceSelector: "has(team)" }), undefined)).toBe(false);
  expect(selectsNamespace(pool("a", "10.0.0.0/24"), undefined)).toBe(true);
});
