/** The operator in one file, on a real API server: each way in that its bundler must not have left out. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, onTestFailed, onTestFinished, test } from "vitest";
import { bundleOperator } from "../../scripts/build.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { ALONE, edit, eventually, FAST, storedCooldown } from "./cluster.ts";
import { type RunningOperator, startOperator } from "./operator-process.ts";

let folder: string;
let cluster: ControlPlane;
let operator: RunningOperator | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ipam-bundle-"));
  await bundleOperator(join(folder, "operator.mjs"));
  cluster = await startControlPlane({ crds: "v3" });
});
afterEach(() => operator?.stop("SIGKILL"));
afterAll(async () => {
  await cluster?.stop();
  await rm(folder, { recursive: true });
});

/** A kubeconfig of the admin with what is given in place of the token, and beside the server's URL. */
async function kubeconfig(user: object, more: object = {}): Promise<string> {
  const path = join(folder, `${crypto.randomUUID()}.json`);
  const server = {
    server: cluster.server,
    "certificate-authority-data": Buffer.from(cluster.caData).toString("base64"),
  };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { ...server, ...more } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

let cooldown = 0;
async function worksWith(path: string): Promise<void> {
  operator = await startOperator([...FAST, ...ALONE, "--kubeconfig", path], { entry: join(folder, "operator.mjs") });
  const { stderr, probe, stop } = operator;
  onTestFailed(() => console.error(stderr.slice(-40).join("\n")));
  cooldown += 1;
  await edit(cluster, cooldown);
  await eventually(() => storedCooldown(cluster)).toBe(cooldown);
  expect(await probe("/readyz")).toEqual({ status: 200, body: "ok\n" });
  expect(await stop()).toEqual({ code: 0, signal: null });
}

test("a token", () => worksWith(cluster.kubeconfig));

test("a client certificate", async () => worksWith(await cluster.clientCertKubeconfig()));

test("a credential plugin", async () => {
  const apiVersion = "client.authentication.k8s.io/v1";
  const credential = { apiVersion, kind: "ExecCredential", status: { token: cluster.adminToken } };
  const exec = { apiVersion, command: "echo", args: [JSON.stringify(credential)], interactiveMode: "Never" };
  await worksWith(await kubeconfig({ exec }));
});

test("a proxy", async () => {
  const asked: string[] = [];
  const proxy = createHttpServer().listen(0, "127.0.0.1");
  proxy.on("connect", ({ url = "" }, client, head) => {
    asked.push(url);
    const { hostname, port } = new URL(`http://${url}`);
    const server = connect(Number(port), hostname, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      server.write(head);
      client.pipe(server).pipe(client);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  await worksWith(await kubeconfig({ token: cluster.adminToken }, { "proxy-url": `http://127.0.0.1:${port}` }));
  expect(new Set(asked)).toEqual(new Set([new URL(cluster.server).host]));
});

test("the embedded store", async () => {
  const args = ["--manifests", join(import.meta.dirname, "../../examples")];
  operator = await startOperator(args, { entry: join(folder, "operator.mjs"), cwd: folder });
  await eventually(() => operator?.stdout.join("\n")).toMatch(/maxBlocksPerHost +8 +from your Installation/);
  expect(await operator.stop("SIGINT")).toEqual({ code: 0, signal: null });
});
