import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ANNOTATION } from "../../test/support/conversion.ts";
import { fromV1, fromV3, toV1, toV3 } from "./conversion.ts";
import { copy } from "./fields.ts";
import { resources } from "./resources.ts";
import { v1Schemas } from "./v1.ts";
import { AFFINITY_STATES, type IpamKind } from "./v3.ts";

interface Wire {
  readonly metadata: { readonly labels?: object; readonly annotations?: object };
  readonly spec: Readonly<Record<string, unknown>>;
}

const key = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom("__proto__", "constructor", "toString"));
const texts = fc.dictionary(key, fc.string(), { noNullPrototype: true });
/** A new release's field: any JSON, 64-bit integers as the lossless parser gives them. */
const future = fc.oneof(
  fc.jsonValue({ noUnicodeString: false, maxDepth: 2 }).map(withoutNegativeZero),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
);
const int64 = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const cidr = fc.constantFrom("10.0.0.0/30", "10.1.2.4/30", "fd00::/126", "2001:db8::40/122");
const time = fc.constantFrom("2026-01-02T03:04:05Z", "2026-11-29T16:03:35Z");
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const attribute = fc.record(
  { handle_id: fc.string(), secondary: texts, alternateOwnerAttrs: texts, releasedAt: time, futureField: future },
  { requiredKeys: [], noNullPrototype: true },
);
/** Specs that both generations can store, in the form the model has them. */
const specs: Record<IpamKind, fc.Arbitrary<Record<string, unknown>>> = {
  IPAMBlock: fc.record({
    cidr,
    affinity: optional(fc.constantFrom("host:node-a", "virtual:load-balancer")),
    affinityClaimTime: optional(time),
    allocations: fc.array(fc.option(fc.nat())),
    unallocated: fc.array(fc.nat()),
    attributes: fc.array(attribute, { maxLength: 3 }),
    sequenceNumber: optional(int64),
    sequenceNumberForAllocation: optional(fc.dictionary(fc.nat(63).map(String), int64, { noNullPrototype: true })),
    deleted: optional(fc.boolean()),
    strictAffinity: fc.boolean(),
  }),
  BlockAffinity: fc.record({
    state: fc.constantFrom(...AFFINITY_STATES),
    node: fc.string(),
    type: optional(fc.constantFrom("host", "virtual")),
    cidr,
    deleted: fc.boolean(),
  }),
  IPAMHandle: fc.record({
    handleID: fc.string(),
    block: fc.dictionary(cidr, fc.integer(), { noNullPrototype: true }),
    deleted: optional(fc.boolean()),
  }),
  IPAMConfiguration: fc.record({
    strictAffinity: fc.boolean(),
    autoAllocateBlocks: fc.boolean(),
    maxBlocksPerHost: optional(fc.integer({ min: -5, max: 2_147_483_647 }).filter((n) => n !== 0)),
    ipCooldownSeconds: optional(fc.integer({ min: 1, max: 1200 })),
    kubeVirtVMAddressPersistence: optional(fc.constantFrom("Enabled", "Disabled")),
  }),
  IPPool: fc.record({
    cidr,
    vxlanMode: optional(fc.string()),
    natOutgoing: optional(fc.boolean()),
    blockSize: optional(fc.integer({ min: 0, max: 128 })),
    nodeSelector: optional(fc.string()),
    allowedUses: optional(fc.array(fc.string())),
  }),
  IPReservation: fc.record({ reservedCIDRs: optional(fc.array(fc.string())) }),
};
const calicoLabels = { "projectcalico.org/affinity-type": "host" };
/** An API server does not store empty maps of labels or annotations. */
const metadata = fc
  .record({
    name: fc.string({ minLength: 1 }),
    uid: optional(fc.uuid()),
    resourceVersion: optional(fc.nat().map(String)),
    creationTimestamp: optional(time),
    labels: optional(fc.oneof(texts, fc.constant(calicoLabels))),
    annotations: optional(texts),
    finalizers: optional(fc.array(fc.string())),
  })
  .map((fields) => stored(fields, ([name, value]) => !["labels", "annotations"].includes(name) || notEmpty(value)));

