/** Each invariant with a damaged data set that shows it and nothing else, beside sound ones that show nothing. */
import { describe, expect, it } from "vitest";
import type { IPAMBlock, IPAMBlockSpec } from "../../src/api/v3.ts";
import { affinity, block, configuration, handle, pool, reservation, usedBlock } from "../support/ipam-data.ts";
import { type CheckOptions, check, type ListedObjects, type PoolReport } from "./check.ts";

const NOW = new Date("2026-01-02T04:00:00Z");
const RANGE = "10.0.0.0/30";
const OTHER = "10.0.0.4/30";
const COOLING = { releasedAt: "2026-01-02T03:59:30Z" };
const LABELLED = { name: "node-a", labels: { zone: "a" } };

const counts = (cidr: string, capacity: number, inUse: number, reserved: number, available: number) => ({
  cidr,
  capacity,
  inUse,
  reserved,
  available,
});
const utilization = (over: Partial<PoolReport> = {}): PoolReport[] => [
  { name: "p4", ...counts("10.0.0.0/28", 16, 2, 6, 9), blocks: [counts(RANGE, 4, 2, 1, 1)], ...over },
];

/** One block with a live, a cooling and two free addresses, and all that belongs to it. */
const sound: ListedObjects = {
  blocks: [usedBlock(RANGE, "node-a", { 0: { handle_id: "h1", secondary: { node: "node-a" } }, 2: COOLING })],
  affinities: [affinity("node-a", RANGE)],
  handles: [handle("h1", { [RANGE]: 1 })],
  configurations: [configuration({ strictAffinity: true, autoAllocateBlocks: false, maxBlocksPerHost: 2 })],
  pools: [pool("p4", "10.0.0.0/28", { blockSize: 30, nodeSelector: "zone == 'a'" })],
  reservations: [
    reservation("r1", "10.0.0.8/30", "10.0.0.10/31"),
    reservation("r2", " 10.0.0.0 ", "nonsense", "10.0.0.5"),
  ],
  nodes: [LABELLED],
  utilization: utilization(),
};

/** The sound set's block with other spec fields or metadata. */
function damagedBlock(
  spec: Partial<IPAMBlockSpec>,
  metadata: Partial<IPAMBlock["metadata"]> = {},
): Partial<ListedObjects> {
  const whole = sound.blocks[0]!;
  return { blocks: [{ ...whole, metadata: { ...whole.metadata, ...metadata }, spec: { ...whole.spec, ...spec } }] };
}
const live = sound.blocks[0]!.spec.attributes[0]!;
const without = { utilization: [] };
const second = (spec: Partial<IPAMBlockSpec> = {}, cidr = OTHER) =>
  usedBlock(cidr, "node-a", { 0: live }, { attributes: [live], ...spec });
const withSecond = { affinities: [...sound.affinities, affinity("node-a", OTHER)], ...without };
const twice = [handle("h1", { [RANGE]: 1, [OTHER]: 1 })];
const labels = { ...sound.affinities[0]!.metadata.labels };
const row = (metadata: object) => [
  { ...sound.affinities[0]!, metadata: { ...sound.affinities[0]!.metadata, ...metadata } },
];
const noLabels = Object.fromEntries(Object.keys(labels).map((key) => [key, undefined])) as unknown as typeof labels;

type Damage = readonly [
  invariant: number,
  what: string,
  damage: Partial<ListedObjects>,
  options?: Partial<CheckOptions>,
];

