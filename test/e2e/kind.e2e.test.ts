/** The cluster itself: its nodes, images that are loaded into it, its network. Its API server is restarted in leader.e2e.test.ts. */
import { randomUUID } from "node:crypto";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ensureGoPrograms } from "../tools/go-build.ts";
import { e2eCluster } from "./cluster.ts";

const cluster = e2eCluster();
const image = "ipam-operator-test/probe:e2e";
const namespace = `probe-${randomUUID().slice(0, 8)}`; // the one of an earlier run may still be on its way out
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "probe-"));
  await cluster.kubectlOk(["create", "namespace", namespace]);
});
afterAll(async () => {
  await cluster.kubectl(["delete", "namespace", namespace, "--wait=false"]);
  await rm(folder, { recursive: true });
});

async function buildProbe(): Promise<string> {
  const module = join(import.meta.dirname, "probe");
  const programs = [{ name: "probe", module, package: "." }];
  const built = await ensureGoPrograms({ name: "probe", programs, takes: "seconds", instead: "leave this test out" });
  await copyFile(join(built, "probe"), join(folder, "probe"));
  await writeFile(join(folder, "Dockerfile"), 'FROM scratch\nCOPY probe /\nENTRYPOINT ["/probe"]\n');
  await cluster.docker.build({ context: folder, tag: image });
  const tar = join(folder, "probe.tar");
  await cluster.docker.save([image], tar);
  return tar;
}

const pod = (name: string, node: string, args: readonly string[]) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, labels: { name } },
  spec: {
    nodeName: node,
    restartPolicy: "Never",
    containers: [{ name: "probe", image, args, imagePullPolicy: "Never" }],
  },
});
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "server", namespace },
  spec: { selector: { name: "server" }, ports: [{ port: 80, targetPort: 8080 }] },
};

it("has a control plane and at least two workers, all of them ready", async () => {
  const nodes = await cluster.nodes();
  expect(nodes[0]).toContain("control-plane");
  expect(nodes.length).toBeGreaterThanOrEqual(3);
  await cluster.kubectlOk(["wait", "nodes", "--all", "--for=condition=Ready", "--timeout=60s"]);
});

it("runs pods of a loaded image on each worker, who find each other by a service's name", async () => {
  await cluster.loadImage(await buildProbe());
  const [, first, second] = await cluster.nodes();
  const items = [
    service,
    pod("server", first!, []),
    pod("client", second!, [`http://server.${namespace}.svc.cluster.local`]),
  ];
  const list = { apiVersion: "v1", kind: "List", items };
  await cluster.kubectlOk(["apply", "--filename", "-"], { input: JSON.stringify(list) });
  const ended = ["--for=jsonpath={.status.phase}=Succeeded", "--timeout=120s"];
  await cluster.kubectlOk(["--namespace", namespace, "wait", "pod/client", ...ended]);
  expect(await cluster.kubectlOk(["--namespace", namespace, "logs", "client"])).toContain("server");
});