const KINDS = Object.keys(resources) as IpamKind[];

function wire(kind: IpamKind, flavour: "v1" | "v3"): fc.Arbitrary<Wire> {
  const { group, version, kind: wireKind } = resources[kind][flavour];
  const fields = { metadata, spec: specs[kind], futureField: optional(future), futureInSpec: optional(future) };
  return fc.record(fields).map(({ metadata, spec, futureInSpec, ...rest }) => ({
    ...stored({ apiVersion: `${group}/${version}`, kind: wireKind, ...rest }),
    metadata,
    spec: stored({ ...spec, futureInSpec }),
  }));
}

/** As v1 stores it: the annotation always there, the mark of an affinity as text. */
const v1Wire = (kind: IpamKind) =>
  wire(kind, "v1").map(({ metadata, spec, ...rest }): Wire => {
    const { labels, annotations } = metadata;
    const kept = labels === calicoLabels ? { labels } : {};
    return {
      ...rest,
      metadata: { ...metadata, annotations: { ...annotations, [ANNOTATION]: JSON.stringify(kept) } },
      spec: kind === "BlockAffinity" ? { ...spec, deleted: String(spec["deleted"]) } : spec,
    };
  });

describe.each(KINDS)("%s", (kind) => {
  test("v3 to v1 and back is the identity, and v1's schema holds in between", () => {
    fc.assert(
      fc.property(wire(kind, "v3"), (object) => {
        const model = fromV3<IpamKind>(kind, object);
        const v1 = toV1<IpamKind>(kind, model);
        expect(v1Schemas[kind].safeParse(v1).success).toBe(true);
        expect(fromV1<IpamKind>(kind, v1)).toStrictEqual(model);
      }),
    );
  });

  test("v1 to v3 and back is the identity", () => {
    fc.assert(
      fc.property(v1Wire(kind), (object) => {
        const v3 = toV3<IpamKind>(kind, fromV1<IpamKind>(kind, object));
        expect(toV1<IpamKind>(kind, fromV3<IpamKind>(kind, v3))).toStrictEqual(object);
      }),
    );
  });

  test("v3 stays what it is, unknown fields included", () => {
    fc.assert(
      fc.property(wire(kind, "v3"), (object) => {
        expect(toV3<IpamKind>(kind, fromV3<IpamKind>(kind, object))).toStrictEqual(object);
      }),
    );
  });

  test("no conversion changes what it is given", () => {
    fc.assert(
      fc.property(v1Wire(kind), (object) => {
        const before = copy(object);
        const model = fromV1<IpamKind>(kind, object);
        const modelBefore = copy(model);
        toV1<IpamKind>(kind, model);
        fromV3<IpamKind>(kind, toV3<IpamKind>(kind, model));
        expect(object).toStrictEqual(before);
        expect(model).toStrictEqual(modelBefore);
      }),
    );
  });

  test("what is returned shares nothing with what was given", () => {
    fc.assert(
      fc.property(wire(kind, "v3"), (object) => {
        const model = fromV3<IpamKind>(kind, object);
        expect(model.metadata).not.toBe(object.metadata);
        expect(toV1<IpamKind>(kind, model).spec).not.toBe(model.spec);
        expect(toV3<IpamKind>(kind, model).spec).not.toBe(model.spec);
      }),
    );
  });
});

test("labels in the v1 annotation reach the model, whatever their keys", () => {
  fc.assert(
    fc.property(texts.filter(notEmpty), (labels) => {
      const annotations = { [ANNOTATION]: JSON.stringify({ labels }) };
      const model = fromV1("IPReservation", { metadata: { name: "r", annotations }, spec: {} });
      expect(model.metadata).toStrictEqual({ name: "r", labels });
    }),
  );
});

function notEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/** As JSON comes off the wire: plain objects, nothing undefined. */
function stored(fields: object, keep: (entry: [string, unknown]) => boolean = () => true): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter((entry) => entry[1] !== undefined && keep(entry)));
}

/** JSON on the wire knows no negative zero. */
function withoutNegativeZero(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
