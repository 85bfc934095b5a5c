/**
 * Arguments that mean nothing, in every place of every method: each is refused in a sentence that names the method and the
 * field, before anything is asked of the store, or has the meaning that is documented. Nothing is ever left half-written.
 */
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { Ipam } from "../../src/ipam/client.ts";
import { isIpamError } from "../../src/ipam/errors.ts";
import { check, type Finding } from "../invariants/check.ts";
import { errorOf, type World } from "../support/ipam.ts";
import { call, type Invocation, type Method } from "./calls.ts";
import { A, FULL, type Path, placesIn, replaced, run, shop } from "./full-calls.ts";

const HOSTILE: readonly unknown[] = [
  undefined,
  null,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  1.5,
  2 ** 53,
  "",
  " ",
  "\u0000",
  "x".repeat(10_000),
  "__proto__",
  "10.0.0.1/30",
  "10.0.0.1/33",
  "010.0.0.1",
  "::ffff:10.0.0.1",
  "fe80::1%eth0",
  true,
  7n,
  -7n,
  Symbol("s"),
  () => {},
  new Date(0),
  new Map([["a", "b"]]),
  [],
  [[]],
  [null],
  {},
  { unknown: 1 },
];

/** Where the reference has a text, that stands. */
const REFERENCE = /IPPools list|HostReservedAttr|mutually exclusive|cannot be nil|has no field unknown/;

/** What is wrong with how a call ended. */
async function complaint(w: World, invocation: Invocation): Promise<string | undefined> {
  w.calls.splice(0);
  const signal = invocation.args.at(-1) as { signal?: unknown } | undefined;
  const ended = await run(w, invocation).then(
    () => undefined,
    (error: unknown) => error,
  );
  const words = `${invocation.method}(${inspect(invocation.args, { depth: 5 }).slice(0, 1000)}) ended with ${ended}`;
  if (ended === undefined) return signal?.signal === undefined ? undefined : `${words}, whatever its signal`;
  if (!isIpamError(ended)) return (ended as { name?: string }).name === "DatastoreError" ? undefined : words;
  if (/\bundefined\b.*\bproperty|\[object Object\]|is not a function/.test(ended.message))
    return `${words}: no sentence`;
  if (ended.code !== "InvalidArgument") return w.writes().length > 0 ? `${words} after writes` : undefined;
  if (!ended.message.startsWith(`${invocation.method}: `) && !REFERENCE.test(ended.message)) return `${words}: what?`;
  return w.calls.length > 0 ? `${words} after ${w.calls.length} requests` : undefined;
}

/** A host may reserve under a handle of its own; the invariants know only the one that Windows hosts have. */
const isReserveOfAnotherHandle = (path: Path, { invariant, object }: Finding) =>
  path.at(-1) === "handle" &&
  String(path[1]).startsWith("hostReserved") &&
  invariant === 30 &&
  /IPAMBlock/.test(object);

describe.each(Object.keys(FULL) as Method[])("%s", (method) => {
  test("takes the full call as it stands", async () => {
    await using w = await shop();
    await run(w, call(method, ...((await FULL[method](w)) as never)));
  });

  test("ends every hostile argument in a sentence, or does what it says", { timeout: 120_000 }, async () => {
    await using clean = await shop();
    const places = [...placesIn(await FULL[method](clean))];
    for (const path of places) {
      await using w = await shop();
      const args = await FULL[method](w);
      for (const hostile of HOSTILE) {
        const invocation = call(method, ...(replaced(args, path, hostile) as never));
        expect(await complaint(w, invocation)).toBeUndefined();
      }
      const findings = check(await w.stored(), { mode: "atRest", now: w.now });
      expect(findings.filter((finding) => !isReserveOfAnotherHandle(path, finding))).toEqual([]);
    }
  });
});

describe("what is accepted has its meaning", () => {
  const ask = { num4: 1, intendedUse: "Workload", hostname: "host-a" } as const;

  test("host bits of a range are masked off", async () => {
    await using w = await shop();
    expect(await w.ipam.claimAffinity("10.0.0.9/30", A)).toEqual({ claimed: ["10.0.0.8/30"], failed: [] });
    const { v4 } = await w.ipam.autoAssign({ ...ask, ipv4Pools: ["10.0.0.3/28"] });
    expect(v4?.ips).toHaveLength(1);
    await w.ipam.releaseAffinity("10.0.0.10/30", "host-a", true);
    expect((await w.all("BlockAffinity")).map(({ spec }) => spec.cidr)).toEqual(["10.0.0.0/30"]);
  });

  test("a pool that is named twice is one pool", async () => {
    await using w = await shop();
    const { v4 } = await w.ipam.autoAssign({ ...ask, num4: 99, ipv4Pools: ["10.0.0.0/28", "10.0.0.1/28"] });
    expect(v4?.ips).toHaveLength(15);
    expect(v4?.msgs).toEqual(["No IPs available in pools: [10.0.0.0/28]"]);
  });

  test("an address that is named twice is released once, under the last of its conditions", async () => {
    await using w = await shop();
    const twice = [{ address: "10.0.0.1", handle: "another" }, { address: "10.0.0.1" }];
    expect(await w.ipam.releaseIPs(twice)).toEqual({ unallocated: [], processed: twice });
    expect((await w.block("10.0.0.0/30")).spec.unallocated).toEqual([0, 2, 3, 1]);
  });

  test("an address is the same in each of its spellings", async () => {
    await using w = await shop();
    await w.ipam.assignIP({ ip: "FD00:0::0:1", hostname: "host-a", handleID: "six" });
    expect(await w.ipam.ipsByHandle("six")).toEqual(["fd00::1"]);
    expect((await w.ipam.releaseIPs([{ address: "fd00:0000::1" }])).unallocated).toEqual([]);
  });

  test("a collection whose cooldown is below nothing frees at once", async () => {
    await using w = await shop();
    await w.ipam.setIPAMConfig({ ipCooldownSeconds: 60 });
    await w.ipam.releaseByHandle("h");
    await w.ipam.garbageCollectColdIPs({ ipCooldownSeconds: -1 }, await w.block("10.0.0.0/30"));
    expect((await w.block("10.0.0.0/30")).spec.unallocated).toHaveLength(4);
  });
});

describe("what is misspelt is refused", () => {
  test.each<[string, (ipam: Ipam) => Promise<unknown>, RegExp]>([
    [
      "a field",
      (ipam) => ipam.autoAssign({ num4: 1, intendedUse: "Workload", handleId: "h" } as never),
      /^autoAssign: args has no field "handleId": its fields are .*handleID/,
    ],
    [
      "a condition of a release",
      (ipam) => ipam.releaseIPs([{ address: "10.0.0.1", sequencenumber: 1n } as never]),
      /^releaseIPs: releases\.0 has no field "sequencenumber": its fields are address, handle, sequenceNumber/,
    ],
    [
      "an option",
      (ipam) => ipam.releaseByHandle("h", { timeout: 5 } as never),
      /^releaseByHandle: options has no field "timeout": its fields are signal, fresh/,
    ],
    [
      "a signal",
      (ipam) => ipam.getUtilization({}, { signal: new AbortController() as never }),
      /^getUtilization: options\.signal must be an AbortSignal/,
    ],
  ])("%s", async (_, misspelt, words) => {
    await using w = await shop();
    const error = await errorOf(misspelt(w.ipam));
    expect(error).toMatchObject({ code: "InvalidArgument", message: expect.stringMatching(words) });
    expect(w.calls).toEqual([]);
  });
});
