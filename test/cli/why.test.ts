/** `ipamctl why` by situation. In each, the real library is asked too: it gives the next pod no address. */
import { describe, expect, it } from "vitest";
import type { IPAMConfigurationSpec } from "../../src/api/v3.ts";
import type { EventFacts } from "../../src/judgement/facts.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { CAUSES } from "../../src/judgement/why/codes.ts";
import { affinity, configuration, pool, reservation } from "../support/ipam-data.ts";
import { ipamctl } from "./ipamctl.ts";
import { type Situation, situation } from "./situations.ts";
import { node, pod, sound } from "./sound.ts";

const POOL = pool("pods", "10.0.0.0/29", { blockSize: 30 });
const names = (count: number, prefix = "p") => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

async function made(spec: IPAMConfigurationSpec, ...pools: (typeof POOL)[]): Promise<Situation> {
  const here = situation();
  for (const made of pools.length > 0 ? pools : [POOL]) await here.store.create(made);
  await here.store.create(configuration(spec));
  return here;
}

const why = (snapshot: Snapshot, ...args: string[]) => ipamctl(["why", ...args], { snapshot });
const answer = async (snapshot: Snapshot, ...args: string[]) => {
  const ran = await why(snapshot, ...args, "-o", "json");
  return { ...JSON.parse(ran.stdout), code: ran.code };
};
const codes = ({ causes }: { causes: { code: string }[] }) => causes.map(({ code }) => code);

/** A situation, what it is called, and what is in its one line. */
type Case = readonly [what: string, cause: keyof typeof CAUSES, line: RegExp, make: () => Promise<Situation>];

const CASES: readonly Case[] = [
  [
    "pool exhausted",
    "PoolExhausted",
    /pool "pods" \(10\.0\.0\.0\/29\): no block is left to claim, and of the 8 addresses in blocks none is free/,
    async () => {
      const here = await made({});
      await here.fill("node-a", ...names(8));
      return here;
    },
  ],
  [
    "cap reached",
    "BlockCapReached",
    /node-a has 1 of at most 1 blocks \(maxBlocksPerHost\)/,
    async () => {
      const here = await made({ strictAffinity: true, maxBlocksPerHost: 1 });
      await here.fill("node-a", ...names(4));
      return here;
    },
  ],
  [
    "strict affinity",
    "StrictAffinity",
    /strictAffinity is true: .*; the 3 addresses that are free in pool "pods" .* are in blocks of others/,
    async () => {
      const here = await made({ strictAffinity: true });
      await here.fill("node-b", "b");
      await here.fill("node-a", ...names(4));
      return here;
    },
  ],
  [
    "leaked addresses",
    "LeakedAddress",
    /2 of the 8 addresses that node-a could use are leaked: 10\.0\.0\.0, 10\.0\.0\.1/,
    async () => {
      const here = await made({});
      await here.fill("node-a", ...names(8));
      here.lose("p0", "p1");
      return here;
    },
  ],
  [
    "reserved",
    "Reserved",
    /8 addresses would be free, and are reserved by IPReservation all/,
    async () => {
      const here = await made({});
      await here.store.create(reservation("all", "10.0.0.0/29"));
      return here;
    },
  ],
  [
    "wrong node selector",
    "NodeNotSelected",
    /pool "pods" \(10\.0\.0\.0\/29\) does not select node node-a \(nodeSelector: zone == "x"\)/,
    () => made({}, pool("pods", "10.0.0.0/29", { blockSize: 30, nodeSelector: 'zone == "x"' })),
  ],
  [
    "invalid configuration",
    "InvalidConfiguration",
    /Cannot disable 'StrictAffinity' and 'AutoAllocateBlocks' at the same time/,
    () => made({ strictAffinity: false, autoAllocateBlocks: false }),
  ],
  [
    "affinities of a node that is gone",
    "AffinityOfGoneNode",
    /10\.0\.0\.\d\/30 have room, and their owners are gone: node-z/,
    async () => {
      const here = situation([node("node-a"), node("node-z")]);
      await here.store.create(POOL);
      await here.store.create(configuration({ strictAffinity: true }));
      await here.fill("node-z", "z");
      await here.fill("node-a", ...names(4));
      return { ...here, snapshot: (more) => here.snapshot({ nodes: [node("node-a")], ...more }) };
    },
  ],
  [
    "no pool at all",
    "NoPool",
    /cannot find a qualified ippool/,
    () => made({}, pool("v6", "fd00::/120", { blockSize: 122, allowedUses: ["LoadBalancer"] })),
  ],
  ["closed pools", "PoolsClosed", /is disabled/, () => made({}, pool("pods", "10.0.0.0/29", { disabled: true }))],
  [
    "pools for those who ask",
    "OnlyManualPools",
    /is Manual/,
    () => made({}, pool("pods", "10.0.0.0/29", { blockSize: 30, assignmentMode: "Manual" })),
  ],
  [
    "pools for Services",
    "UseNotAllowed",
    /does not allow use Workload/,
    () => made({}, pool("lb", "10.0.0.0/29", { blockSize: 30, allowedUses: ["LoadBalancer"] })),
  ],
  [
    "pools of another namespace",
    "NamespaceNotSelected",
    /does not select the namespace/,
    () => made({}, pool("pods", "10.0.0.0/29", { blockSize: 30, namespaceSelector: 'team == "x"' })),
  ],
  [
    "no claims",
    "NoClaimAllowed",
    /autoAllocateBlocks is false/,
    () => made({ strictAffinity: true, autoAllocateBlocks: false }),
  ],
  [
    "cooldown",
    "CoolingDown",
    /8 addresses cooling down, the next is free at 2026-01-02T12:05:00Z/,
    async () => {
      const here = await made({ ipCooldownSeconds: 300 });
      await here.fill("node-a", ...names(8));
      for (const name of names(8)) await here.ipam.releaseByHandle(`k8s-pod-network.${name}`);
      here.lose(...names(8));
      return here;
    },
  ],
];

