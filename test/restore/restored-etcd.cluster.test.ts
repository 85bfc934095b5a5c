/**
 * Ruled for a restored etcd: nothing that the restored store knows, or that was given after the restore was noticed, is
 * given twice, and readers notice within 10 s. Both ways of restoring, under a cached reader, an allocating process and the
 * operator.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CachedDatastore, cachedDatastore } from "../../src/datastore/cached.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { ensureEtcdTools } from "../control-plane/etcd-snapshot.ts";
import { check } from "../invariants/check.ts";
import { eventually, installation, storedCooldown } from "../operator/cluster.ts";
import { createNodes, HOSTS } from "../races/racing.ts";
import { allocationsIn, storedObjects } from "../races/stored.ts";
import { pool } from "../support/ipam-data.ts";
import { type RunningOperator, startOperator } from "../support/operator-process.ts";
import { growRevision } from "./put-revisions.ts";

/** The tools are built from their Go modules the first time. */
const BUILD_MS = 600_000;
const NOTICED_MS = 10_000;
/** More than an API server writes when it starts: revisions stay below what was read before. */
const LOST_REVISIONS = 1500;
const PLAINLY = { way: "plainly", restore: {} } as const;
const BUMPED = { way: "with a bumped revision", restore: { bumpRevision: 1_000_000 } } as const;

/** An allocator in all but its process: connections and caches of its own. */
interface Allocator {
  readonly ipam: Ipam;
  readonly datastore: CachedDatastore;
  readonly wentBack: [string, string][];
  close(): Promise<void>;
}

describe.each([
  ["v1", [PLAINLY]],
  ["v3", [PLAINLY, BUMPED]],
] as const)("etcd of a %s cluster is restored", (flavour, ways) => {
  let cluster: ControlPlane;
  let client: KubeClient;
  let direct: Datastore;
  let operator: RunningOperator;
  let number = 0;

  beforeAll(async () => {
    await ensureEtcdTools();
    cluster = await startControlPlane({ crds: flavour });
    client = await connect({ kubeconfig: cluster.kubeconfig });
    direct = openKubernetes({ client, flavour });
    await createNodes(client);
    await direct.create<"IPPool">(pool("four", "10.0.0.0/20", { blockSize: 28 }));
    operator = await startOperator(cluster, { args: ["--discovery-period=1s"] });
  }, BUILD_MS);
  afterAll(async () => {
    await operator?.stop();
    await client?.close();
    await cluster?.stop();
  });

  const follow = async (): Promise<Allocator> => {
    const own = await connect({ kubeconfig: cluster.kubeconfig });
    const wentBack: [string, string][] = [];
    const onWentBack = (held: string, found: string) => void wentBack.push([held, found]);
    const datastore = cachedDatastore(openKubernetes({ client: own, flavour }), { onError: () => {}, onWentBack });
    await datastore.synced();
    const ipam = createIpam({ datastore, warn: () => {} });
    return { ipam, datastore, wentBack, close: () => datastore.close().then(() => own.close()) };
  };
  const take = async ({ ipam }: Pick<Allocator, "ipam">, hostname: string) => {
    const handleID = `handle-${++number}`;
    const { v4 } = await ipam.autoAssign({ num4: 1, num6: 0, handleID, hostname, intendedUse: "Workload" });
    return [v4!.ips[0]!.split("/")[0]!, handleID] as const;
  };
  const takeMany = async (allocator: Pick<Allocator, "ipam">, hostname: string, count: number) => {
    const taken = new Map<string, string>();
    for (let taking = 0; taking < count; taking++) taken.set(...(await take(allocator, hostname)));
    expect(taken.size).toBe(count);
    return taken;
  };
  const handlesSeen = async (store: Datastore) => {
    const { items: blocks } = await store.list("IPAMBlock", { atOneRevision: false });
    return new Set([...allocationsIn({ blocks }).values()].map(({ handle }) => handle));
  };

  test.each(ways)("$way", async ({ way, restore }) => {
    await cluster.apply(installation(60));
    await eventually(() => storedCooldown(cluster, flavour)).toBe(60);
    const file = join(cluster.dir, `${way}.backup`);
    const [reader, allocator] = await Promise.all([follow(), follow()]);
    const known = new Map([...(await takeMany(reader, HOSTS[0], 10)), ...(await takeMany(allocator, HOSTS[1], 10))]);
    await cluster.backUpEtcd(file);
    const lost = await takeMany(reader, HOSTS[0], 40);
    for (const entry of await takeMany({ ipam: createIpam({ datastore: direct }) }, HOSTS[2], 20)) lost.set(...entry);
    await cluster.apply(installation(90));
    await eventually(() => storedCooldown(cluster, flavour)).toBe(90);
    await growRevision(cluster.etcd, LOST_REVISIONS);
    await expect.poll(() => handlesSeen(reader.datastore)).toContain([...lost.values()].at(-1));

    const given: (readonly [string, string])[] = [];
    const stop = new AbortController();
    const allocating = (async () => {
      while (!stop.signal.aborted) {
        // What fails while the server is away gives nothing that is known.
        const taken = await take(allocator, HOSTS[1]).catch(() => undefined);
        if (taken) given.push(taken);
        await sleep(20);
      }
    })();
    await cluster.restoreEtcd(file, restore);
    const givenUnnoticed = given.length;
    const stale = async () => [...(await handlesSeen(reader.datastore))].filter((h) => [...lost.values()].includes(h!));
    await expect.poll(stale, { timeout: NOTICED_MS, interval: 100 }).toEqual([]);
    await expect.poll(() => given.length - givenUnnoticed, { timeout: 20_000 }).toBeGreaterThan(5);
    if (restore === PLAINLY.restore) expect(reader.wentBack).toHaveLength(1);

    const after = new Map([...(await takeMany(reader, HOSTS[0], 20)), ...(await takeMany(reader, HOSTS[2], 20))]);
    stop.abort();
    await allocating;
    for (const [address, handle] of given.slice(givenUnnoticed)) {
      expect(after.get(address), `${address} was given twice`).toBeUndefined();
      after.set(address, handle);
    }
    const stored = await storedObjects(direct);
    const holders = allocationsIn(stored);
    for (const [address, handle] of [...known, ...after]) expect(holders.get(address)?.handle, address).toBe(handle);
    expect(check(stored, { mode: "always", now: new Date() })).toEqual([]);

    // The operator follows as well: an edit made now is acted upon.
    await cluster.apply(installation(restore === PLAINLY.restore ? 120 : 150));
    await expect
      .poll(() => storedCooldown(cluster, flavour), { timeout: NOTICED_MS, interval: 200 })
      .toBe(restore === PLAINLY.restore ? 120 : 150);
    await Promise.all([reader.close(), allocator.close()]);
  });
});