const always: Damage[] = [
  [
    1,
    "fewer allocations than addresses",
    { ...damagedBlock({ allocations: [0, null, 1], unallocated: [1] }), ...without },
  ],
  [1, "host bits in the CIDR", damagedBlock({ cidr: "10.0.0.1/30" })],
  [1, "another name than the CIDR's", damagedBlock({}, { name: "10-0-0-4-30" })],
  [2, "an index without attribute", damagedBlock({ attributes: [live] })],
  [3, "an attribute nobody points to", damagedBlock({ attributes: [live, COOLING, {}] })],
  [4, "an ordinal queued twice", { ...damagedBlock({ unallocated: [1, 3, 3] }), ...without }],
  [4, "an ordinal out of range", { ...damagedBlock({ unallocated: [1, 3, 4] }), ...without }],
  [4, "an allocated ordinal in the queue", { ...damagedBlock({ unallocated: [1, 2, 3] }), ...without }],
  [4, "a free ordinal that is not queued", { ...damagedBlock({ unallocated: [3] }), ...without }],
  [5, "a number for a free ordinal", damagedBlock({ sequenceNumberForAllocation: { "1": 5n } })],
  [5, "a number for what is no ordinal", damagedBlock({ sequenceNumberForAllocation: { "00": 5n } })],
  [6, "an ordinal ahead of its block", damagedBlock({ sequenceNumberForAllocation: { "0": 1001n } })],
  [
    6,
    "an ordinal level with a block that was updated",
    damagedBlock({ sequenceNumberForAllocation: { "0": 1000n } }, { generation: 2 }),
  ],
  [
    7,
    "a cooling entry with attributes",
    damagedBlock({ attributes: [live, { ...COOLING, secondary: { node: "n" } }] }),
  ],
  [
    7,
    "a release in the future",
    damagedBlock({ attributes: [live, { releasedAt: "2026-01-02T04:00:06Z" }] }),
    { clockSkewSeconds: 5 },
  ],
  [7, "a release at no time", damagedBlock({ attributes: [live, { releasedAt: "yesterday" }] })],
  [
    10,
    "blocks that overlap",
    {
      blocks: [...sound.blocks, block("10.0.0.0/29", { affinity: "host:node-a" })],
      affinities: [...sound.affinities, affinity("node-a", "10.0.0.0/29")],
      ...without,
    },
  ],
  [
    21,
    "a second block of one CIDR",
    { blocks: [...sound.blocks, block(RANGE, { affinity: "host:node-a" })], ...without },
  ],
  [22, "a confirmed row to another owner's block", { affinities: [...sound.affinities, affinity("node-b", RANGE)] }],
  [
    28,
    "a label of another host",
    { affinities: row({ labels: { ...labels, "projectcalico.org/hostname-hash": "X" } }) },
  ],
  [29, "another name than host and CIDR give", { affinities: row({ name: "node-a-10-0-0-0-29" }) }],
  [30, "a count below the truth", { blocks: [usedBlock(RANGE, "node-a", { 0: live, 2: live })] }],
  [30, "a handle without row", { handles: [] }],
  [31, "a count of zero", { handles: [handle("h1", { [RANGE]: 1, [OTHER]: 0 })] }],
  [31, "a block that is not written canonically", { handles: [handle("h1", { "10.0.0.1/30": 1 })] }],
  [31, "an empty row", { handles: [...sound.handles, handle("h2", {})] }],
  [
    33,
    "an id that does not give the name",
    { handles: [{ ...handle("h1", { [RANGE]: 1 }), spec: { handleID: "h2", block: { [RANGE]: 1 } } }] },
  ],
  [34, "nothing may be allocated anywhere", { configurations: [configuration({ autoAllocateBlocks: false })] }],
  [34, "a cap without strict affinity", { configurations: [configuration({ maxBlocksPerHost: 2 })] }],
  [35, "cooling addresses reported as available", { utilization: utilization({ available: 10 }) }],
  [35, "reservations counted twice", { utilization: utilization({ reserved: 8 }) }],
  [36, "a block's sum that does not come out", { utilization: utilization({ blocks: [counts(RANGE, 4, 1, 1, 1)] }) }],
];

const atRest: Damage[] = [
  [
    10,
    "a block of another size than the pool's",
    { pools: [pool("p4", "10.0.0.0/28", { blockSize: 29, nodeSelector: "zone == 'a'" })] },
  ],
  [22, "a confirmed row without block", { affinities: [...sound.affinities, affinity("node-a", OTHER)] }],
  [23, "a block whose owner has no row", { affinities: [] }],
  [
    24,
    "a row that is going away",
    { affinities: [...sound.affinities, affinity("node-a", OTHER, { state: "pendingDeletion" })] },
  ],
  [
    25,
    "a host above the cap",
    { blocks: [...sound.blocks, second()], ...withSecond, handles: twice },
    { maxBlocksPerHost: 1 },
  ],
  [27, "an empty block of nobody", { blocks: [...sound.blocks, block(OTHER)] }],
  [28, "a row without labels", { affinities: row({ labels: noLabels }) }],
  [30, "a count above the truth", { handles: [handle("h1", { [RANGE]: 2 })] }],
  [32, "a row for nothing", { handles: [...sound.handles, handle("h2", { [RANGE]: 1 })] }],
];

const numbers = (damage: Partial<ListedObjects>, options: Partial<CheckOptions>) =>
  new Set(check({ ...sound, ...damage }, { mode: "atRest", now: NOW, ...options }).map(({ invariant }) => invariant));