describe("one command tells the cause", () => {
  it.each(CASES)("%s: %s", async (_what, cause, line, make) => {
    const here = await make();
    expect(await here.next("node-a")).toBe(0);
    const snapshot = await here.snapshot();
    const ofPod = await why(snapshot, "shop/waiting");
    expect(ofPod).toMatchObject({ code: 3, stderr: "" });
    const [first = ""] = ofPod.stdout.split("\n");
    expect(first).toMatch(/^Pod shop\/waiting gets no IP(v4|v6)? address: /);
    expect(first).toMatch(line);
    expect(first).toContain(`(${cause})`);
    const ofNode = await answer(snapshot, "--node", "node-a", "-n", "shop");
    expect(ofNode).toMatchObject({ kind: "Why", state: "fails", node: "node-a", code: 3 });
    expect(codes(ofNode)[0]).toBe(cause);
    for (const { command } of ofNode.causes)
      expect(command).toMatch(/^(ipamctl|kubectl|calicoctl) |^correct .* in its manifest$/);
  });

  it("an affinity to another's block counts towards the limit, as it does for Calico", async () => {
    const here = await made(
      { strictAffinity: true, maxBlocksPerHost: 2 },
      pool("pods", "10.0.0.0/28", { blockSize: 30 }),
    );
    await here.fill("node-a", ...names(4));
    const [taken = ""] = await here.fill("node-b", "b");
    await here.store.create(affinity("node-a", `${taken}/30`));
    const snapshot = await here.snapshot();
    const found = await answer(snapshot, "waiting");
    expect(codes(found)).toEqual(["ContradictingAffinity", "BlockCapReached"]);
    expect(found.summary).toContain("1 of the 2 blocks that count towards node-a's limit of 2 are another's");
    const { stdout } = await ipamctl(["check", "-o", "name"], { snapshot });
    expect(stdout).toContain("ContradictingAffinity");
  });

  it("an affinity of its own without a block stands in nobody's way: the block is made anew", async () => {
    const here = await made({ strictAffinity: true, maxBlocksPerHost: 2 });
    await here.fill("node-a", ...names(4));
    await here.store.create(affinity("node-a", "10.0.0.4/30"));
    const ran = await why(await here.snapshot(), "waiting");
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("gets an address at its next attempt") });
    expect(await here.next("node-a")).toBe(1);
  });

  it("a locked datastore stops everybody", async () => {
    const here = await made({});
    const locked = { clusterInformation: { ...sound.clusterInformation!, ready: false } };
    expect(codes(await answer(await here.snapshot(locked), "waiting"))).toEqual(["DatastoreLocked"]);
  });

  it("a node that is not there", async () => {
    const here = await made({});
    const pods = [pod("waiting", "node-x", [])];
    expect(codes(await answer(await here.snapshot({ pods }), "waiting"))).toEqual(["NodeUnknown"]);
  });

  it("names every cause, and a pool that has room and is for others", async () => {
    const here = await made({}, POOL, pool("zone-b", "10.1.0.0/29", { blockSize: 30, nodeSelector: 'zone == "b"' }));
    await here.store.create(reservation("one", "10.0.0.7"));
    await here.fill("node-a", ...names(7));
    here.lose("p6");
    const { causes } = await answer(await here.snapshot(), "waiting");
    expect(causes.map(({ code }: { code: string }) => code)).toEqual([
      "LeakedAddress",
      "PoolExhausted",
      "Reserved",
      "NodeNotSelected",
    ]);
    expect(causes[3].message).toContain('pool "zone-b" (10.1.0.0/29) has 8 free addresses');
  });
});

