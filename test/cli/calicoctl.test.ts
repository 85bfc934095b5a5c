/** What `calicoctl ipam` was recorded to say (test/golden/calicoctl.v3.json): ipamctl comes to the same verdicts. */
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { takeFromStore } from "../../src/cli/snapshot/embedded.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import type { IntendedUse } from "../../src/ipam/pools.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { pool, reservation } from "../support/ipam-data.ts";
import { ipamctl, rows } from "./ipamctl.ts";
import { node } from "./sound.ts";

// biome-ignore lint/suspicious/noExplicitAny: the recording's arguments are as its operations have them
type Args = any;
interface Operation {
  readonly op: string;
  readonly args: Args;
  readonly ok: boolean;
}
interface Call {
  readonly op?: undefined;
  readonly args: readonly string[];
  readonly stdout: string;
  readonly damage?: { readonly block: string; readonly what: string; readonly patch: object };
}

const { steps } = JSON.parse(readFileSync(new URL("../golden/calicoctl.v3.json", import.meta.url), "utf8")) as {
  steps: (Operation | Call)[];
};

/** Where the reference starts in a pool of four, or for Services two blocks. */
const STARTS: Readonly<Record<string, bigint>> = { "node-1": 2n, "node-2": 0n, "node-3": 1n, "load-balancer": 1n };
const NOW = new Date("2026-11-29T16:00:00Z");
const NODES = ["node-1", "node-2", "node-3"].map((name) => node(name));

const store = openEmbedded(":memory:");
const ipam = createIpam({
  datastore: store,
  clock: () => NOW,
  blockOrder: (host) => STARTS[host]!,
  windowsHost: false,
});
afterAll(() => store.close());

const OPERATIONS: Readonly<Record<string, (args: Args) => Promise<unknown> | undefined>> = {
  EnsureIPPool: ({ name, cidr, ...spec }) => store.create(pool(name, cidr, spec)),
  EnsureNode: () => undefined,
  EnsureIPReservation: ({ name, cidrs }) => store.create(reservation(name, ...cidrs)),
  AutoAssign: (args) => autoAssign(ipam, args),
  ClaimAffinity: ({ cidr, host }) => ipam.claimAffinity(cidr, { affinityType: "host", host }),
  AssignIP: ({ ip, host }) => ipam.assignIP({ ip, hostname: host }),
  SetIPAMConfig: ({ config }) => ipam.setIPAMConfig({ ipCooldownSeconds: config.ipCooldownSeconds }),
  ReleaseByHandle: ({ handle }) => ipam.releaseByHandle(handle),
};

function autoAssign(library: Ipam, { num4, num6, handle, host, use, attrs }: Args) {
  return library.autoAssign({ num4, num6, handleID: handle, hostname: host, intendedUse: use as IntendedUse, attrs });
}

async function snapshotNow(from: Datastore, damage?: Call["damage"]): Promise<Snapshot> {
  const taken = await takeFromStore(from, { signal: new AbortController().signal, now: () => NOW, env: {} });
  const blocks = taken.blocks.map((block) =>
    block.metadata.name === damage?.block ? { ...block, spec: { ...block.spec, ...damage.patch } } : block,
  );
  return { ...taken, blocks, nodes: NODES, pods: [], services: [], events: [] };
}

/** The cells of a grid with lines, without its headers. */
function grid(stdout: string): string[][] {
  const lines = stdout.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(1).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

/** The situation that each block was damaged to, by our code. */
const VERDICTS: Readonly<Record<string, string>> = {
  "unallocated twice": "FreeTwice",
  "attribute without allocation": "UnusedAttribute",
  "allocated and unallocated": "FreeAndAllocated",
  "ordinal out of the block": "FreeOutOfRange",
  "one address missing": "LostAddress",
  "bad attribute index": "AllocationPointsNowhere",
};

describe("calicoctl's situations", () => {
  const before: Operation[] = [];
  const readings = steps.flatMap((step, index) => {
    if (step.op !== undefined) before.push(step);
    const isReading = step.op === undefined && ["show", "check"].includes(step.args[1]!) && index < 34;
    return isReading
      ? [{ call: step, name: `${step.args.slice(1).join(" ")} ${step.damage?.what ?? ""}`, upTo: before.length }]
      : [];
  });
  let done = 0;

  it.for(readings)("$name", async ({ call, upTo }) => {
    for (; done < upTo; done++) {
      const { op, args, ok } = before[done]!;
      const outcome = await Promise.resolve(OPERATIONS[op]!(args)).then(
        () => true,
        () => false,
      );
      expect(outcome, `${op} ${JSON.stringify(args)}`).toBe(ok);
    }
    const snapshot = await snapshotNow(store, call.damage);
    const [, verb, ...flags] = call.args;
    if (verb === "check") await sameFindings(call, snapshot);
    else await sameShown(flags, call, snapshot);
  });
});

async function sameShown(flags: readonly string[], call: Call, snapshot: Snapshot): Promise<void> {
  const ran = await ipamctl(["show", ...flags], { snapshot, now: () => NOW });
  expect(ran.code).toBe(0);
  const [flag = ""] = flags;
  if (flag.startsWith("--ip=")) {
    expect(ran.stdout.split("\n")[0]).toContain(call.stdout.split("\n")[0]!.trim());
  } else if (flag === "--show-configuration") {
    const fields = (cells: string[][]) => cells.map(([field, value]) => [field!.toLowerCase(), value!.split(" ")[0]]);
    const recorded = fields(grid(call.stdout)).filter(([field]) => !field!.startsWith("kubevirt")); // printed as an address
    expect(fields(rows(ran).slice(1))).toEqual(expect.arrayContaining(recorded));
  } else if (flag === "--show-borrowed") {
    expect(rows(ran).slice(1)).toEqual(grid(call.stdout));
    // calicoctl counts the address of a Service as unknown: no node uses it.
    expect(ran.stderr).toBe("");
  } else {
    const withoutOurs = rows(ran)
      .slice(1)
      .map((cells) => [...cells.slice(0, 4), ...cells.slice(5, 7)]);
    // calicoctl lists a pool's blocks by the text of their names, we by address.
    expect(withoutOurs.toSorted()).toEqual(grid(call.stdout).toSorted());
  }
}

const numberIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)![1]);

async function sameFindings({ stdout, damage }: Call, snapshot: Snapshot): Promise<void> {
  const ran = await ipamctl(["check", "-o", "json"], { snapshot, now: () => NOW });
  const { items, counts } = JSON.parse(ran.stdout);
  expect(ran.code).toBe(3);
  const unused = numberIn(stdout, /Found (\d+) IPs that are allocated in IPAM but not actually in use/);
  // An address whose entry is missing is leaked to calicoctl; it is not ours to free, so it has a code of its own.
  expect(counts.LeakedAddress + (counts.AllocationPointsNowhere ?? 0)).toBe(unused);
  expect(counts.OrphanHandle ?? 0).toBe(numberIn(stdout, /Found (\d+) handles with no matching IPs/));
  const invalid = numberIn(stdout, /Found (\d+) invalid IPAMBlocks/);
  const structural = items.filter(({ code }: { code: string }) => Object.values(VERDICTS).includes(code));
  expect(new Set(structural.map(({ object }: { object: { name: string } }) => object.name)).size).toBe(invalid);
  if (damage) expect(structural.map(({ code }: { code: string }) => code)).toContain(VERDICTS[damage.what]);
}
