/**
 * Claims of ranges that overlap, at once: each process is stopped at each of its calls to the store while the others run to
 * their ends, in both orders, and goes on or is gone. Whatever happens, no address has two holders, and no two blocks that
 * overlap are confirmed.
 */
import { expect, test } from "vitest";
import type { BlockAffinity, IPAMBlock } from "../../src/api/v3.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openCopy } from "../../src/datastore/embedded.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { overlaps, parseCidr } from "../../src/net/cidr.ts";
import { check } from "../invariants/check.ts";
import { windowsReserve } from "../support/ipam.ts";
import { affinity, block, pool } from "../support/ipam-data.ts";
import { GatedProcess } from "./gated.ts";

const POOL = "10.1.0.0/25";
const START = new Date("2026-01-02T03:04:05Z");
/** A process that waits for another one has made this many calls: the other goes on. */
const PATIENCE = 80;

/** What a process does; the result is the addresses that it was given. */
type Act = (ipam: Ipam, hostname: string) => Promise<readonly string[]>;
const ACTS: Readonly<Record<string, Act>> = {
  autoAssign: async (ipam, hostname) => {
    const { v4 } = await ipam.autoAssign({ num4: 2, intendedUse: "Workload", hostname, handleID: hostname });
    return v4!.ips.map((ip) => ip.split("/")[0]!);
  },
  assignIP: async (ipam, hostname) => {
    await ipam.assignIP({ ip: "10.1.0.1", hostname, handleID: hostname });
    return ["10.1.0.1"];
  },
  claimAffinity: async (ipam, host) => {
    await ipam.claimAffinity("10.1.0.0/26", { affinityType: "host", host });
    return [];
  },
  ensureBlock: async (ipam, hostname) => {
    await ipam.ensureBlock({ hostname, hostReservedAttrIPv4s: windowsReserve(1, 1) });
    return [];
  },
};

interface Part {
  readonly act: keyof typeof ACTS;
  /** Size of the pool's blocks when this process read the pools: the pool was created again, edited, or has a rival. */
  readonly blockSize: number;
  readonly stopAt?: number;
}
interface Scene {
  readonly hasBlocks: boolean;
  /** The processes that are stopped, each somewhere, and the last one, which runs while they stand still. */
  readonly parts: readonly Part[];
  /** The stopped ones never go on. */
  readonly crash: boolean;
  readonly stored?: readonly (IPAMBlock | BlockAffinity)[];
}

/** Plays a scene to its end and past it; gives how many calls the first process made. */
async function play({ hasBlocks, parts, crash, stored = [] }: Scene): Promise<number> {
  const store = openCopy(":memory:");
  for (const object of stored) await store.create(object as never);
  let now = START;
  const given: string[] = [];
  const start = ({ act, blockSize, stopAt }: Part, index: number) => {
    const pools = [pool("p", POOL, { blockSize })];
    const process = new GatedProcess({ pools, hasBlocks, ...(stopAt !== undefined && { stopAt }) });
    const ipam = open(process.datastore(store), () => now);
    const done = ACTS[act]!(ipam, `host-${index}`).then(
      (ips) => void given.push(...ips),
      () => {}, // losing a race, or being refused, is an answer
    );
    return { process, done };
  };
  const stopped: ReturnType<typeof start>[] = [];
  for (const [index, part] of parts.slice(0, -1).entries()) {
    const started = start(part, index);
    await Promise.race([started.process.stopped, started.done]);
    stopped.push(started);
  }
  if (crash) now = new Date(now.getTime() + 10_000); // beyond what a claim under way may take
  const last = start(parts.at(-1)!, parts.length - 1);
  const goOn = () => {
    for (const { process } of stopped) process.open();
  };
  if (!crash) last.process.onCall = (calls) => calls > PATIENCE && goOn();
  await last.done;
  if (!crash) {
    for (const { process, done } of stopped.reverse()) {
      process.open();
      await done;
    }
  }
  await recover(store, parts, given, () => now);
  now = new Date(now.getTime() + 70_000);
  await recover(store, parts, given, () => now);
  await judge(store, given, now);
  await store.close();
  return stopped.at(-1)?.process.calls ?? 0;
}

const open = (datastore: Datastore, clock: () => Date) =>
  createIpam({ datastore, clock, nodes: async () => ({}), blockOrder: () => 0n, windowsHost: false, warn: () => {} });

