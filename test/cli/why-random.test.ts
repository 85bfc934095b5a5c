/** TRY-40: in random states too, what `why` says to run clears what it leads with, and the library then agrees. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { AllocationAttribute } from "../../src/api/v3.ts";
import type { PodFacts } from "../../src/judgement/facts.ts";
import { emptySnapshot, type Snapshot } from "../../src/judgement/snapshot.ts";
import { affinity, configuration, handle, pool, reservation, usedBlock } from "../support/ipam-data.ts";
import { NOW, node, ofPod, pod, sound } from "./sound.ts";
import { carryOut, nextAddresses, whyOn } from "./why-site.ts";
import { siteOf } from "./writing-site.ts";

const RANGES = ["10.0.0.0/30", "10.0.0.4/30", "10.0.0.8/30", "10.0.0.12/30"];

type Use = "free" | "alive" | "leaked" | "cooling";
interface RandomBlock {
  /** node-z is gone. */
  readonly host: "node-a" | "node-b" | "node-z";
  readonly uses: readonly Use[];
  readonly affinity: boolean;
  /** Another's block that node-a claims as well. */
  readonly claimedTwice: boolean;
}

const use = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Use>("alive") },
  { weight: 2, arbitrary: fc.constantFrom<Use[]>("leaked") },
  { weight: 1, arbitrary: fc.constantFrom<Use[]>("free", "cooling") },
);
const block = fc.record<RandomBlock>({
  host: fc.constantFrom("node-a", "node-a", "node-b", "node-z"),
  uses: fc.array(use, { minLength: 4, maxLength: 4 }),
  affinity: fc.integer({ min: 0, max: 7 }).map((number) => number > 0),
  claimedTwice: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
});
const settings = fc.oneof(
  fc.record({
    strictAffinity: fc.constant(true),
    autoAllocateBlocks: fc.boolean(),
    maxBlocksPerHost: fc.integer({ min: 0, max: 3 }),
  }),
  fc.constant({ strictAffinity: false, autoAllocateBlocks: true }),
);
const reserved = fc.option(fc.constantFrom(...RANGES), { nil: undefined, freq: 4 });
const state = fc
  .tuple(settings, fc.array(fc.option(block, { freq: 6 }), { minLength: 4, maxLength: 4 }), reserved)
  .map(([spec, blocks, range]): Snapshot => {
    const parts = blocks.flatMap((each, at) => (each === null ? [] : [stored(each, at)]));
    return {
      ...emptySnapshot(NOW.toISOString(), "projectcalico.org/v3"),
      pools: [pool("pods", "10.0.0.0/28", { blockSize: 30 })],
      configurations: [configuration({ ipCooldownSeconds: 300, ...spec })],
      blocks: parts.map((part) => part.block),
      affinities: parts.flatMap((part) => part.affinities),
      handles: parts.flatMap((part) => part.handles),
      reservations: range === undefined ? [] : [reservation("res", range)],
      pods: [...parts.flatMap((part) => part.pods), pod("waiting", "node-a", [], { phase: "Pending" })],
      nodes: [node("node-a"), node("node-b")],
      namespaces: [{ name: "shop", labels: {} }],
      services: [],
      events: [],
      clusterInformation: sound.clusterInformation!,
    };
  });

function stored({ host, uses, affinity: hasRow, claimedTwice }: RandomBlock, at: number) {
  const cidr = RANGES[at]!;
  const named = (ordinal: number) => `p${at}-${ordinal}`;
  const held = uses.flatMap((each, ordinal) => (each === "alive" || each === "leaked" ? [{ each, ordinal }] : []));
  const entries = uses.flatMap((each, ordinal): [number, AllocationAttribute][] => {
    if (each === "free") return [];
    return [[ordinal, each === "cooling" ? { releasedAt: "2026-01-02T11:59:00Z" } : ofPod(named(ordinal), host)]];
  });
  const running = held.filter(({ each }) => each === "alive");
  return {
    block: usedBlock(cidr, host, Object.fromEntries(entries)),
    affinities: [
      ...(hasRow ? [affinity(host, cidr)] : []),
      ...(claimedTwice && host !== "node-a" ? [affinity("node-a", cidr)] : []),
    ],
    handles: held.map(({ ordinal }) => handle(`k8s-pod-network.${named(ordinal)}`, { [cidr]: 1 })),
    pods: running.map(({ ordinal }): PodFacts => pod(named(ordinal), host, [`10.0.0.${at * 4 + ordinal}`])),
  };
}

/** Of these a person decides, or time. */
const NOT_RUN = ["PoolExhausted", "Reserved", "CoolingDown"];
/** One step may free only one of several pods or blocks. */
const MOST_ROUNDS = 16;

it("every command clears its cause, and in the end the library gives an address", async () => {
  const property = fc.asyncProperty(state, async (snapshot) => {
    const site = await siteOf(snapshot);
    const told: string[] = [];
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { causes, state: verdict } = await whyOn(site);
      if (verdict !== "fails") {
        expect(await nextAddresses(site), told.join("; ")).toHaveLength(1);
        return;
      }
      const { code, message, command } = causes[0]!;
      expect(told).not.toContain(`${code} ${message}`);
      told.push(`${code} ${message}`);
      if (NOT_RUN.includes(code)) return;
      await carryOut(site, command);
    }
    throw new Error(`no end: ${told.join("; ")}`);
  });
  await fc.assert(property, { numRuns: 40 });
});
