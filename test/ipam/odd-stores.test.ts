/**
 * Stores with objects that older programs, or people, may have written: whatever is stored, a call ends in an answer or in an
 * error of the library or of the store, never in a RangeError, a TypeError or an endless loop.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { affinityLabels } from "../../src/api/names.ts";
import type { Datastore, Kind, Listed } from "../../src/datastore/datastore.ts";
import { isDatastoreError } from "../../src/datastore/datastore.ts";
import { openCopy } from "../../src/datastore/embedded.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { block, pool } from "../support/ipam-data.ts";
import { call, type Invocation } from "./calls.ts";

const owner = { affinityType: "host", host: "host-a" } as const;
const reserve = { startOfBlock: 1, endOfBlock: 1, handle: "windows-reserved-ipam-handle", note: "windows host rsvd" };

const CALLS: readonly Invocation[] = [
  call("autoAssign", { num4: 2, num6: 1, handleID: "h", hostname: "host-a", intendedUse: "Workload" }),
  call("autoAssign", {
    num4: 1,
    handleID: "h",
    maxAllocToHandlePerIPVersion: 1,
    hostname: "b",
    intendedUse: "Workload",
  }),
  call("assignIP", { ip: "10.0.0.9", handleID: "h", hostname: "host-a" }),
  call("getUtilization", {}),
  call("getAssignmentAttributes", "10.0.0.1"),
  call("ipsByHandle", "h"),
  call("ensureBlock", { hostname: "host-a", hostReservedAttrIPv4s: reserve, hostReservedAttrIPv6s: reserve }),
  call("claimAffinity", "10.0.0.0/28", owner),
  call("setOwnerAttributes", "10.0.0.1", "h", { clearActiveOwner: true }),
  call("swapOwners", "h", { namespace: "n", name: "p" }),
  call("releaseIPs", [{ address: "10.0.0.1" }, { address: "10.9.0.1" }, { address: "fd00::1", handle: "h" }]),
  call("releaseByHandle", "h"),
  call("releaseAffinity", "10.0.0.0/28", "host-a", false),
  call("releasePoolAffinities", "10.0.0.0/8"),
  call("removeIPAMHost", owner),
  call("getIPAMConfig"),
];

const RANGES = [
  "10.0.0.0/28",
  "10.0.0.0/30",
  "10.0.0.5/29",
  "10.0.0.0/8",
  "0.0.0.0/0",
  "::/0",
  "fd00::/64",
  "fd00::/124",
];
const cidr = fc.constantFrom(...RANGES, "garbage", "", "::ffff:10.0.0.0/120", "10.0.0.0", "10.0.0.0/33", "fd00::5/126");
const int = fc.constantFrom(0, 1, -1, -3, 3, 26, 33, 122, 129, 4096, 1.5, Number.NaN, 2 ** 53);
const text = fc.constantFrom(
  "",
  "host:host-a",
  "host:",
  "virtual:x",
  "nobody",
  "all()",
  "zone == ",
  "h",
  "\r",
  "__proto__",
);
const meta = (name: fc.Arbitrary<string>) => name.map((name) => ({ name, uid: `uid-${name}`, resourceVersion: "1" }));

const oddPool = fc.record({
  metadata: meta(fc.constantFrom("p1", "p2", "p3")),
  spec: fc.record({ cidr, blockSize: int, nodeSelector: text }, { requiredKeys: ["cidr"] }),
});
const oddBlock = fc.record({
  metadata: meta(fc.constantFrom("10-0-0-0-30", "10-0-0-8-29", "0-0-0-0-0", "10-0-0-0-8", "fd00---124", "nonsense")),
  spec: fc
    .record({
      cidr,
      affinity: text,
      allocations: fc.array(fc.constantFrom(null, 0, 1, 7, -1), { maxLength: 8 }),
      unallocated: fc.array(int, { maxLength: 4 }),
      attributes: fc.array(fc.record({ handle_id: text, releasedAt: text }, { requiredKeys: [] }), { maxLength: 3 }),
    })
    .map((spec) => ({ ...block("10.0.0.0/30").spec, ...spec })),
});
const oddAffinity = fc
  .record({ cidr, state: fc.constantFrom("confirmed", "pending", "pendingDeletion", "", "odd") })
  .map(({ cidr, state }, index = 0) => {
    const spec = { cidr, state, node: "host-a", type: "host", deleted: false };
    const name = `host-a-${cidr.replaceAll(/[^a-z0-9]+/g, "-")}x${index}`;
    return {
      metadata: { name, uid: `uid-${name}`, resourceVersion: "1", labels: affinityLabels(spec as never) },
      spec,
    };
  });
const oddHandle = fc.dictionary(cidr, int, { maxKeys: 4 }).map((counts) => ({
  metadata: { name: "h", uid: "uid-h", resourceVersion: "1" },
  spec: { handleID: "h", block: counts, deleted: false },
}));
const oddReservation = fc.record({
  metadata: meta(fc.constant("r")),
  spec: fc.record({ reservedCIDRs: fc.array(cidr, { maxLength: 4 }) }, { requiredKeys: [] }),
});
const odd = fc.record({
  IPPool: fc.array(oddPool, { maxLength: 3 }),
  IPAMBlock: fc.array(oddBlock, { maxLength: 4 }),
  BlockAffinity: fc.array(oddAffinity, { maxLength: 4 }),
  IPAMHandle: fc.array(oddHandle, { maxLength: 1 }),
  IPReservation: fc.array(oddReservation, { maxLength: 1 }),
});
type Odd = Readonly<Partial<Record<Kind, readonly { readonly metadata: { readonly name: string } }[]>>>;

/** The store, with objects in it that no write would have let in. Writes of them are lost races. */
function withOdd(store: Datastore, odd: Odd): Datastore {
  const of = (kind: Kind) =>
    (odd[kind] ?? []).map((object) => ({ apiVersion: "projectcalico.org/v3", kind, ...object }));
  return {
    description: "odd",
    get: (async (kind: Kind, name: string, options: object) =>
      of(kind).find(({ metadata }) => metadata.name === name) ?? store.get(kind, name, options)) as Datastore["get"],
    list: (async (kind: Kind, options: object) => {
      const listed: Listed<Kind> = await store.list(kind, options);
      return { ...listed, items: [...listed.items, ...of(kind)] };
    }) as Datastore["list"],
    create: (object, options) => store.create(object, options),
    update: (object, options) => store.update(object, options),
    delete: (object, options) => store.delete(object, options),
    updateStatus: (object, options) => store.updateStatus(object, options),
    watch: (kind, options) => store.watch(kind, options),
    close: () => store.close(),
  };
}

