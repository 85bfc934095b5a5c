import { describe, expect, test } from "vitest";
import { ANNOTATION, refusal, v1Affinity, v1Block, v3Config } from "../../test/support/conversion.ts";
import { fromV1, fromV3, toV1, toV3 } from "./conversion.ts";
import type { BlockAffinity } from "./v3.ts";

describe("exact bodies of the format description", () => {
  const spec = {
    cidr: "10.0.0.0/30",
    affinity: "host:node-a",
    affinityClaimTime: "2026-01-02T03:04:05Z",
    allocations: [0, null, 1, null],
    unallocated: [1, 3],
    attributes: [
      { handle_id: "k8s-pod-network.ABC", secondary: { namespace: "ns", node: "node-a", pod: "p" } },
      { releasedAt: "2026-01-02T03:04:05Z" },
    ],
    sequenceNumber: 1767323045678900000n,
    sequenceNumberForAllocation: { "0": 1767323045678900000n },
    deleted: false,
    strictAffinity: false,
  };
  const v3Block = {
    kind: "IPAMBlock" as const,
    apiVersion: "projectcalico.org/v3" as const,
    metadata: { name: "10-0-0-0-30" },
    spec,
  };

  test("block", () => {
    const v1 = {
      ...v3Block,
      apiVersion: "crd.projectcalico.org/v1",
      metadata: { name: "10-0-0-0-30", annotations: { [ANNOTATION]: "{}" } },
    };
    expect(toV1("IPAMBlock", v3Block)).toEqual(v1);
    expect(toV3("IPAMBlock", v3Block)).toEqual(v3Block);
    expect(fromV1("IPAMBlock", v1)).toEqual(v3Block);
    expect(fromV3("IPAMBlock", v3Block)).toEqual(v3Block);
  });

  test("affinity", () => {
    const labels = {
      "projectcalico.org/affinity-type": "host",
      "projectcalico.org/hostname-hash": "PY3TQE2E3XMTETLM2MJO3UITKPFB27YUJ4T4E5XGPEJON3SM4QAA",
      "projectcalico.org/ip-version": "4",
    };
    const v1 = v1Affinity({ state: "pending" }, { labels, annotations: { [ANNOTATION]: JSON.stringify({ labels }) } });
    const model: BlockAffinity = {
      apiVersion: "projectcalico.org/v3",
      kind: "BlockAffinity",
      metadata: { name: "node-a-10-0-0-0-30", labels },
      spec: { state: "pending", node: "node-a", type: "host", cidr: "10.0.0.0/30", deleted: false },
    };
    expect(fromV1("BlockAffinity", v1)).toEqual(model);
    expect(toV1("BlockAffinity", model)).toEqual(v1);
    const shuffled = Object.fromEntries(Object.entries(labels).reverse());
    expect(toV1("BlockAffinity", { ...model, metadata: { ...model.metadata, labels: shuffled } })).toEqual(v1);
  });

  test("configuration", () => {
    const spec = { strictAffinity: false, autoAllocateBlocks: true, kubeVirtVMAddressPersistence: "Enabled" as const };
    expect(toV1("IPAMConfiguration", v3Config({ ...spec, maxBlocksPerHost: 0, ipCooldownSeconds: 0 }))).toEqual({
      kind: "IPAMConfig",
      apiVersion: "crd.projectcalico.org/v1",
      metadata: { name: "default", annotations: { [ANNOTATION]: "{}" } },
      spec,
    });
  });

  test("configuration without the switches that v1 requires", () => {
    expect(toV1("IPAMConfiguration", v3Config({ maxBlocksPerHost: 4 })).spec).toEqual({
      strictAffinity: false,
      autoAllocateBlocks: true,
      maxBlocksPerHost: 4,
    });
    expect(fromV1("IPAMConfiguration", { metadata: { name: "default" } }).spec).toEqual({});
  });
});

