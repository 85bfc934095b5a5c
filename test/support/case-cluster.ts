/** A real API server of one generation for the cases that need it: behind a proxy that injects faults, and emptied at will. */
import type { KubeObject } from "../../src/api/meta.ts";
import type { IpamKind } from "../../src/api/v3.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { apiGroups, codecOf, type Flavour } from "../../src/datastore/flavours.ts";
import { openKubernetes } from "../../src/datastore/kubernetes.ts";
import { createIpam, type Ipam, type IpamOptions } from "../../src/ipam/client.ts";
import { connect } from "../../src/kube/rest.ts";
import type { KubeClient } from "../../src/kube/types.ts";
import { startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "../faults/proxy.ts";
import type { ListedObjects } from "../invariants/check.ts";
import { deleteAll } from "./cluster-store.ts";

export type Wire = KubeObject & { readonly spec: Record<string, unknown> };

export interface CaseCluster {
  readonly flavour: Flavour;
  readonly proxy: FaultProxy;
  /** The store without faults. */
  readonly store: Datastore;
  /** What the libraries told since the last reset. */
  readonly warnings: string[];
  /** A process of its own, which reaches the server through the proxy. */
  openIpam(options?: Partial<IpamOptions>): Promise<Ipam>;
  /** An object as the API server has it. */
  raw(kind: IpamKind, name: string): Promise<Wire>;
  /** Creates an object as it is given, which the CRD's validation may refuse. */
  putRaw(kind: IpamKind, name: string, spec: object, metadata?: object): Promise<Wire>;
  stored(): Promise<ListedObjects>;
  /** Deletes everything and forgets all faults. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export async function startCaseCluster(flavour: Flavour): Promise<CaseCluster> {
  const plane = await startControlPlane({ crds: flavour });
  const proxy = await startFaultProxy(plane);
  const clients: KubeClient[] = [];
  const connected = async (kubeconfig: string) => {
    const client = await connect({ kubeconfig });
    clients.push(client);
    return client;
  };
  const direct = await connected(plane.kubeconfig);
  const store = openKubernetes({ client: direct, flavour });
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const all = async <K extends IpamKind>(kind: K) => (await store.list(kind)).items;
  return {
    flavour,
    proxy,
    store,
    warnings,
    openIpam: async (options = {}) => {
      const datastore = openKubernetes({ client: await connected(proxy.kubeconfig), flavour });
      return createIpam({ datastore, windowsHost: false, nodes: async () => ({}), warn, ...options });
    },
    raw: (kind, name) => direct.get<Wire>(codecOf(flavour, kind).resource, name),
    putRaw: (kind, name, spec, metadata = {}) => {
      const { resource } = codecOf(flavour, kind);
      const object = { apiVersion: apiGroups[flavour], kind: resource.kind, metadata: { ...metadata, name }, spec };
      return direct.create(resource, object as Wire);
    },
    stored: async () => ({
      blocks: await all("IPAMBlock"),
      affinities: await all("BlockAffinity"),
      handles: await all("IPAMHandle"),
      configurations: await all("IPAMConfiguration"),
      pools: await all("IPPool"),
      reservations: await all("IPReservation"),
      nodes: [],
    }),
    reset: async () => {
      proxy.clear();
      warnings.splice(0);
      await deleteAll(plane, flavour);
    },
    stop: async () => {
      for (const client of clients) await client.close();
      await proxy.stop();
      await plane.stop();
    },
  };
}
