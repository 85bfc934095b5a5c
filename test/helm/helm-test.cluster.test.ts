/** What `helm test` runs in its pod: here with our Node, against servers that answer as the operator does. */
import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { only } from "./helm.ts";
import { rendered } from "./rendered.ts";

let server: Server | undefined;
afterEach(() => server?.close());

/** A /readyz that gives these answers one after the other, the last one for ever. */
async function readyz(...answers: readonly [status: number, body: string][]): Promise<string> {
  const left = [...answers];
  server = createServer((_request, response) => {
    const [status, body] = left.length > 1 ? left.shift()! : left[0]!;
    response.writeHead(status).end(body);
  });
  await new Promise<void>((done) => server!.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`;
}

/** Runs the pod's command, but for the path of Node and the URL. */
async function helmTest(url: string, patienceSeconds: number) {
  const { command } = only(await rendered(), "Pod")["spec"].containers[0] as { command: string[] };
  const env = { PATIENCE_SECONDS: String(patienceSeconds) };
  return new Promise<{ code: number; stdout: string }>((resolve) => {
    const child = execFile(process.execPath, [...command.slice(1, -1), url], { env }, (_error, stdout) =>
      resolve({ code: child.exitCode ?? -1, stdout }),
    );
  });
}

test("its URL is the Service's, on the port of the probes", async () => {
  const objects = await rendered({ probes: { port: 9091 } });
  const { command } = only(objects, "Pod")["spec"].containers[0];
  expect(command.at(-1)).toBe("http://ipam-operator.ipam-operator.svc:9091/readyz");
  expect(only(objects, "Service")["spec"].ports).toContainEqual({ name: "probes", port: 9091, targetPort: "probes" });
});

test("ready: it says so and ends well", async () => {
  const url = await readyz([200, "ok\n"]);
  expect(await helmTest(url, 10)).toEqual({ code: 0, stdout: `${url}: 200 ok\n` });
});

test("ready after a while: it waits", async () => {
  const url = await readyz([503, "not yet\n"], [200, "ok\n"]);
  expect(await helmTest(url, 30)).toEqual({ code: 0, stdout: `${url}: 200 ok\n` });
});

test("not ready: it prints what is missing, and fails", async () => {
  const url = await readyz([503, "Installations are not listed yet\n"]);
  expect(await helmTest(url, 0)).toEqual({ code: 1, stdout: `${url}: 503 Installations are not listed yet\n` });
});

test("nobody there: it says so, and fails", async () => {
  const url = await readyz([200, "ok\n"]);
  await new Promise((done) => server!.close(done));
  expect(await helmTest(url, 0)).toEqual({ code: 1, stdout: expect.stringContaining("ECONNREFUSED") });
});