/** Ordinary calls of all hosts, who have read the pools again. */
async function recover(store: Datastore, parts: readonly Part[], given: string[], clock: () => Date): Promise<void> {
  for (const [index] of parts.entries()) {
    const pools = [pool("p", POOL, { blockSize: parts.at(-1)!.blockSize })];
    const ipam = open(new GatedProcess({ pools, hasBlocks: true }).datastore(store), clock);
    given.push(...(await ACTS["autoAssign"]!(ipam, `host-${index}`)));
  }
}

async function judge(store: Datastore, given: readonly string[], now: Date): Promise<void> {
  const blocks = (await store.list("IPAMBlock")).items;
  const affinities = (await store.list("BlockAffinity")).items;
  const handles = (await store.list("IPAMHandle")).items;
  const nothing = { configurations: [], pools: [], reservations: [], nodes: [] };
  const findings = check({ blocks, affinities, handles, ...nothing }, { mode: "atRest", now });
  const confirmed = affinities.flatMap(({ spec }) => (spec.state === "confirmed" ? [parseCidr(spec.cidr)!] : []));
  const both = confirmed.filter((one) => confirmed.some((other) => other !== one && overlaps(one, other)));
  expect({
    twice: given.filter((ip, index) => given.indexOf(ip) !== index),
    both,
    findings: findings.filter(({ invariant }) => invariant !== 30 && invariant !== 32),
  }).toEqual({ twice: [], both: [], findings: [] });
}

const names = Object.keys(ACTS);
const pairs = names.flatMap((first) => names.map((second) => [first, second] as const));
const sizes = [
  [26, 28],
  [28, 26],
] as const;

/** Stops the first process at its first call, then at its second, and so on, until it ends before it is stopped. */
async function atEachCall(scene: (stopAt: number) => Scene): Promise<number> {
  for (let stopAt = 0; ; stopAt++) {
    const calls = await play(scene(stopAt));
    if (calls <= stopAt) return stopAt;
  }
}

test.each(pairs)("%s is stopped while %s runs, in both sizes", async (first, second) => {
  for (const [one, other] of sizes) {
    for (const hasBlocks of [false, true]) {
      for (const crash of [false, true]) {
        const parts = (stopAt: number) =>
          [
            { act: first, blockSize: one, stopAt },
            { act: second, blockSize: other },
          ] as const;
        const calls = await atEachCall((stopAt) => ({ hasBlocks, crash, parts: parts(stopAt) }));
        expect(calls).toBeGreaterThan(3);
      }
    }
  }
});

test.each([false, true])(
  "three claims of three sizes, each stopped somewhere (blocks at hand: %s)",
  async (hasBlocks) => {
    for (const crash of [false, true]) {
      for (let second = 0; second < 14; second += crash ? 3 : 1) {
        await atEachCall((stopAt) => ({
          hasBlocks,
          crash,
          parts: [
            { act: "autoAssign", blockSize: 28, stopAt: second },
            { act: "autoAssign", blockSize: 26, stopAt },
            { act: "autoAssign", blockSize: 27 },
          ],
        }));
      }
    }
  },
);

const OLD: Readonly<Record<string, readonly (IPAMBlock | BlockAffinity)[]>> = {
  "a pending affinity and its block": [
    affinity("host-0", "10.1.0.0/28", { state: "pending" }),
    block("10.1.0.0/28", { affinity: "host:host-0", affinityClaimTime: "2026-01-02T03:04:05Z" }),
  ],
  "a pending affinity without a block": [affinity("host-0", "10.1.0.0/28", { state: "pending" })],
  "a confirmed affinity without a block": [affinity("host-0", "10.1.0.0/28")],
  "a block without an affinity": [
    block("10.1.0.0/28", { affinity: "host:host-0", affinityClaimTime: "2026-01-02T03:04:05Z" }),
  ],
};
test.each(Object.keys(OLD))("a crash has left %s: it is recovered while others claim", async (left) => {
  for (const act of names) {
    for (const hasBlocks of [false, true]) {
      for (const crash of [false, true]) {
        for (const blockSize of [26, 28]) {
          await atEachCall((stopAt) => ({
            hasBlocks,
            crash,
            stored: OLD[left]!,
            parts: [
              { act: "autoAssign", blockSize, stopAt },
              { act, blockSize: 26 },
            ],
          }));
        }
      }
    }
  }
});
