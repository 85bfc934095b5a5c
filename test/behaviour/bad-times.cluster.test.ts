/**
 * The library while a real API server is overloaded, broken, or away: callers are told what the contract says and nothing
 * else, and what was promised to them is stored.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

const RACERS = 4;
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
  async function begin(): Promise<{ ground: Ground; racers: Racers }> {
    proxy.clear();
    await deleteAll(cluster, flavour);
    const datastore = openKubernetes({ client, flavour });
    await createPools(datastore);
    const store = openKubernetes({ client: proxied, flavour });
    const stores = Array.from({ length: RACERS }, () => ({ store, cached: false }));
    const racers = new Racers({ dir: cluster.dir, flavour, stores });
    return { ground: { datastore, ipam: createIpam({ datastore, warn: () => {} }) }, racers };
  }

  test.each([429, 500, 503])("bursts of %i", async (status) => {
    const { ground, racers } = await begin();
    const headers: Record<string, string> = status === 500 ? {} : { "retry-after": "1" };
    for (let burst = 0; burst < 3; burst++) {
      proxy.fail({ path: /ipam|blockaff|ippool/ }, { status, headers, times: 5 });
      await racers.run(6);
    }
    proxy.clear();
    const journals = racers.journals();
    const told = failuresIn(journals).filter((failure) => status === 429 || !failure.startsWith("Unavailable"));
    expect(told).toEqual([]);
    await judge(ground, journals);
  });

  test("the API server is restarted in the middle", async () => {
    const { ground, racers } = await begin();
    await racers.run(5);
    await Promise.all([racers.run(15), cluster.restartApiServer()]);
    await racers.run(5);
    const journals = racers.journals();
    expect(failuresIn(journals).filter((failure) => !failure.startsWith("Unavailable"))).toEqual([]);
    await judge(ground, journals);
  });
});
