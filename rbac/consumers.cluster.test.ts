/**
 * What people run with a role, as a ServiceAccount that holds it and nothing else, on clusters that have all that Calico
 * installs: the library of a CNI plugin, a process that follows by watches, `ipamctl check` of someone who may look.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCluster } from "../src/cli/cluster.ts";
import { takeFromCluster } from "../src/cli/snapshot/cluster.ts";
import { cachedDatastore } from "../src/datastore/cached.ts";
import { connectKubernetes } from "../src/datastore/connect.ts";
import { createIpam } from "../src/ipam/client.ts";
import { type ControlPlane, startControlPlane } from "../test/control-plane/control-plane.ts";
import { apiOf, clusterInformationCrd, openCrd } from "../test/installation/fixtures.ts";
import { denied } from "../test/support/audit.ts";
import { pool } from "../test/support/ipam-data.ts";
import { type GrantedRole, roleName } from "./permissions.ts";

const NAMESPACE = "kube-system";
const userOf = (role: GrantedRole) => `system:serviceaccount:${NAMESPACE}:${role}`;
const migrations = { group: "migration.projectcalico.org", version: "v1beta1", plural: "datastoremigrations" };
const controllers = { kind: "KubeControllersConfiguration", plural: "kubecontrollersconfigurations" };

describe.each(["v1", "v3"] as const)("on a %s cluster", (flavour) => {
  let cluster: ControlPlane;
  const tokens = new Map<GrantedRole, string>();
  beforeAll(async () => {
    cluster = await startControlPlane({ crds: flavour });
    await cluster.kubectlOk(["apply", "-f", "rbac/"]);
    const crds = [
      clusterInformationCrd(flavour),
      openCrd({ ...apiOf(flavour), ...controllers }),
      openCrd({ ...migrations, kind: "DatastoreMigration" }),
    ];
    for (const crd of crds) await cluster.kubectlOk(["create", "-f", "-"], { input: JSON.stringify(crd) });
    await cluster.kubectlOk(["wait", "--for=condition=Established", "crd", "--all"]);
    const node = JSON.stringify({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "node-a", labels: { rack: "1" } },
    });
    await cluster.kubectlOk(["create", "-f", "-"], { input: node });
    const admin = await connectKubernetes({ kubeconfig: cluster.kubeconfig });
    await admin.create(pool("pool", "10.0.0.0/24", { nodeSelector: "has(rack)" }));
    await admin.close();
  });
  afterAll(() => cluster?.stop());

  /** A kubeconfig of someone who holds one role. */
  const as = async (role: GrantedRole): Promise<string> => {
    const token = tokens.get(role) ?? (await cluster.serviceAccountToken(NAMESPACE, role, { create: true }));
    if (!tokens.has(role)) {
      const subject = `--serviceaccount=${NAMESPACE}:${role}`;
      await cluster.kubectlOk(["create", "clusterrolebinding", role, `--clusterrole=${roleName(role)}`, subject]);
    }
    tokens.set(role, token);
    return cluster.kubeconfigFor(token);
  };
  const refused = async (role: GrantedRole) => denied(await cluster.auditLog(), userOf(role));

  it.each(["cni-plugin", "node-agent", "controllers"] as const)("%s allocates and releases", async (role) => {
    const datastore = await connectKubernetes({ kubeconfig: await as(role) });
    const ipam = createIpam({ datastore, hostname: "node-a" });
    const handleID = `handle-of-${role}`;
    const { v4 } = await ipam.autoAssign({ num4: 1, handleID, intendedUse: "Workload" });
    expect(v4?.ips).toHaveLength(1);
    await ipam.releaseByHandle(handleID);
    await ipam.releaseHostAffinities({ affinityType: "host", host: "node-a" }, true);
    await datastore.close();
    expect(await refused(role)).toEqual([]);
  });

  it.each(["node-agent", "controllers"] as const)("%s follows all that the caches hold", async (role) => {
    const failures: unknown[] = [];
    const onError = (kind: string, error: unknown) => failures.push(`${kind}: ${error}`);
    const cluster = await connectKubernetes({ kubeconfig: await as(role) });
    const datastore = cachedDatastore(cluster, { onError });
    await datastore.synced();
    expect(await createIpam({ datastore, hostname: "node-a" }).getIPAMConfig()).toMatchObject({
      strictAffinity: false,
    });
    await datastore.close();
    expect(failures).toEqual([]);
    expect(await refused(role)).toEqual([]);
  });

  it.each(["viewer", "editor"] as const)("%s sees all that `ipamctl check` looks at", async (role) => {
    const call = { env: {}, signal: AbortSignal.timeout(30_000) };
    const place = { kind: "cluster", kubeconfig: await as(role), apiGroup: "auto" } as const;
    const source = await openCluster(place, call);
    const { unread, nodes } = await takeFromCluster(source, { ...call, now: () => new Date() });
    await source.client.close();
    expect({ unread, refused: await refused(role) }).toEqual({ unread: [], refused: [] });
    expect(nodes?.map(({ name }) => name)).toEqual(["node-a"]);
  });
});
