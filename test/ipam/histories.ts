/** Random histories: what happens, as values that fast-check makes smaller, and how it is carried out on a cluster. */
import fc from "fast-check";
import type { IPAMBlock } from "../../src/api/v3.ts";
import { addressAt } from "../../src/ipam/block.ts";
import { formatAddress } from "../../src/net/address.ts";
import { parseCidr } from "../../src/net/cidr.ts";
import { pool, reservation } from "../support/ipam-data.ts";
import { call, type Invocation } from "./calls.ts";
import type { Cluster } from "./cluster.ts";

const HOSTS = ["host-a", "host-b", "host-c"] as const;
const FOUR = "10.0.0.0/28";
const ZONE = "10.0.1.0/29";
const SIX = "fd00::/125";

/** Three hosts; a pool for all, one for zone z, an IPv6 one, and a reservation that covers a block and a half. */
export async function populate(cluster: Cluster): Promise<void> {
  for (const host of HOSTS) cluster.nodes.set(host, { zone: "z" });
  await cluster.store.create(pool("four", FOUR, { blockSize: 30 }));
  await cluster.store.create(pool("zone", ZONE, { blockSize: 30, nodeSelector: 'zone == "z"' }));
  await cluster.store.create(pool("six", SIX, { blockSize: 127 }));
  await cluster.store.create(reservation("kept", "10.0.0.8/30", "10.0.0.12/31", "fd00::4/128"));
}

/** A call whose arguments may depend on what is stored when its turn comes. */
type Making = (blocks: readonly IPAMBlock[]) => Invocation | undefined;

const host = fc.constantFrom(...HOSTS);
export const handles = ["h1", "h2", "vm"] as const;
const handleID = fc.constantFrom("h1", "h2", undefined);
const four = fc.nat(15).map((last) => `10.0.0.${last}`);
const owner = host.map((name) => ({ host: name, affinityType: "host" as const }));
const plain = <T>(arbitrary: fc.Arbitrary<T>, make: (value: T) => Invocation): fc.Arbitrary<Making> =>
  arbitrary.map((value) => () => make(value));

const taker = fc.oneof(fc.record({ handleID }), fc.constant({ handleID: "vm", maxAllocToHandlePerIPVersion: 1 }));
const autoAssign = plain(fc.tuple(host, taker, fc.nat(6), fc.nat(2)), ([hostname, taking, num4, num6]) =>
  call("autoAssign", { hostname, ...taking, num4, num6, attrs: { node: hostname }, intendedUse: "Workload" }),
);
const assignIP = plain(fc.tuple(host, taker, four), ([hostname, taking, ip]) => {
  // With a maximum autoAssign gives again what the handle has: a reserved address too, which it would not give anew.
  const allowed = taking.handleID === "vm" ? ip.replace(/8$|9$|1[0-3]$/, "2") : ip;
  return call("assignIP", { hostname, ...taking, ip: allowed, attrs: { node: hostname } });
});

/** Any addresses: free ones too, and ones of no block. */
const releaseAny = plain(fc.array(four, { minLength: 1, maxLength: 4 }), (addresses) =>
  call(
    "releaseIPs",
    addresses.map((address) => ({ address })),
  ),
);

/** Allocated addresses with the numbers they have; `stale`: numbers of the allocation before. */
const releaseIPs: fc.Arbitrary<Making> = fc
  .record({
    picks: fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }),
    number: fc.constantFrom("none", "right", "stale"),
  })
  .map(({ picks, number }) => (blocks) => {
    const allocated = blocks.flatMap(allocations);
    if (allocated.length === 0) return undefined;
    const chosen = picks.map((pick) => allocated[pick % allocated.length]!);
    const given = { none: () => undefined, right: (n: bigint) => n, stale: (n: bigint) => n - 2n }[number]!;
    return call(
      "releaseIPs",
      chosen.map(({ address, at }) => ({ address, sequenceNumber: given(at) })),
    );
  });

function allocations({ spec }: IPAMBlock) {
  const range = parseCidr(spec.cidr)!;
  return spec.allocations.flatMap((index, ordinal) =>
    index === null
      ? []
      : [
          {
            address: formatAddress(addressAt(range, ordinal)),
            at: BigInt(spec.sequenceNumberForAllocation?.[ordinal] ?? 0),
          },
        ],
  );
}

const ofBlock = (make: (block: IPAMBlock, flag: boolean) => Invocation): fc.Arbitrary<Making> =>
  fc.tuple(fc.nat(9), fc.boolean()).map(([pick, flag]) => (blocks) => {
    const block = blocks[pick % Math.max(blocks.length, 1)];
    return block && make(block, flag);
  });

