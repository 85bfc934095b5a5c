/** Each fault of the proxy shows at a plain HTTPS client, and without faults it cannot be told from the server. */
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type ApiResponse, apiRequest } from "../control-plane/api-request.ts";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type FaultProxy, startFaultProxy } from "./proxy.ts";

const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 10_000 });
const maps = "/api/v1/namespaces/default/configmaps";
let cluster: ControlPlane;
let proxy: FaultProxy;

beforeAll(async () => {
  cluster = await startControlPlane();
  proxy = await startFaultProxy(cluster);
});
afterEach(() => proxy.clear());
afterAll(async () => {
  await proxy.stop();
  await cluster.stop();
});

const call = (method: string, path: string, body?: unknown): Promise<ApiResponse> =>
  apiRequest({ ...proxy, ownConnections: true }, cluster.adminToken, method, path, body);
const direct = (method: string, path: string, body?: unknown): Promise<ApiResponse> =>
  apiRequest(cluster, cluster.adminToken, method, path, body);
const configMap = (name: string, data: Record<string, string> = {}) => ({ metadata: { name }, data });

interface Watch {
  readonly status: number;
  readonly text: string;
  /** How it ended, when it has. */
  readonly end: "" | "eof" | "reset";
  close(): void;
}

/** Opens a watch for one ConfigMap through the proxy and gathers what arrives. */
async function watch(name: string): Promise<Watch> {
  const path = `${maps}?watch=true&fieldSelector=metadata.name=${name}`;
  const headers = { authorization: `Bearer ${cluster.adminToken}` };
  const client = request(new URL(path, proxy.server), { ca: proxy.caData, agent: false, headers });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    client.on("response", resolve).on("error", reject).end();
  });
  const state = { status: response.statusCode ?? 0, text: "", end: "" as Watch["end"], close: () => client.destroy() };
  response.on("data", (chunk: Buffer) => {
    state.text += chunk;
  });
  response.on("end", () => {
    state.end = "eof";
  });
  response.on("error", () => {
    state.end = "reset";
  });
  return state;
}

it("passes everything on and notes it", async () => {
  const before = proxy.requests.length;
  expect((await call("POST", maps, configMap("plain"))).status).toBe(201);
  expect((await call("GET", `${maps}/plain?pretty=false`)).status).toBe(200);
  const [post, get] = proxy.requests.slice(before);
  expect(post).toMatchObject({ method: "POST", path: maps, status: 201, watch: false });
  expect(get).toMatchObject({ method: "GET", path: `${maps}/plain`, status: 200 });
  expect(get!.query.get("pretty")).toBe("false");
  expect(get!.connectionId).toBeGreaterThan(post!.connectionId);
  expect(proxy.connections.total).toBeGreaterThanOrEqual(2);
});

it("serves kubectl through its kubeconfig, and keeps users apart", async () => {
  const seen = proxy.requests.length;
  await cluster.kubectlOk(["--kubeconfig", proxy.kubeconfig, "get", "namespaces"]);
  const jane = ["--kubeconfig", proxy.kubeconfigFor(cluster.janeToken), "get", "namespaces"];
  expect((await cluster.kubectl(jane)).stderr).toContain('User "jane" cannot list');
  expect(proxy.requests.slice(seen).some(({ userAgent }) => userAgent.startsWith("kubectl"))).toBe(true);
});

it.each([429, 500, 503, 403, 415])("answers %i as often as told, then no more", async (status) => {
  proxy.fail({ method: "GET", path: "configmaps" }, { status, times: 2, headers: { "retry-after": "1" } });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await call("GET", maps)).status);
  expect(statuses).toEqual([status, status, 200]);
});

it("answers with a Status, or with the text given", async () => {
  proxy.fail({ path: /configmaps$/ }, { status: 429, times: 1 });
  expect(JSON.parse((await call("GET", maps)).body)).toMatchObject({
    kind: "Status",
    reason: "TooManyRequests",
    code: 429,
  });
  proxy.fail({ path: /configmaps$/ }, { status: 502, times: 1, body: "<html>bad gateway</html>" });
  expect(await call("GET", maps)).toEqual({ status: 502, body: "<html>bad gateway</html>" });
});

it("leaves alone what does not match", async () => {
  proxy.fail({ method: "PUT", path: /configmaps/ }, { status: 500, times: 9 });
  proxy.fail({ path: /configmaps/, watch: true }, { status: 500, times: 9 });
  expect((await call("GET", maps)).status).toBe(200);
  expect((await call("GET", "/api/v1/namespaces")).status).toBe(200);
});

