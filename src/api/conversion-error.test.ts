import { describe, expect, test } from "vitest";
import { refusal, v1Affinity, v1Block, v3Config } from "../../test/support/conversion.ts";
import { fromV1, fromV3, toV1 } from "./conversion.ts";

describe("what cannot be converted is refused with object, field, value and what to do", () => {
  const cases: [string, () => unknown, string][] = [
    [
      "text as mark",
      () => fromV1("BlockAffinity", v1Affinity({ deleted: "maybe" })),
      'BlockAffinity "node-a-10-0-0-0-30" cannot be converted: spec.deleted is "maybe": expected boolean, received string. Correct it: kubectl edit blockaffinities.crd.projectcalico.org node-a-10-0-0-0-30',
    ],
    ["unknown state", () => fromV1("BlockAffinity", v1Affinity({ state: "lost" })), 'spec.state is "lost"'],
    [
      "no CIDR",
      () => fromV1("BlockAffinity", v1Affinity({ cidr: "10.0.0.300/30" })),
      'spec.cidr is "10.0.0.300/30", which is no CIDR',
    ],
    [
      "damaged allocation",
      () => fromV1("IPAMBlock", v1Block({ allocations: [null, "x"] })),
      'spec.allocations[1] is "x": expected number, received string',
    ],
    ["list of nothing", () => fromV1("IPAMBlock", v1Block({ attributes: [null] })), "spec.attributes[0] is null"],
    ["lists as text", () => fromV1("IPAMBlock", v1Block({ attributes: "x" })), 'spec.attributes is "x"'],
    [
      "map as list",
      () => fromV1("IPAMBlock", v1Block({ sequenceNumberForAllocation: [] })),
      "spec.sequenceNumberForAllocation is a list",
    ],
    [
      "text as number",
      () => fromV1("IPAMBlock", v1Block({ sequenceNumberForAllocation: { "7": "x" } })),
      'spec.sequenceNumberForAllocation.7 is "x"',
    ],
    [
      "no handle",
      () => fromV3("IPAMHandle", { metadata: { name: "h" }, spec: {} }),
      'IPAMHandle "h" cannot be converted: spec.handleID is missing. Correct it: kubectl edit ipamhandles.projectcalico.org h',
    ],
    [
      "text as count",
      () => fromV3("IPAMHandle", { metadata: { name: "h" }, spec: { handleID: "h", block: { "10.0.0.0/30": {} } } }),
      'spec.block["10.0.0.0/30"] is an object',
    ],
    [
      "text as switch",
      () => fromV3("IPAMConfiguration", v3Config({ strictAffinity: "true" })),
      'spec.strictAffinity is "true": expected boolean, received string',
    ],
    ["no spec", () => fromV1("IPAMBlock", { metadata: { name: "b" } }), "spec.cidr is missing"],
    ["text as spec", () => fromV1("IPAMBlock", { metadata: { name: "b" }, spec: "x" }), "spec is not an object"],
    ["no name", () => fromV1("IPReservation", { metadata: {}, spec: {} }), "metadata.name is missing"],
    [
      "other group",
      () => fromV3("IPAMBlock", v1Block({})),
      'apiVersion is "crd.projectcalico.org/v1", not "projectcalico.org/v3"',
    ],
    [
      "other kind",
      () => fromV1("IPAMConfiguration", { kind: "IPAMConfiguration", metadata: { name: "default" } }),
      'IPAMConfig "default" cannot be converted: kind is "IPAMConfiguration", not "IPAMConfig"',
    ],
    [
      "model with a number for a bigint",
      () =>
        toV1("IPAMBlock", {
          ...fromV1("IPAMBlock", v1Block({})),
          spec: { ...fromV1("IPAMBlock", v1Block({})).spec, sequenceNumber: 1 as unknown as bigint },
        }),
      "spec.sequenceNumber is 1: expected bigint, received number. Nothing was written",
    ],
  ];
  test.each(cases)("%s", (_, convert, message) => expect(refusal(convert).message).toContain(message));

  test("the error carries kind, object and field", () => {
    expect(
      refusal(() =>
        fromV1("IPAMConfiguration", { ...v3Config({ autoAllocateBlocks: 1 }), apiVersion: undefined, kind: undefined }),
      ),
    ).toMatchObject({
      name: "ConversionError",
      kind: "IPAMConfig",
      object: "default",
      field: "spec.autoAllocateBlocks",
    });
  });
});
