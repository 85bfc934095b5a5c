import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { openEndpoints } from "./endpoints.ts";
import { createMetrics } from "./metrics.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listening() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  return { server, port: (server.address() as AddressInfo).port };
}
async function freePort(): Promise<number> {
  const { server, port } = await listening();
  server.close();
  await once(server, "close");
  return port;
}
const open = (probes: number, metrics: number, required: boolean) =>
  openEndpoints({
    options: {
      healthProbeBindAddress: { host: "127.0.0.1", port: probes },
      metricsBindAddress: { host: "127.0.0.1", port: metrics },
      inspectBindAddress: "off",
    },
    metrics: createMetrics(),
    ready: [],
    log: pino({ level: "silent" }),
    onTaskFailure: () => {},
    required,
  });

test("a taken port is an error that names the cause and the flag, and nothing stays open", async () => {
  const { port: taken } = await listening();
  const probes = await freePort();
  await expect(open(probes, taken, true)).rejects.toThrow(
    new RegExp(
      `^Cannot serve metrics on port ${taken}: .*already in use.*; choose another with --metrics-bind-address`,
    ),
  );
  await expect(fetch(`http://127.0.0.1:${probes}/healthz`)).rejects.toThrow();
});

test("where no endpoint is required, the others are served", async () => {
  const { port: taken } = await listening();
  const probes = await freePort();
  closing.push(await open(probes, taken, false));
  expect((await fetch(`http://127.0.0.1:${probes}/healthz`)).status).toBe(200);
});