it("delays a request before the server sees it", async () => {
  proxy.delay({ method: "POST", path: maps }, 1500, 1);
  const late = call("POST", maps, configMap("late"));
  await eventually(() => proxy.requests.at(-1)?.method).toBe("POST");
  expect((await direct("GET", `${maps}/late`)).status).toBe(404);
  expect((await late).status).toBe(201);
});

it("slips another writer's change in before a PUT", async () => {
  const created = JSON.parse((await direct("POST", maps, configMap("contested"))).body);
  proxy.before({ method: "PUT" }, () => direct("PUT", `${maps}/contested`, configMap("contested", { by: "other" })), 1);
  expect((await call("PUT", `${maps}/contested`, created)).status).toBe(409);
  expect(JSON.parse((await call("GET", `${maps}/contested`)).body).data).toEqual({ by: "other" });
});

it("resets before the server, or after it: the write is not done, or done", async () => {
  proxy.reset({ method: "POST" }, 1);
  await expect(call("POST", maps, configMap("lost"))).rejects.toThrow();
  expect((await direct("GET", `${maps}/lost`)).status).toBe(404);
  proxy.reset({ method: "POST" }, 1, { afterUpstream: true });
  await expect(call("POST", maps, configMap("unknown"))).rejects.toThrow();
  expect((await direct("GET", `${maps}/unknown`)).status).toBe(200);
  expect(proxy.requestsMatching({ method: "POST" }).slice(-2)).toMatchObject([{ status: 0 }, { status: 0 }]);
});

it("passes watch events on as they come", async () => {
  const watching = await watch("live");
  await direct("POST", maps, configMap("live"));
  await eventually(() => watching.text).toContain('"type":"ADDED"');
  await direct("DELETE", `${maps}/live`);
  await eventually(() => watching.text).toContain('"type":"DELETED"');
  expect(watching.end).toBe("");
  watching.close();
});

it("cuts watches: by reset or by a proper end, after half a line or between lines", async () => {
  const cases = [{}, { clean: true }, { midLine: true }, { midLine: true, clean: true }];
  for (const options of cases) {
    const watching = await watch("cut");
    expect(proxy.cutWatches({ path: "configmaps" }, options)).toBe(1);
    await eventually(() => watching.end).toBe(options.clean ? "eof" : "reset");
    expect(watching.text).toMatch(options.midLine ? /^\{"type":"MODIFIED"[^\n]*$/ : /^$/);
  }
  expect(proxy.cutWatches({})).toBe(0);
});

it("stalls open and new watches until resumed, while other requests pass", async () => {
  const open = await watch("stalled");
  expect(proxy.stallWatches({ path: "configmaps" })).toBe(1);
  const opened = await watch("stalled");
  expect((await call("POST", maps, configMap("stalled"))).status).toBe(201);
  proxy.resume();
  const fresh = await watch("stalled");
  await eventually(() => fresh.text).toContain('"type":"ADDED"');
  expect([open.text, open.end, opened.status, opened.text, opened.end]).toEqual(["", "", 200, "", ""]);
  for (const { close } of [open, opened, fresh]) close();
});

it("expires a watch by status, or inside the stream", async () => {
  proxy.expireWatch({ path: "configmaps" }, 1, { inStream: false });
  expect((await watch("expired")).status).toBe(410);
  proxy.expireWatch({ path: "configmaps" }, 1, { inStream: true });
  const inStream = await watch("expired");
  await eventually(() => inStream.end).toBe("eof");
  expect(inStream.status).toBe(200);
  expect(JSON.parse(inStream.text)).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } });
});

it("refuses all, open watches included, until it accepts again", async () => {
  const watching = await watch("away");
  expect(proxy.connections.open).toBeGreaterThan(0);
  await proxy.refuseAll();
  await eventually(() => watching.end).toBe("reset");
  expect(proxy.connections.open).toBe(0);
  await expect(call("GET", maps)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await proxy.acceptAll();
  expect((await call("GET", maps)).status).toBe(200);
});

it("resets its clients while the API server restarts, and serves them again afterwards", async () => {
  const watching = await watch("restart");
  await cluster.stopApiServer();
  await eventually(() => watching.end).toBe("reset");
  await expect(call("GET", maps)).rejects.toThrow();
  await cluster.startApiServer();
  expect((await call("GET", maps)).status).toBe(200);
});