describe("a damaged data set shows exactly its invariant", () => {
  it("for every invariant that objects can show", () => {
    const shown = new Set([...always, ...atRest].map(([invariant]) => invariant)).add(9);
    const aboutHistory = [8, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 26];
    const all = Array.from({ length: 36 }, (_, index) => index + 1);
    expect(all.filter((invariant) => !shown.has(invariant))).toEqual(aboutHistory);
  });

  it.for(always)("%i: %s", ([invariant, , damage, options]) => {
    expect([...numbers(damage, options ?? {})]).toEqual([invariant]);
    expect([...numbers(damage, { ...options, mode: "always" })]).toEqual([invariant]);
  });

  it.for(atRest)("%i at rest: %s", ([invariant, , damage, options]) => {
    expect([...numbers(damage, options ?? {})]).toEqual([invariant]);
    expect([...numbers(damage, { ...options, mode: "always" })]).toEqual([]);
  });

  it.each([
    [9, "an affinity without type", { affinity: "node-a" }, 23],
    [9, "an affinity without name", { affinity: "host:" }, 23],
    [9, "a claim time on nobody's block", { affinity: undefined }, 22],
  ] as const)("%i: %s, and at rest the row that does not fit it", (invariant, _what, spec, alsoAtRest) => {
    const damage = { ...damagedBlock(spec), affinities: [] };
    expect([...numbers(damage, { mode: "always" })]).toEqual([invariant]);
    const row = alsoAtRest === 22 ? sound.affinities : [];
    expect([...numbers({ ...damage, affinities: row }, {})]).toEqual([invariant, alsoAtRest]);
  });
});

describe("sound data shows nothing", () => {
  const { affinity: _owner, affinityClaimTime: _since, ...borrowed } = second().spec;
  const soundSets: (readonly [string, Partial<ListedObjects>])[] = [
    ["one of everything", {}],
    [
      "a pool whose selector cannot be read",
      { pools: [pool("p4", "10.0.0.0/28", { blockSize: 30, nodeSelector: "zone = 'a'" })] },
    ],
    ["nothing", { blocks: [], affinities: [], handles: [], ...without }],
    ["two blocks at the cap", { blocks: [...sound.blocks, second()], ...withSecond, handles: twice }],
    [
      "a block of nobody that is in use",
      { blocks: [...sound.blocks, { ...second(), spec: borrowed }], handles: twice, ...without },
    ],
    [
      "numbers absent, as in old data",
      damagedBlock({ sequenceNumber: undefined, sequenceNumberForAllocation: undefined }),
    ],
    [
      "a block just created, level with its ordinal",
      damagedBlock({ sequenceNumberForAllocation: { "0": 1000n } }, { generation: 1 }),
    ],
    ["empty maps in a cooling entry", damagedBlock({ attributes: [live, { ...COOLING, secondary: {} }] })],
    ["stray text behind a handle", damagedBlock({ attributes: [{ handle_id: "h1\r\neth0" }, COOLING] })],
    ["a handle in other case, as its row counts it", damagedBlock({ attributes: [{ handle_id: "H1" }, COOLING] })],
    [
      "Windows-reserved addresses, which have no row",
      damagedBlock({ attributes: [live, { handle_id: "Windows-Reserved-IPAM-Handle" }] }),
    ],
    ["a row older than states and types", { affinities: [affinity("node-a", RANGE, { state: "", type: undefined })] }],
    [
      "rows marked as deleted",
      {
        blocks: [...sound.blocks, block(OTHER, { deleted: true })],
        affinities: [...sound.affinities, affinity("node-b", OTHER, { deleted: true, state: "pendingDeletion" })],
        handles: [...sound.handles, { ...handle("h2", {}), spec: { handleID: "h2", block: {}, deleted: true } }],
      },
    ],
    [
      "more addresses than 2^63-1",
      {
        pools: [...sound.pools, pool("p6", "fd00::/48")],
        utilization: [
          ...utilization(),
          {
            name: "p6",
            ...counts("fd00::/48", 0, 0, 0, 0),
            capacity: 2n ** 80n,
            available: 2n ** 63n - 1n,
            blocks: [],
          },
        ],
      },
    ],
    [
      "a block older than its pool",
      {
        ...damagedBlock({}, { creationTimestamp: "2025-01-01T00:00:00Z" }),
        pools: [
          {
            ...pool("p4", "10.0.0.0/28", { blockSize: 29 }),
            metadata: { name: "p4", creationTimestamp: "2026-01-01T00:00:00Z" },
          },
        ],
      },
    ],
    [
      "orphaned blocks reported",
      {
        utilization: [
          ...utilization(),
          { name: "orphaned allocation blocks", ...counts("0.0.0.0/0", 0, 0, 0, 0), blocks: [] },
        ],
      },
    ],
  ];

  it.each(soundSets)("%s", (_what, objects) => {
    expect(check({ ...sound, ...objects }, { mode: "atRest", now: NOW })).toEqual([]);
  });
});
