/**
 * Random histories of several hosts, handles and clocks, one call after the other or several at once, dying now and
 * then: the invariants hold after every step, the whole log keeps those about what happened in between, and one more call
 * of each host leaves everything whole (after races, and after deaths). A failing history shrinks. `IPAM_HISTORIES` asks for more of them.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { check } from "../../test/invariants/check.ts";
import { checkHistory } from "../../test/invariants/history.ts";
import { Recorder } from "../../test/invariants/recorder.ts";
import { type World, world } from "../../test/support/ipam.ts";
import type { AutoAssignResult } from "./assignments.ts";
import type { Ipam } from "./client.ts";

const RUNS = Number(process.env["IPAM_HISTORIES"] ?? 60);
const POOLS = [
  ["10.0.0.0/28", 30],
  ["10.0.1.0/29", 30],
  ["fd00::/125", 126],
] as const;

const HOSTS = ["host-a", "host-b", "host-c"] as const;

const host = fc.constantFrom(...HOSTS);
const handleID = fc.constantFrom("h1", "h2");
const address = fc.nat(15).map((last) => `10.0.0.${last}`);
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      method: fc.constant("autoAssign" as const),
      host,
      handleID,
      num4: fc.integer({ min: 0, max: 5 }),
      num6: fc.nat(2),
    }),
  },
  fc.record({ method: fc.constant("assignIP" as const), host, handleID, address }),
  fc.record({
    method: fc.constant("releaseIPs" as const),
    addresses: fc.array(address, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ method: fc.constant("releaseByHandle" as const), handleID }),
  fc.record({ method: fc.constant("claimAffinity" as const), host }),
  fc.record({ method: fc.constant("releaseAffinity" as const), host, mustBeEmpty: fc.boolean() }),
  fc.record({ method: fc.constant("time passes" as const), seconds: fc.constantFrom(1, 6, 61) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const history = fc.record({
  strictAffinity: fc.boolean(),
  ipCooldownSeconds: fc.constantFrom(0, 5),
  /** Steps of one group run at once; `dies`: at which write of the group its processes die. */
  groups: fc.array(
    fc.record({ steps: fc.array(step, { minLength: 1, maxLength: 3 }), dies: fc.option(fc.nat(8), { freq: 4 }) }),
    { minLength: 1, maxLength: 12 },
  ),
});

test("every history keeps the invariants", async () => {
  await fc.assert(fc.asyncProperty(history, run), { numRuns: RUNS });
}, 120_000);

async function run({
  strictAffinity,
  ipCooldownSeconds,
  groups,
}: typeof history extends fc.Arbitrary<infer H> ? H : never) {
  await using w = await world({ pools: POOLS });
  await w.ipam.setIPAMConfig({ strictAffinity, ipCooldownSeconds });
  const recorder = new Recorder(() => w.now);
  for (const row of [...(await w.all("IPPool")), ...(await w.all("IPAMConfiguration"))]) {
    recorder.log.push({ type: "version", at: w.now, kind: row.kind, name: row.metadata.name, object: row });
  }
  const ipam = w.openIpam({ datastore: recorder.datastore(w.watched) });
  for (const { steps, dies } of groups) {
    die(w, dies);
    await Promise.all(steps.map((each) => take(w, ipam, recorder, each)));
    w.meddler = undefined;
    expect(check(await w.stored(), { mode: "always", now: w.now })).toEqual([]);
  }
  expect(checkHistory(recorder.log)).toEqual([]);
  for (const hostname of HOSTS) {
    await w.ipam.autoAssign({ intendedUse: "Workload", hostname, handleID: "last", num4: 1, num6: 1 });
  }
  // A death in the middle of a race can leave a block whose owner has no row: that takes more than one call to undo.
  if (groups.some(({ dies, steps }) => dies !== null && steps.length > 1)) return;
  const died = groups.some(({ dies }) => dies !== null);
  const left = check(await w.stored(), { mode: "atRest", now: w.now });
  // Only a collection pass restores the counts of handles whose caller died.
  expect(left.filter(({ invariant }) => !(died && [30, 32].includes(invariant)))).toEqual([]);
}

function die(w: World, at: number | null): void {
  let writes = 0;
  w.meddler = ({ operation }) => {
    const isWrite = operation !== "get" && operation !== "list";
    if (at !== null && (writes > at || (isWrite && writes++ === at))) throw new Error("died");
  };
}

/** What a call ends with is its own affair; a fault of the program is not. */
async function take(w: World, ipam: Ipam, recorder: Recorder, each: Step): Promise<void> {
  if (each.method === "time passes") return w.pass(each.seconds);
  await call(ipam, recorder, each).catch((error: unknown) => {
    if (error instanceof TypeError || (error as Error).name === "TransientError") throw error;
  });
}

const nothing = () => ({});

function call(ipam: Ipam, recorder: Recorder, each: Exclude<Step, { method: "time passes" }>): Promise<unknown> {
  const { method } = each;
  switch (method) {
    case "autoAssign": {
      const args = { intendedUse: "Workload", hostname: each.host, handleID: each.handleID } as const;
      const told = ({ v4, v6 }: AutoAssignResult) => ({ ips: [...(v4?.ips ?? []), ...(v6?.ips ?? [])] });
      return recorder.call({ method, ...args }, () => ipam.autoAssign({ ...args, ...each }), told, nothing);
    }
    case "assignIP": {
      const args = { ip: each.address, hostname: each.host, handleID: each.handleID };
      return recorder.call(
        { method, ...args },
        () => ipam.assignIP(args),
        () => ({ ips: [each.address] }),
        nothing,
      );
    }
    case "releaseIPs": {
      const releases = each.addresses.map((address) => ({ address }));
      const told = ({ unallocated }: { unallocated: readonly string[] }) => ({ unallocated });
      return recorder.call({ method, releases }, () => ipam.releaseIPs(releases), told, nothing);
    }
    case "releaseByHandle":
      return recorder.call(
        { method, handleID: each.handleID },
        () => ipam.releaseByHandle(each.handleID),
        nothing,
        nothing,
      );
    case "claimAffinity": {
      const owner = { affinityType: "host", host: each.host } as const;
      return recorder.call({ method }, () => ipam.claimAffinity("10.0.0.0/29", owner), nothing, nothing);
    }
    case "releaseAffinity": {
      const release = () => ipam.releaseAffinity("10.0.0.0/28", each.host, each.mustBeEmpty);
      return recorder.call({ method }, release, nothing, nothing);
    }
  }
}
