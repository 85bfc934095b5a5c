/** One malformed object stops only what it is about: every other call does what it does without it, and a warning names it. */
import { describe, expect, test } from "vitest";
import { affinityLabels } from "../../src/api/names.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import type { Datastore, Kind, Listed } from "../../src/datastore/datastore.ts";
import { type World, world } from "../support/ipam.ts";
import { block, pool } from "../support/ipam-data.ts";
import { CASES, CIDR } from "./race-cases.ts";

interface Odd {
  readonly kind: IpamKind;
  readonly name: string;
  /** Of an object that its schema lets in; without one it cannot be read. */
  readonly spec?: object;
  /** Calls that it matters to. Default: those that list its kind. */
  readonly matters?: (call: string) => boolean;
}

const affinityOf = (cidr: string) => ({ state: "confirmed", node: "host-a", type: "host", cidr, deleted: false });

const ODD: Readonly<Record<string, Odd>> = {
  "a pool that cannot be read": { kind: "IPPool", name: "odd" },
  "a pool whose range is none": { kind: "IPPool", name: "odd", spec: { ...pool("odd", "garbage").spec } },
  "a pool whose selector is none": {
    kind: "IPPool",
    name: "odd",
    spec: { ...pool("odd", "10.9.0.0/24", { nodeSelector: "zone == " }).spec },
    matters: (call) => call.startsWith("autoAssign") || call === "ensureBlock",
  },
  "a block that cannot be read": { kind: "IPAMBlock", name: "10-9-0-0-26" },
  "a block of all addresses": {
    kind: "IPAMBlock",
    name: "0-0-0-0-0",
    spec: { ...block("10.9.0.0/26").spec, cidr: "0.0.0.0/0" },
  },
  "a block whose range is none": {
    kind: "IPAMBlock",
    name: "odd",
    spec: { ...block("10.9.0.0/26").spec, cidr: "garbage" },
  },
  "an affinity that cannot be read": { kind: "BlockAffinity", name: "odd" },
  "an affinity whose range is none": { kind: "BlockAffinity", name: "odd", spec: affinityOf("garbage") },
  "a handle that cannot be read": { kind: "IPAMHandle", name: "odd" },
  "a handle whose block is none": {
    kind: "IPAMHandle",
    name: "odd",
    spec: { handleID: "odd", block: { garbage: 1 }, deleted: false },
  },
  "a reservation that cannot be read": { kind: "IPReservation", name: "odd" },
  "a reservation whose range is none": { kind: "IPReservation", name: "odd", spec: { reservedCIDRs: ["garbage"] } },
};

const READS: Readonly<Record<string, (w: World) => Promise<unknown>>> = {
  getUtilization: (w) => w.ipam.getUtilization({}),
  ipsByHandle: (w) => w.ipam.ipsByHandle("h"),
  getAssignmentAttributes: (w) => w.ipam.getAssignmentAttributes("10.0.0.1"),
};
const assigned = (w: World) => w.ipam.assignIP({ ip: "10.0.0.1", hostname: "host-a", handleID: "h" });
const calls = [
  ...Object.entries(CASES).map(([name, { before, call }]) => ({ name, prepare: before, call })),
  ...Object.entries(READS).map(([name, call]) => ({ name, prepare: assigned, call })),
];

/** The store with the object in it. */
function having(store: Datastore, { kind, name, spec }: Odd): Datastore {
  const labels = kind === "BlockAffinity" && spec ? { labels: affinityLabels({ ...spec, cidr: CIDR } as never) } : {};
  const metadata = { name, uid: "odd", resourceVersion: "1", ...labels };
  const object = { apiVersion: "projectcalico.org/v3", kind, metadata, spec };
  const { blocksOf: _, ...rest } = store;
  return {
    ...rest,
    list: (async (listed: Kind, options: object) => {
      const found: Listed<Kind> = await store.list(listed, options);
      if (listed !== kind) return found;
      if (spec) return { ...found, items: [...found.items, object] };
      return { ...found, malformed: [...found.malformed, { name, reason: `${kind} "${name}" cannot be converted` }] };
    }) as Datastore["list"],
  };
}

describe.each(Object.entries(ODD))("%s", (_, odd) => {
  test.concurrent.each(calls)("$name", async ({ name, prepare, call }) => {
    await using w = await world({ pools: [["10.0.0.0/24", 26]], blockOrder: () => 0n });
    await prepare?.(w);
    const lists: string[] = [];
    w.meddler = ({ operation, kind }) => operation === "list" && lists.push(kind);
    w.ipam = w.openIpam({ datastore: having(w.watched, odd) });
    await call(w);
    const { matters = () => lists.includes(odd.kind) } = odd;
    if (matters(name)) expect(w.warnings.join("\n")).toContain(`"${odd.name}"`);
    expect(w.warnings.filter((warning) => !warning.includes(odd.name))).toEqual([]);
  });
});