describe("where nothing stands in the way", () => {
  it.each([
    [
      "its own block has room",
      (here: Situation) => here.fill("node-a", "one"),
      /3 IPv4 addresses of its node's blocks/,
    ],
    ["there is a block to claim", (here: Situation) => here.fill("node-b", ...names(4)), /IPv4 blocks to claim/],
    [
      "there is one to borrow",
      async (here: Situation) => {
        await here.fill("node-b", "b");
        await here.fill("node-a", ...names(4));
      },
      /can be borrowed/,
    ],
  ])("%s", async (_what, prepare, line) => {
    const here = await made({});
    await prepare(here);
    const ran = await why(await here.snapshot(), "--node", "node-a");
    expect(await here.next("node-a")).toBe(1);
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(line) });
  });

  it.each([
    ["web-0", "assigned", "Pod shop/web-0 has 10.0.0.0, fd00::"],
    ["agent", "none", "is on its node's network"],
    ["done", "none", "has ended (Succeeded)"],
  ])("pod %s: %s", async (name, state, text) => {
    expect(await answer(sound, name)).toMatchObject({ code: 0, state, summary: expect.stringContaining(text) });
  });

  it("of two families only the one that is missing is looked at", async () => {
    const pods = [...sound.pods!, pod("half", "node-b", ["10.0.0.2"])];
    const { families } = await answer({ ...sound, pods }, "half");
    expect(families.map(({ family }: { family: string }) => family)).toEqual(["IPv6"]);
  });

  it("a pod that is not scheduled waits for that", async () => {
    const { node: _none, ...unscheduled } = pod("later", "", []);
    const found = await answer({ ...sound, pods: [unscheduled] }, "later");
    expect(found).toMatchObject({ code: 0, state: "none", summary: expect.stringContaining("not scheduled") });
  });
});

