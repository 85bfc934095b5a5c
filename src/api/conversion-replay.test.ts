import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { refusal, testFile } from "../../test/support/conversion.ts";
import { fromV1, fromV3, toV1, toV3 } from "./conversion.ts";
import { copy, type Fields, mapFields, mapValues } from "./fields.ts";
import { resources } from "./resources.ts";
import { type V1, v1Schemas } from "./v1.ts";
import type { IPAMBlock, IpamKind } from "./v3.ts";

interface Step {
  readonly op: string;
  readonly objects?: Record<string, { metadata: { name: string }; spec: Record<string, unknown> }[]>;
}
type Wire = NonNullable<Step["objects"]>[string][number];

const SCENARIOS = [
  "assign-ip",
  "block-full",
  "claim-release-affinity",
  "cooldown",
  "default-limit-20-blocks",
  "fresh-host-v4-v6",
  "max-blocks-per-host",
  "owner-attributes",
  "pool-disabled",
  "reservations",
  "three-ips-one-handle",
  "tricky-handles-and-hosts",
];
const KINDS = ["IPAMBlock", "BlockAffinity", "IPAMHandle", "IPAMConfiguration"] as const;

/** The recordings have 64-bit numbers as decimal text; the wire has them as numbers. */
function restored(wire: Wire): Wire {
  const { sequenceNumber, sequenceNumberForAllocation, ...spec } = wire.spec;
  if (sequenceNumber === undefined) return wire;
  const perOrdinal = Object.entries(sequenceNumberForAllocation ?? {}).map(([ord, n]) => [ord, BigInt(n)]);
  const numbers = {
    sequenceNumber: BigInt(sequenceNumber as string),
    sequenceNumberForAllocation: Object.fromEntries(perOrdinal),
  };
  return { ...wire, spec: { ...spec, ...numbers } };
}

/** Everything stored after each step, by step and kind. */
function stored(scenario: string, flavour: "v1" | "v3") {
  const { steps }: { steps: Step[] } = JSON.parse(testFile(`golden/scenario-${scenario}.${flavour}.json`));
  return steps.flatMap(({ op, objects }, step) =>
    objects
      ? KINDS.map((kind) => ({
          kind,
          at: `step ${step} ${op}`,
          wires: objects[resources[kind][flavour].plural]!.map(restored),
        }))
      : [],
  );
}

/**
 * Without what differs from run to run: clock values are marked, sequence numbers counted from the block's own. And
 * without the zero that only the v3 API server fills in.
 */
function comparable({ spec, ...rest }: { spec: unknown }): Fields {
  const { sequenceNumber = 0n, ...others } = spec as IPAMBlock["spec"];
  const comparableSpec = mapFields(copy(others, (value) => (TIME.test(String(value)) ? "a time" : value)) as Fields, {
    maxBlocksPerHost: (value) => value || undefined,
    sequenceNumberForAllocation: (map) => mapValues(map as Fields, (value) => (value as bigint) - sequenceNumber),
  });
  return { ...rest, spec: comparableSpec };
}
const TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}/;

describe.each(SCENARIOS)("recorded scenario %s", (scenario) => {
  test("every v1 object goes to v3 and back unchanged, and is what v1 stores", () => {
    const all = stored(scenario, "v1");
    expect(all.flatMap(({ wires }) => wires).length).toBeGreaterThan(0);
    for (const { kind, wires } of all) {
      for (const wire of wires) {
        const back = toV1<IpamKind>(kind, fromV1<IpamKind>(kind, wire));
        expect(back).toEqual(wire);
        expect(v1Schemas[kind].safeParse(back).success).toBe(true);
      }
    }
  });

  test("every v3 object is its own model, and goes to v1 and back unchanged", () => {
    for (const { kind, wires } of stored(scenario, "v3")) {
      for (const wire of wires) {
        const model = fromV3<IpamKind>(kind, wire);
        expect(toV3<IpamKind>(kind, model)).toEqual(wire);
        expect(comparable(fromV1<IpamKind>(kind, toV1<IpamKind>(kind, model)))).toEqual(comparable(model));
      }
    }
  });

  test("after each step both generations hold the same model", () => {
    const [v1, v3] = [stored(scenario, "v1"), stored(scenario, "v3")];
    expect(v1.map(({ kind, at }) => [kind, at])).toEqual(v3.map(({ kind, at }) => [kind, at]));
    for (const [i, { kind, wires }] of v1.entries()) {
      const models = wires.map((wire) => comparable(fromV1<IpamKind>(kind, wire)));
      expect(models).toEqual(v3[i]!.wires.map((wire) => comparable(fromV3<IpamKind>(kind, wire))));
    }
  });
});