describe("older data", () => {
  test.each([
    ...["1", "t", "T", "TRUE", "true", "True"].map((mark) => [mark, true] as const),
    ...["", "0", "f", "F", "FALSE", "false", "False"].map((mark) => [mark, false] as const),
  ])("deleted: %j means %s, and is written in the form Calico writes", (deleted, meant) => {
    const model = fromV1("BlockAffinity", v1Affinity({ deleted }));
    expect(model.spec.deleted).toBe(meant);
    expect(toV1("BlockAffinity", model).spec.deleted).toBe(String(meant));
    expect(fromV1("IPAMBlock", v1Block({ deleted })).spec.deleted).toBe(meant);
  });

  test("an affinity without type, state and mark", () => {
    const { type, state, deleted, ...spec } = v1Affinity({}).spec;
    const model = fromV1("BlockAffinity", { ...v1Affinity({}), spec });
    expect(model.spec).toEqual({ ...spec, state: "", deleted: false });
    expect(toV1("BlockAffinity", model).spec).toEqual({ ...spec, state: "", deleted: "false" });
    expect(fromV1("BlockAffinity", v1Affinity({ type: "" })).spec).not.toHaveProperty("type");
  });

  test("null lists, maps and fields", () => {
    const model = fromV1(
      "IPAMBlock",
      v1Block(
        {
          affinity: null,
          unallocated: null,
          attributes: [{ handle_id: null, secondary: null, futureField: null }],
          sequenceNumber: null,
          sequenceNumberForAllocation: null,
          futureField: null,
        },
        { creationTimestamp: null, labels: null },
      ),
    );
    expect(model.metadata).toEqual({ name: "10-0-0-0-30" });
    expect(model.spec).toEqual({
      cidr: "10.0.0.0/30",
      allocations: [null, null, null, null],
      unallocated: [],
      attributes: [{ futureField: null }],
      strictAffinity: false,
      futureField: null,
    });
    expect(fromV1("IPAMBlock", v1Block({ allocations: null, attributes: null })).spec).toMatchObject({
      allocations: [],
      attributes: [],
    });
    expect(fromV1("IPAMHandle", { metadata: { name: "h" }, spec: { handleID: "h", block: null } }).spec).toEqual({
      handleID: "h",
      block: {},
    });
    expect(fromV3("IPReservation", { metadata: { name: "r" }, spec: { reservedCIDRs: null } }).spec).toEqual({});
  });

  test("64-bit numbers are bigint, all others numbers, however the parser gave them", () => {
    const spec = { sequenceNumber: 12, sequenceNumberForAllocation: { "0": 11, "1": 1767323045678900001n } };
    const block = fromV1("IPAMBlock", v1Block({ ...spec, unallocated: [0n, 1, 2n, 3] })).spec;
    expect(block.sequenceNumber).toBe(12n);
    expect(block.sequenceNumberForAllocation).toEqual({ "0": 11n, "1": 1767323045678900001n });
    expect(block.unallocated).toEqual([0, 1, 2, 3]);
  });

  test("a sequence number that a lossy parser rounded is refused", () => {
    const error = refusal(() => fromV1("IPAMBlock", v1Block({ sequenceNumber: 1767323045678900000 })));
    expect(error.field).toBe("spec.sequenceNumber");
  });
});

describe("the metadata annotation of v1", () => {
  const read = (annotation: unknown, metadata: object = {}) =>
    fromV1("BlockAffinity", v1Affinity({}, { annotations: { [ANNOTATION]: annotation }, ...metadata })).metadata;

  test.each(["{}", '{"creationTimestamp":null}', '{"labels":null,"annotations":null}'])(
    "%s is dropped",
    (annotation) => {
      expect(read(annotation)).toEqual({ name: "node-a-10-0-0-0-30" });
    },
  );

  test("its labels and annotations win over the object's own", () => {
    const kept = JSON.stringify({ labels: { a: "kept", b: "kept" }, annotations: { x: "kept" }, name: "other" });
    expect(
      read(kept, { labels: { a: "own", c: "own" }, annotations: { [ANNOTATION]: kept, x: "own", y: "own" } }),
    ).toEqual({
      name: "node-a-10-0-0-0-30",
      labels: { a: "kept", b: "kept", c: "own" },
      annotations: { x: "kept", y: "own" },
    });
  });

  test("an object without it keeps its metadata", () => {
    const metadata = { labels: { a: "b" }, annotations: { x: "y" } };
    expect(fromV1("BlockAffinity", v1Affinity({}, metadata)).metadata).toMatchObject(metadata);
  });

  test("it repeats Calico's labels only: one the user removes must not come back", () => {
    const model = fromV1("IPAMConfiguration", {
      metadata: { name: "default", labels: { "app.kubernetes.io/managed-by": "Helm", "projectcalico.org/x": "1" } },
    });
    expect(toV1("IPAMConfiguration", model).metadata).toEqual({
      name: "default",
      labels: { "app.kubernetes.io/managed-by": "Helm", "projectcalico.org/x": "1" },
      annotations: { [ANNOTATION]: '{"labels":{"projectcalico.org/x":"1"}}' },
    });
  });

  test.each(["", "not json", "[]", "null", '"text"', '{"labels":{"a":1}}', '{"labels":[]}'])(
    "%j is refused, with the way out",
    (annotation) => {
      const error = refusal(() => read(annotation));
      expect(error.field).toBe(`metadata.annotations["${ANNOTATION}"]`);
      expect(error.message).toContain('BlockAffinity "node-a-10-0-0-0-30"');
      expect(error.message).toContain(
        "kubectl annotate blockaffinities.crd.projectcalico.org node-a-10-0-0-0-30 projectcalico.org/metadata-",
      );
    },
  );
});
test("keys named as JavaScript's own are keys like any", () => {
  const wire = JSON.parse(
    `{"metadata": {"name": "10-0-0-0-30", "labels": {"__proto__": "l", "constructor": "c"}, "annotations": {"${ANNOTATION}": "{\\"labels\\": {\\"__proto__\\": \\"kept\\"}}"}},
      "spec": {"cidr": "10.0.0.0/30", "allocations": [], "unallocated": [], "strictAffinity": false, "__proto__": {"polluted": true}, "hasOwnProperty": 1,
      "attributes": [{"secondary": {"__proto__": "s", "toString": "t"}}]}, "__proto__": {"polluted": true}}`,
  );
  const model = fromV1("IPAMBlock", wire);
  expect(JSON.stringify(model.spec.attributes)).toBe('[{"secondary":{"__proto__":"s","toString":"t"}}]');
  expect(JSON.stringify(model.metadata.labels)).toBe('{"__proto__":"kept","constructor":"c"}');
  expect(JSON.stringify(toV1("IPAMBlock", model))).toContain('"__proto__":{"polluted":true},"hasOwnProperty":1');
  expect((model as unknown as { polluted?: true }).polluted ?? ({} as { polluted?: true }).polluted).toBeUndefined();
});