describe("what the pod's events say", () => {
  const event = (message: string, lastSeen = "2026-01-02T11:59:00Z"): EventFacts => ({
    namespace: "shop",
    pod: "waiting",
    message,
    count: 4,
    lastSeen,
  });
  const said = async (...events: EventFacts[]) => answer(await (await made({})).snapshot({ events }), "waiting");

  it("what no stored object shows is a cause by itself", async () => {
    const found = await said(
      event('plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized'),
    );
    expect([found.state, codes(found), found.code]).toEqual(["fails", ["NotAddresses"], 3]);
    const other = await said(
      event("failed to allocate for range 0: no IP addresses available in range set: 10.1.0.1-10.1.0.254"),
    );
    expect(codes(other)).toEqual(["OtherIPAM"]);
  });

  it("what no longer holds is told as over", async () => {
    const found = await said(
      event("cannot allocate new block due to per host block limit"),
      event("older", "2026-01-02T11:00:00Z"),
    );
    expect(found).toMatchObject({ code: 0, state: "passes", causes: [] });
    expect(found.summary).toMatch(/gets an address at its next attempt: .* at 2026-01-02T11:59:00Z \(BlockCapReached/);
    expect(found.events.map(({ message }: EventFacts) => message)).toEqual([expect.stringContaining("limit"), "older"]);
  });
});

describe("what a pod asks for by annotation", () => {
  const asking = (more: object) => ({ pods: [...sound.pods!, pod("waiting", "node-a", [], more)] });

  it.each([
    ["10.0.0.4", /is allocated to pod shop\/web-1/],
    ["10.0.0.6", /cools down until 2026-01-02T12:04:00Z/],
    ["192.0.2.1", /is in no pool/],
    ["gateway", /is no address/],
  ])("the address %s", async (address, because) => {
    const found = await answer({ ...sound, ...asking({ askedAddresses: [address] }) }, "waiting");
    expect([codes(found), found.summary]).toEqual([["AddressTaken"], expect.stringMatching(because)]);
  });

  it("an address that is free, also where it is reserved", async () => {
    expect(await answer({ ...sound, ...asking({ askedAddresses: ["10.0.0.15"] }) }, "waiting")).toMatchObject({
      code: 0,
    });
  });

  it("a pool that is not there, though others have room; the namespace's annotation counts where the pod has none", async () => {
    const v4 = { pods: [pod("waiting", "node-a", [], { askedPools: ["p9"] }), pod("other", "node-a", ["10.0.0.0"])] };
    expect(codes(await answer({ ...sound, ...v4 }, "waiting"))).toEqual(["AskedPoolMissing"]);
    const namespaces = [{ name: "shop", labels: {}, askedPools: ["p9"] }];
    const own = { pods: [pod("waiting", "node-a", [], { askedPools: ["p4"] }), pod("other", "node-a", ["10.0.0.0"])] };
    expect(await answer({ ...sound, ...own, namespaces }, "waiting")).toMatchObject({ code: 0, askedPools: ["p4"] });
    expect(codes(await answer({ ...sound, namespaces }, "--node", "node-a", "-n", "shop"))).toEqual([
      "AskedPoolMissing",
    ]);
  });
});

describe("what cannot be asked", () => {
  it.each([
    [[], 2, /name a pod, or a node/],
    [["web-0", "--node", "node-a"], 2, /name a pod or a node, not both/],
    [["web-9x"], 1, /there is no pod web-9x: did you mean shop\/web-0\?/],
    [["other/web-0"], 1, /there is no pod other\/web-0/],
    [["--node", "node-q"], 1, /there is no node node-q: did you mean node-a\?/],
  ])("why %j ends with %i", async (args, code, message) => {
    expect(await why(sound, ...args)).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) });
  });

  it("a name that two pods have", async () => {
    const pods = [...sound.pods!, { ...pod("web-0", "node-a", []), namespace: "test" }];
    const ran = await why({ ...sound, pods }, "web-0");
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining("namespaces shop, test") });
    expect((await answer({ ...sound, pods }, "web-0", "-n", "test")).subject).toBe("Pod test/web-0");
  });

  it("about a pod, where pods may not be read; about a node it can", async () => {
    const { pods: _pods, ...rest } = sound;
    const blind = { ...rest, unread: [{ part: "pods", reason: "may not list pods" }] };
    const ran = await why(blind, "web-0");
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/may not list pods. Ask about the node/) });
    expect((await why(blind, "--node", "node-b")).code).toBe(0);
  });
});

it("every cause can be explained", async () => {
  for (const code of Object.keys(CAUSES)) {
    expect(await ipamctl(["explain", code])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`${code}[^]*\n(To do|Fix): `)),
    });
  }
});

it("is as short for a person as it can be: the line, the causes, what they rest on", async () => {
  const here = await made({ strictAffinity: true, maxBlocksPerHost: 1 });
  await here.fill("node-a", ...names(4));
  const { stdout } = await why(await here.snapshot(), "waiting");
  expect(
    stdout,
  ).toBe(`Pod shop/waiting gets no IPv4 address: node-a has 1 of at most 1 blocks (maxBlocksPerHost), and no address of them is free (BlockCapReached)

IPv4 BlockCapReached
  node-a has 1 of at most 1 blocks (maxBlocksPerHost), and no address of them is free
  to do: Look for leaked addresses on the node; then raise the limit, which needs strict affinity.
  next: ipamctl configure --max-blocks-per-host 2

IPv4 blocks:      1 of at most 1 of node-a: 0 of 4 addresses free
IPv4 elsewhere:   0 blocks of others in its pools: 0 of 0 addresses free
Pool pods:        10.0.0.0/29 may be drawn from; uses Workload, Tunnel; selects all()
Configuration:    strictAffinity true, autoAllocateBlocks true, ipCooldownSeconds 0
`);
  expect((await why(await here.snapshot(), "waiting", "-o", "name")).stdout).toBe("BlockCapReached IPv4\n");
});
