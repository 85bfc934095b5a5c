import { afterEach, describe, expect, test, vi } from "vitest";
import { type HttpEndpoint, healthReply, monitorLoop, readyReply, serveHttp } from "./probes.ts";

const open: HttpEndpoint[] = [];
const onTaskFailure = () => {};
afterEach(async () => {
  await Promise.all(open.splice(0).map((endpoint) => endpoint.close()));
});

async function serve(routes: Parameters<typeof serveHttp>[1]) {
  const endpoint = await serveHttp({ host: "127.0.0.1", port: 0 }, routes, { onTaskFailure });
  open.push(endpoint);
  return (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${endpoint.port}${path}`, init);
}

describe("serveHttp", () => {
  test("answers its paths, with or without a query, and says which there are", async () => {
    const call = await serve({ "/healthz": () => ({ status: 200, body: "ok\n" }) });
    expect(await (await call("/healthz?verbose")).text()).toBe("ok\n");
    const missing = await call("/constructor");
    expect(missing.status).toBe(404);
    expect(await missing.text()).toContain("/healthz");
  });

  test("refuses to be written to, and turns a failing route into a 500", async () => {
    const call = await serve({
      "/metrics": () => {
        throw new Error("scrape failed");
      },
    });
    expect((await call("/metrics", { method: "POST" })).status).toBe(405);
    const failed = await call("/metrics");
    expect([failed.status, await failed.text()]).toEqual([500, "scrape failed\n"]);
    expect(await (await call("/metrics", { method: "HEAD" })).text()).toBe("");
  });

  test("an address in use is an error, not a crash later", async () => {
    await serve({});
    await expect(serveHttp({ host: "127.0.0.1", port: open[0]!.port }, {}, { onTaskFailure })).rejects.toThrow(
      "EADDRINUSE",
    );
  });
});

describe("probes", () => {
  test("a loop blocked for ten seconds is not healthy, and recovers", async () => {
    vi.useFakeTimers();
    let now = 0;
    const loop = monitorLoop(5, () => now);
    expect(healthReply(loop).status).toBe(200);
    now = 12_005;
    expect(healthReply(loop)).toEqual({ status: 503, body: "the event loop was blocked for 12 s\n" });
    vi.advanceTimersByTime(5);
    expect(healthReply(loop).status, "the tick after the blockage must not hide it").toBe(503);
    now += 5;
    vi.advanceTimersByTime(5);
    expect(healthReply(loop).status).toBe(200);
    loop.stop();
    vi.useRealTimers();
  });

  test("readiness names everything that is missing", () => {
    expect(readyReply([() => undefined]).status).toBe(200);
    const reply = readyReply([() => "Installations are not listed yet", () => undefined, () => "no lease answer yet"]);
    expect(reply).toEqual({ status: 503, body: "Installations are not listed yet\nno lease answer yet\n" });
  });
});