const kept = { startOfBlock: 1, endOfBlock: 0, handle: "windows-reserved-ipam-handle", note: "kept" };

const sideBySide: fc.Arbitrary<Making> = fc.oneof(
  { arbitrary: autoAssign, weight: 6 },
  { arbitrary: assignIP, weight: 2 },
  { arbitrary: releaseIPs, weight: 3 },
  releaseAny,
  { arbitrary: plain(fc.constantFrom(...handles), (handle) => call("releaseByHandle", handle)), weight: 2 },
  plain(owner, (of) => call("claimAffinity", "10.0.0.0/29", of)),
  plain(fc.tuple(host, fc.boolean()), ([of, mustBeEmpty]) => call("releaseAffinity", FOUR, of, mustBeEmpty)),
  plain(fc.tuple(owner, fc.boolean()), ([of, mustBeEmpty]) => call("releaseHostAffinities", of, mustBeEmpty)),
  plain(fc.constantFrom(FOUR, SIX), (cidr) => call("releasePoolAffinities", cidr)),
  plain(owner, (of) => call("removeIPAMHost", of)),
  ofBlock((block, mustBeEmpty) => call("releaseBlockAffinity", block, mustBeEmpty)),
  plain(fc.tuple(four, fc.constantFrom(...handles)), ([ip, handle]) =>
    call("setOwnerAttributes", ip, handle, { alternateOwnerAttrs: { pod: "p", namespace: "n" } }),
  ),
  plain(fc.constantFrom("h1", "vm"), (handle) => call("swapOwners", handle, { name: "p", namespace: "n" })),
  ofBlock((block, isLong) => call("garbageCollectColdIPs", { ipCooldownSeconds: isLong ? 60 : 5 }, block)),
  plain(host, (hostname) =>
    call("ensureBlock", { hostname, hostReservedAttrIPv4s: kept, hostReservedAttrIPv6s: kept }),
  ),
  plain(fc.constantFrom("h1", "vm"), (handle) => call("ipsByHandle", handle)),
  plain(four, (ip) => call("getAssignmentAttributes", ip)),
);

/** What is judged by the configuration and the nodes is not changed while other calls run. */
const alone = plain(fc.tuple(fc.boolean(), fc.constantFrom(0, 5, 60)), ([strictAffinity, ipCooldownSeconds]) =>
  call("setIPAMConfig", { strictAffinity, ipCooldownSeconds }),
);

const fault = fc.record({ write: fc.nat(8), when: fc.constantFrom("before", "after"), dies: fc.boolean() });
const actor = (making: fc.Arbitrary<Making>) =>
  fc.record({
    making,
    /** Seconds that the caller's clock is ahead; seldom, because such histories are asked less. */
    ahead: fc.oneof({ arbitrary: fc.constant(0), weight: 24 }, { arbitrary: fc.constant(2), weight: 1 }),
    fault: fc.option(fault, { freq: 5, nil: undefined }),
  });

export type Actor = typeof actor extends (making: fc.Arbitrary<Making>) => fc.Arbitrary<infer A> ? A : never;

/** Calls, alone or side by side, whose requests take turns as `order` says; or time that passes; or a node that moves. */
export type Step =
  | { readonly actors: readonly Actor[]; readonly order: readonly number[] }
  | { readonly pass: number }
  | { readonly node: string; readonly zone: string };

/** Processes of one host that want addresses at once, and nothing goes wrong but their races for the host's blocks. */
const crowd: fc.Arbitrary<Actor[]> = fc
  .record({
    hostname: host,
    takings: fc.array(fc.record({ handleID: fc.constantFrom("h1", "h2"), num4: fc.integer({ min: 1, max: 2 }) }), {
      minLength: 2,
      maxLength: 4,
    }),
  })
  .map(({ hostname, takings }) =>
    takings.map((taking) => {
      const asked = { hostname, ...taking, attrs: { node: hostname }, intendedUse: "Workload" } as const;
      return { making: () => call("autoAssign", asked), ahead: 0, fault: undefined };
    }),
  );

const turns = fc.array(fc.nat(3), { maxLength: 30 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: actor(sideBySide).map((one) => ({ actors: [one], order: [] })), weight: 8 },
  {
    arbitrary: fc.record({
      actors: fc.array(actor(sideBySide), { minLength: 2, maxLength: 4 }),
      order: turns,
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ actors: crowd, order: turns }), weight: 2 },
  actor(alone).map((one) => ({ actors: [one], order: [] })),
  { arbitrary: fc.constantFrom(1, 6, 61).map((pass) => ({ pass })), weight: 3 },
  fc.record({ node: host, zone: fc.constantFrom("y", "z") }),
);

export const history: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 10 });
export const hosts: readonly string[] = HOSTS;
