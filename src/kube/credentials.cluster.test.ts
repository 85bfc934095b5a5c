/** Every way to prove who we are, at a real API server, and what happens when the proof changes. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { parse, stringify } from "yaml";
import { type ControlPlane, startControlPlane } from "../../test/control-plane/control-plane.ts";
import { connect } from "./rest.ts";
import type { KubeClient, ResourceType } from "./types.ts";

const nodes: ResourceType = { group: "", version: "v1", plural: "nodes", kind: "Node" };
let cluster: ControlPlane;
let directory: string;

beforeAll(async () => {
  cluster = await startControlPlane();
  directory = cluster.dir;
});
afterAll(() => cluster?.stop());

/** A kubeconfig for the cluster with another user and, where given, a CA file. */
function kubeconfig(user: object, cluster_: object = {}): string {
  const config = parse(readFileSync(cluster.kubeconfig, "utf8"));
  config.users[0].user = user;
  config.clusters[0].cluster = { ...config.clusters[0].cluster, ...cluster_ };
  const path = join(directory, `${crypto.randomUUID()}.kubeconfig`);
  writeFileSync(path, stringify(config));
  return path;
}
async function withClient<T>(path: string, use: (client: KubeClient) => Promise<T>): Promise<T> {
  const other = await connect({ kubeconfig: path });
  try {
    return await use(other);
  } finally {
    await other.close();
  }
}
const listAll = (other: KubeClient) => other.list(nodes);

it("a client certificate", async () => {
  const path = await cluster.clientCertKubeconfig("certificate-jane", []);
  const error = await withClient(path, listAll).catch((reason) => reason);
  expect(error).toMatchObject({ message: expect.stringContaining('User "certificate-jane" cannot list') });
  await withClient(await cluster.clientCertKubeconfig(), listAll);
});

it("a token file, read again at once when the server refuses the old token", async () => {
  const tokenFile = join(directory, "token");
  writeFileSync(tokenFile, cluster.janeToken);
  await withClient(kubeconfig({ tokenFile }), async (other) => {
    await expect(listAll(other)).rejects.toMatchObject({ code: "Forbidden" });
    writeFileSync(tokenFile, "revoked");
    await vi.waitFor(() => expect(listAll(other)).rejects.toMatchObject({ code: "Unauthorized" }), 30_000);
    writeFileSync(tokenFile, cluster.adminToken);
    await listAll(other);
  });
});

it("a credential plugin, asked once for many calls and again when its token is refused", async () => {
  const program = join(directory, "plugin.sh");
  const runs = join(directory, "runs");
  const print = (token: string) => `echo '{"status":{"token":"${token}"}}'`;
  writeFileSync(
    program,
    `#!/bin/sh\necho x >> ${runs}\nif [ $(wc -l < ${runs}) = 1 ]; then ${print("old")}; else ${print(cluster.adminToken)}; fi`,
    { mode: 0o700 },
  );
  await withClient(
    kubeconfig({ exec: { apiVersion: "client.authentication.k8s.io/v1", command: program } }),
    async (other) => {
      await listAll(other);
      await Promise.all([listAll(other), listAll(other), listAll(other)]);
    },
  );
  expect(readFileSync(runs, "utf8")).toBe("x\nx\n");
});

it("a credential plugin that hangs holds a call no longer than its deadline", async () => {
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sleep", args: ["5"] };
  await withClient(kubeconfig({ exec }), async (other) => {
    await expect(other.list(nodes, { timeoutMs: 200 })).rejects.toMatchObject({ code: "Timeout" });
  });
});

it("F19: a CA file that is put right later", async () => {
  const ca = join(directory, "ca.crt");
  writeFileSync(ca, "");
  const wrong = { "certificate-authority-data": undefined, "certificate-authority": ca };
  await withClient(kubeconfig({ token: cluster.adminToken }, wrong), async (other) => {
    await expect(other.list(nodes, { timeoutMs: 5000 })).rejects.toMatchObject({ code: "Unavailable" });
    writeFileSync(ca, cluster.caData);
    await vi.waitFor(() => listAll(other), 60_000);
  });
});
