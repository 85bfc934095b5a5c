/** The examples of docs/library.md that need a cluster, run as they stand there on a real API server in both generations. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openKubernetes } from "../src/index.ts";
import { type ControlPlane, startControlPlane } from "./control-plane/control-plane.ts";
import { pool } from "./support/ipam-data.ts";
import { examplesOf, linesOf } from "./support/page-examples.ts";

describe.each(["v1", "v3"] as const)("on a %s cluster", { timeout: 180_000 }, (crds) => {
  const [, onACluster = "", longLived = ""] = examplesOf("docs/library.md");
  let cluster: ControlPlane;
  let env: Record<string, string>;
  beforeAll(async () => {
    cluster = await startControlPlane({ crds });
    env = { KUBECONFIG: cluster.kubeconfig };
    const datastore = await openKubernetes({ kubeconfig: cluster.kubeconfig });
    await datastore.create(pool("racked", "10.1.0.0/24", { nodeSelector: 'rack == "r1"' }));
    await datastore.close();
  });
  afterAll(() => cluster?.stop());

  const address = expect.stringMatching(/^\[ '10\.1\.0\.\d+\/26' \]$/);

  test("a host that is no node is told", async () => {
    await expect(linesOf(onACluster, env)).rejects.toThrow('nodes "node-a" not found');
  });

  test("an address comes from the pool that selects the node", async () => {
    await cluster.kubectlOk(["create", "-f", "-"], {
      input: JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: "node-a", labels: { rack: "r1" } } }),
    });
    expect(await linesOf(onACluster, env)).toEqual([address]);
  });

  test("a long-lived process assigns and releases", async () => {
    expect(await linesOf(longLived, env)).toEqual([address, address]);
  });
});
