/**
 * Long-lived processes that read from watch-fed caches, on a real API server whose watches stall, are cut, or have expired,
 * while other processes change the objects: an old read costs a lost race at most, never an address.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type CachedDatastore, cachedDatastore } from "../../src/datastore/cached.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import { type Ground, judge } from "../races/aftermath.ts";
import { createNodes, createPools } from "../races/racing.ts";
import { failuresIn } from "../races/verdicts.ts";
import { deleteAll } from "../support/cluster-store.ts";
import { Racers } from "./racers.ts";
import { describeStaleReads } from "./stale-reads.ts";

let cluster: ControlPlane;
let proxy: FaultProxy;
let client: KubeClient;
let proxied: KubeClient;
beforeAll(async () => {
  cluster = await startControlPlane({ crds: "both" });
  proxy = await startFaultProxy(cluster);
  client = await connect({ kubeconfig: cluster.kubeconfig });
  proxied = await connect({ kubeconfig: proxy.kubeconfig });
  await createNodes(client);
});
afterAll(async () => {
  await Promise.all([client?.close(), proxied?.close()]);
  await proxy?.stop();
  await cluster?.stop();
});

describe.each(["v1", "v3"] as const)("%s", { timeout: 300_000 }, (flavour) => {
  let datastore: Datastore;
  const caches: CachedDatastore[] = [];
  beforeEach(async () => {
    proxy.clear();
    await deleteAll(cluster, flavour);
    datastore = openKubernetes({ client, flavour });
  });
  afterEach(async () => void (await Promise.all(caches.splice(0).map((cache) => cache.close()))));

  /** Reads through watches over the proxy; all of them have delivered once. */
  async function openCache(): Promise<CachedDatastore> {
    const cache = cachedDatastore(openKubernetes({ client: proxied, flavour }), { onError: () => {} });
    caches.push(cache);
    await cache.synced();
    return cache;
  }

  describeStaleReads(flavour, async () => {
    const stalled = async () => {
      proxy.resume();
      const cache = await openCache();
      proxy.stallWatches({});
      return cache;
    };
    return { store: datastore, stalled };
  });

  test("watches that stall, are cut and expire, in the midst of calls of four processes", async () => {
    await createPools(datastore);
    const ground: Ground = { datastore, ipam: createIpam({ datastore, warn: () => {} }) };
    const stores = [
      { store: datastore, cached: false },
      { store: datastore, cached: false },
      { store: await openCache(), cached: true },
      { store: await openCache(), cached: true },
    ];
    const racers = new Racers({ dir: cluster.dir, flavour, stores });
    const disturbances = [
      () => proxy.stallWatches({}),
      () => {
        proxy.resume();
        proxy.cutWatches({});
      },
      () => proxy.cutWatches({}, { midLine: true }),
      () => {
        proxy.expireWatch({}, 8, { inStream: true });
        proxy.cutWatches({});
      },
      () => {
        proxy.expireWatch({}, 8, { inStream: false });
        proxy.cutWatches({}, { clean: true });
      },
      () => proxy.delay({ watch: true }, 500, 8),
    ];
    for (const disturb of disturbances) {
      await racers.run(4);
      disturb();
      await racers.run(4);
    }
    const journals = racers.journals();
    expect(failuresIn(journals)).toEqual([]);
    await judge(ground, journals);
  });
});