describe("recorded configurations", () => {
  interface Recording {
    readonly table: { readonly note: string; readonly bodies: string[]; readonly stored: object | null }[];
    readonly storedInvalid: { readonly storedSpec: object | null }[];
  }
  const recording = (flavour: "v1" | "v3"): Recording => JSON.parse(testFile(`golden/ipamconfig.${flavour}.json`));
  const bodies = recording("v1").table.flatMap((row) => row.bodies);
  const outsideEnum = bodies.filter((body) => /Persistence":"(Bogus|enabled|)"/.test(body));

  test.each(bodies.filter((body) => !outsideEnum.includes(body)))("v1 body is read and written alike: %s", (body) => {
    expect(toV1("IPAMConfiguration", fromV1("IPAMConfiguration", JSON.parse(body)))).toEqual(JSON.parse(body));
  });

  test("a persistence that neither generation stores is refused by name", () => {
    expect(outsideEnum).toHaveLength(3);
    for (const body of outsideEnum) {
      const error = refusal(() => fromV1("IPAMConfiguration", JSON.parse(body)));
      expect(error.message).toContain('IPAMConfig "default" cannot be converted: spec.kubeVirtVMAddressPersistence is');
      expect(error.message).toContain('expected one of "Enabled"|"Disabled"');
    }
  });

  test("what both generations stored, against the rules or not, is one model", () => {
    const specs = (flavour: "v1" | "v3") => {
      const { table, storedInvalid } = recording(flavour);
      return [...table.map(({ stored }) => stored), ...storedInvalid.map(({ storedSpec }) => storedSpec)];
    };
    const v3 = specs("v3");
    const pairs = specs("v1").flatMap((spec, i) => (spec && v3[i] ? [[spec, v3[i]] as const] : []));
    expect(pairs.length).toBeGreaterThan(15);
    for (const [one, three] of pairs) {
      const [left, right] = [
        fromV1("IPAMConfiguration", { metadata: { name: "default" }, spec: one }),
        fromV3("IPAMConfiguration", { metadata: { name: "default" }, spec: three }),
      ];
      expect(comparable(left)).toEqual(comparable(right));
    }
  });
});

describe("legacy and damaged objects of the case collection", () => {
  const blocks = parseAllDocuments(testFile("cases/inputs/08-ipamblocks-legacy-and-damaged.yaml")).map(
    (document) => document.toJS() as V1<"IPAMBlock">,
  );
  const read = (name: string) => fromV1("IPAMBlock", blocks.find((block) => block.metadata.name === name)!);

  test("all six blocks are read, and written back with what they had", () => {
    expect(blocks).toHaveLength(6);
    for (const block of blocks) {
      const written = toV1("IPAMBlock", fromV1("IPAMBlock", block));
      expect(v1Schemas.IPAMBlock.safeParse(written).success).toBe(true);
      expect(fromV1("IPAMBlock", written)).toEqual(fromV1("IPAMBlock", block));
      expect(written.spec.allocations).toEqual(block.spec.allocations);
      expect(written.spec.unallocated).toEqual(block.spec.unallocated);
    }
  });

  test("a: no sequence numbers stays so, an unknown `Deleted` is kept", () => {
    const { spec } = read("10-65-0-0-29");
    expect(spec).not.toHaveProperty("sequenceNumber");
    expect(spec).not.toHaveProperty("sequenceNumberForAllocation");
    expect(spec).toMatchObject({ Deleted: false, affinity: "host:node-a" });
  });

  test("b: the deprecated owner is kept, and gives no affinity", () => {
    expect(read("10-65-0-8-29").spec).toMatchObject({ hostAffinity: "node-a", allocations: Array(8).fill(null) });
    expect(read("10-65-0-8-29").spec).not.toHaveProperty("affinity");
  });

  test("c, d: null and empty affinity both mean nobody's", () => {
    expect(read("10-65-0-16-29").spec).not.toHaveProperty("affinity");
    expect(read("10-65-0-16-29").spec).toMatchObject({ strictAffinity: true, attributes: [{ secondary: {} }] });
    expect(read("10-65-0-24-29").spec).not.toHaveProperty("affinity");
  });

  test("d: stray text in a handle, an unused attribute and an ordinal in both lists are passed on for others to judge", () => {
    const { spec } = read("10-65-0-24-29");
    expect(spec.attributes.map((attribute) => attribute.handle_id)).toEqual([
      "k8s-pod-network.bbbb\r\neth0",
      "k8s-pod-network.cccc",
    ]);
    expect(spec).toMatchObject({ sequenceNumber: 12n, sequenceNumberForAllocation: { "0": 11n } });
  });

  test("e, f: a cooling address, a field of the future, a virtual owner", () => {
    const { spec } = read("10-65-0-32-29");
    expect(spec.attributes[0]).toEqual({ secondary: {}, releasedAt: "2026-01-01T00:00:00Z" });
    expect(spec).toMatchObject({ futureField: "keep-me" });
    expect(read("10-65-0-40-29").spec.affinity).toBe("virtual:node-c");
  });

  const others: { handles: object[]; reservations: object[] } = JSON.parse(
    testFile("cases/inputs/10-handles-and-reservations.json"),
  );
  test.each([
    ...others.handles.map((wire) => ["IPAMHandle", wire] as const),
    ...others.reservations.map((wire) => ["IPReservation", wire] as const),
  ] as const)("%s %j is read as it is", (kind, wire) => {
    const model = fromV1<IpamKind>(kind, wire);
    expect(model).toMatchObject(wire);
    expect(fromV1<IpamKind>(kind, toV1<IpamKind>(kind, model))).toEqual(model);
  });
});
