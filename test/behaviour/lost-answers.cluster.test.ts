/**
 * On a real API server the answer to each single write of a call is lost after the write was done. The caller is told the
 * truth or that the store was unavailable; one ordinary call later all is whole, but for a handle that counts too many.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Datastore, isDatastoreError } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { check } from "../invariants/check.ts";
import { createPools } from "../races/racing.ts";
import { storedObjects } from "../races/stored.ts";
import { deleteAll } from "../support/cluster-store.ts";

const IP = "10.0.0.1";
const hostname = "host-a";
const A = { affinityType: "host", host: hostname } as const;
const ask = { hostname, handleID: "h", intendedUse: "Workload" } as const;
const alternateOwnerAttrs = { namespace: "n", pod: "target" };
const nodes = async () => ({});
const take = async (ipam: Ipam, ...ips: string[]) => {
  for (const ip of ips) await ipam.assignIP({ ip, hostname, handleID: "h" });
};
const ipsOf = (ipam: Ipam): Promise<string[]> => ipam.ipsByHandle("h").catch(() => []);

interface Case {
  readonly before?: (ipam: Ipam) => Promise<unknown>;
  readonly call: (ipam: Ipam) => Promise<unknown>;
  /** Whether all that the call is to do is done. */
  readonly isDone: (ipam: Ipam) => Promise<boolean>;
}

const CASES: Readonly<Record<string, Case>> = {
  "autoAssign, of new blocks": {
    call: (ipam) => ipam.autoAssign({ ...ask, num4: 2, num6: 1 }),
    isDone: async (ipam) => (await ipsOf(ipam)).length === 3,
  },
  "autoAssign, of an own block": {
    before: (ipam) => take(ipam, IP),
    call: (ipam) => ipam.autoAssign({ ...ask, num4: 1 }),
    isDone: async (ipam) => (await ipsOf(ipam)).length === 2,
  },
  assignIP: { call: (ipam) => take(ipam, IP), isDone: async (ipam) => (await ipsOf(ipam)).includes(IP) },
  releaseIPs: {
    before: (ipam) => take(ipam, IP, "10.0.0.17"),
    call: (ipam) => ipam.releaseIPs([IP, "10.0.0.17"].map((address) => ({ address, handle: "h" }))),
    isDone: async (ipam) => (await ipsOf(ipam)).length === 0,
  },
  releaseByHandle: {
    before: (ipam) => take(ipam, IP, "10.0.0.17"),
    call: (ipam) => ipam.releaseByHandle("h"),
    isDone: async (ipam) => (await ipsOf(ipam)).length === 0,
  },
  setOwnerAttributes: {
    before: (ipam) => take(ipam, IP),
    call: (ipam) => ipam.setOwnerAttributes(IP, "h", { alternateOwnerAttrs }),
    isDone: async (ipam) => (await ipam.getAssignmentAttributes(IP)).alternateOwnerAttrs["pod"] === "target",
  },
  claimAffinity: {
    call: (ipam) => ipam.claimAffinity("10.0.0.0/27", A),
    isDone: async (ipam) => (await ipam.claimAffinity("10.0.0.0/27", { ...A, host: "host-b" })).failed.length === 2,
  },
};

let cluster: ControlPlane;
let proxy: FaultProxy;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  proxy = await startFaultProxy(cluster);
});
afterAll(async () => {
  await proxy?.stop();
  await cluster?.stop();
});

describe.each(["v1", "v3"] as const)("%s", (flavour) => {
  let clients: readonly KubeClient[];
  let store: Datastore;
  let proxied: Datastore;
  let ipam: Ipam;
  /** The same over a bad line, and what it warns of: made anew for each fault, since it says nothing twice. */
  let faulty: Ipam;
  let warnings: string[];
  beforeAll(async () => {
    clients = await Promise.all([cluster, proxy].map(({ kubeconfig }) => connect({ kubeconfig })));
    [store, proxied] = clients.map((client) => openKubernetes({ client, flavour })) as [Datastore, Datastore];
    ipam = createIpam({ datastore: store, nodes, warn: () => {} });
  });
  afterAll(() => Promise.all(clients.map((client) => client.close())));

  async function prepare({ before }: Case): Promise<void> {
    proxy.clear();
    warnings = [];
    faulty = createIpam({ datastore: proxied, nodes, warn: (message) => warnings.push(message) });
    await deleteAll(cluster, flavour);
    await createPools(store);
    await before?.(ipam);
  }

  /** The write with this number, from 0, is done, and its answer is lost. */
  function loseAnswer(index: number): void {
    const lose = () => proxy.reset({ write: true }, 1, { afterUpstream: true });
    let seen = 0;
    if (index === 0) lose();
    else proxy.before({ write: true }, async () => void (++seen === index && lose()), Number.POSITIVE_INFINITY);
  }

  const findings = async (mode: "always" | "atRest") => check(await storedObjects(store), { mode, now: new Date() });

  async function loseAndRecover(each: Case, index: number): Promise<void> {
    await prepare(each);
    loseAnswer(index);
    const error = await each.call(faulty).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    proxy.clear();
    expect(error === undefined || isDatastoreError(error, "Unavailable"), String(error)).toBe(true);
    expect(await findings("always")).toEqual([]);
    if (error === undefined) expect(await each.isDone(ipam)).toBe(true);

    for (const host of ["host-a", "host-b"]) {
      await ipam.autoAssign({ ...ask, hostname: host, handleID: `last-${host}`, num4: 1, num6: 1 });
    }
    const wasTold = error !== undefined || warnings.some((warning) => warning.includes("too many"));
    const isCountTooHigh = (invariant: number) => wasTold && (invariant === 30 || invariant === 32);
    expect((await findings("atRest")).filter(({ invariant }) => !isCountTooHigh(invariant))).toEqual([]);
  }

  test.each(Object.entries(CASES))("%s", { timeout: 180_000 }, async (_, each) => {
    await prepare(each);
    const before = proxy.requestsMatching({ write: true }).length;
    await each.call(faulty);
    expect(await each.isDone(ipam)).toBe(true);
    const writes = proxy.requestsMatching({ write: true }).length - before;
    expect(writes).toBeGreaterThan(0);
    for (let index = 0; index < writes; index++) await loseAndRecover(each, index);
  });
});