const isOurs = (error: unknown) => isIpamError(error) || isDatastoreError(error);
/** Calls that lose a hundred races take seconds, in which others run. */
const AT_ONCE = 40;
const LIMIT_MS = 15_000;

/** What is wrong with how the call ended; undefined where nothing is. */
async function complaint(odd: Odd, { method, args }: Invocation): Promise<string | undefined> {
  const store = openCopy(":memory:");
  await store.create<"IPPool">(pool("sound", "10.0.0.0/28", { blockSize: 30 }));
  const options = { hostname: "host-a", windowsHost: false, warn: () => {} };
  await createIpam({ datastore: store, ...options }).assignIP({ ip: "10.0.0.1", handleID: "h" });
  const ipam = createIpam({ datastore: withOdd(store, odd), ...options });
  const signal = AbortSignal.timeout(LIMIT_MS);
  const all = [...args, ...(method === "setOwnerAttributes" ? [{}] : []), { signal }];
  try {
    await (ipam[method] as (...all: unknown[]) => Promise<unknown>)(...all);
  } catch (error) {
    if (!isOurs(error)) return `${method}: ${(error as Error).stack}`;
  } finally {
    await store.close();
  }
  return signal.aborted ? `${method} did not end in ${LIMIT_MS} ms` : undefined;
}

test("every call ends in an answer, or in an error that names what is wrong", { timeout: 120_000 }, async () => {
  const cases = fc.array(fc.tuple(odd, fc.constantFrom(...CALLS)), { minLength: AT_ONCE, maxLength: AT_ONCE });
  await fc.assert(
    fc.asyncProperty(cases, async (cases) => {
      const complaints = await Promise.all(cases.map(([odd, invocation]) => complaint(odd as Odd, invocation)));
      expect(complaints.filter((words) => words !== undefined)).toEqual([]);
    }),
    { numRuns: 12, endOnFailure: true },
  );
});
