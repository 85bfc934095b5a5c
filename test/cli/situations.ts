/** Small clusters in which pods get no more addresses, made by the real library on an embedded store. */
import { takeFromStore } from "../../src/cli/snapshot/embedded.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openCopy } from "../../src/datastore/embedded.ts";
import { createIpam, type Ipam } from "../../src/ipam/client.ts";
import type { NodeFacts, PodFacts } from "../../src/judgement/facts.ts";
import type { Snapshot } from "../../src/judgement/snapshot.ts";
import { NOW, node, pod } from "./sound.ts";

export interface Situation {
  readonly store: Datastore;
  readonly ipam: Ipam;
  /** Gives pods of a node an address each, and makes them run. */
  fill(host: string, ...names: string[]): Promise<string[]>;
  /** How many addresses the next pod on a node gets: 1, or 0 for whatever reason. */
  next(host: string, namespace?: Readonly<Record<string, string>>): Promise<number>;
  /** The pods run no more, and nobody released their addresses. */
  lose(...names: string[]): void;
  snapshot(more?: Partial<Snapshot>): Promise<Snapshot>;
}

export const NODES = [node("node-a", { labels: { zone: "a" } }), node("node-b", { labels: { zone: "b" } })];

export function situation(nodes: readonly NodeFacts[] = NODES): Situation {
  const store = openCopy(":memory:");
  const labels = new Map(nodes.map((known) => [known.name, { metadata: { labels: known.labels } }]));
  const ipam = createIpam({
    datastore: store,
    clock: () => NOW,
    blockOrder: () => 0n,
    windowsHost: false,
    nodes: async (name) => labels.get(name),
  });
  let pods: PodFacts[] = [];
  const assign = async (host: string, name: string, namespace: Readonly<Record<string, string>> = {}) => {
    const attrs = { namespace: "shop", pod: name, node: host };
    const { v4 } = await ipam.autoAssign({
      num4: 1,
      handleID: `k8s-pod-network.${name}`,
      hostname: host,
      intendedUse: "Workload",
      namespace: { metadata: { labels: namespace } },
      attrs,
    });
    return v4!.ips.map((text) => text.split("/")[0]!);
  };
  return {
    store,
    ipam,
    fill: async (host, ...names) => {
      const given: string[] = [];
      for (const name of names) {
        const [address] = await assign(host, name);
        if (address === undefined) throw new Error(`no address for ${name}`);
        given.push(address);
        pods = [...pods, pod(name, host, [address])];
      }
      return given;
    },
    next: async (host, namespace) => {
      const ips = await assign(host, "next", namespace).catch(() => []);
      if (ips.length > 0) await ipam.releaseByHandle("k8s-pod-network.next");
      return ips.length;
    },
    lose: (...names) => {
      pods = pods.filter(({ name }) => !names.includes(name));
    },
    snapshot: async (more = {}) => {
      const taken = await takeFromStore(store, { signal: new AbortController().signal, now: () => NOW, env: {} });
      const waiting = pod("waiting", "node-a", [], { phase: "Pending" });
      const namespaces = [{ name: "shop", labels: {} }];
      return { ...taken, nodes, namespaces, pods: [...pods, waiting], services: [], events: [], ...more };
    },
  };
}
