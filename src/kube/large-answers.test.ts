/** Answers without end, as a broken proxy may send them: every read is bounded and ends in a sentence. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import type { KubeObject } from "../api/meta.ts";
import type { Credentials } from "./credentials.ts";
import { createReflector } from "./reflector.ts";
import { createKubeClient } from "./rest.ts";
import { createTransport } from "./transport.ts";
import type { KubeClient, ResourceType } from "./types.ts";

const POOLS: ResourceType = { group: "test.example.org", version: "v1", plural: "pools", kind: "Pool" };
const POOL: KubeObject = { apiVersion: "test.example.org/v1", kind: "Pool", metadata: { name: "p" } };
const MIB = 2 ** 20;

let server: Server;
let client: KubeClient;
afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

interface Asked {
  readonly method: string;
  readonly url: URL;
}

/** A server that answers everything with 200 and whatever `answer` writes. */
async function serve(answer: (asked: Asked, response: ServerResponse) => void): Promise<void> {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    answer({ method: request.method ?? "", url: new URL(request.url ?? "", "http://server") }, response);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  client = createKubeClient(createTransport(credentialsOf(server)));
}

function credentialsOf(http: Server): Credentials {
  const { port } = http.address() as AddressInfo;
  return {
    server: `http://127.0.0.1:${port}`,
    description: "a server of this test",
    namespace: undefined,
    proxyUrl: undefined,
    tls: async () => TLS,
    headers: async () => ({}),
    renew: () => false,
  };
}
const TLS = {};

/** Writes until the other side leaves, but no more than a test's memory allows. */
function endless(response: ServerResponse, begin = ""): void {
  const chunk = Buffer.alloc(MIB, "x");
  let left = 600;
  const more = () => {
    while (left-- > 0 && !response.destroyed) if (!response.write(chunk)) return response.once("drain", more);
    return response.end();
  };
  response.write(begin);
  more();
}

test("an object without end", async () => {
  await serve((_, response) => endless(response, '{"metadata":{"name":"'));
  await expect(client.get(POOLS, "p")).rejects.toMatchObject({
    code: "TooLarge",
    message:
      `cannot get Pool "p": the answer of ${client.server} is larger than 16 MiB, the limit for one object: ` +
      "check what answers at this address",
  });
});

test("of a write the outcome is unknown", async () => {
  await serve((_, response) => endless(response));
  await expect(client.create(POOLS, POOL)).rejects.toMatchObject({
    code: "TooLarge",
    message: expect.stringMatching(/larger than 16 MiB.*; the outcome is unknown: read the object before/),
  });
});

test("an object of 5 MB is read", async () => {
  const note = "1234567890123456789".repeat(270_000);
  await serve((_, response) => response.end(JSON.stringify({ ...POOL, note })));
  expect(await client.get(POOLS, "p")).toMatchObject({ note });
});

test("a refusal without end is one without words", async () => {
  await serve((_, response) => endless(response));
  server.removeAllListeners("request");
  server.on("request", (_, response: ServerResponse) => {
    response.writeHead(403);
    endless(response);
  });
  await expect(client.get(POOLS, "p")).rejects.toMatchObject({
    code: "Forbidden",
    message: `cannot get Pool "p": ${client.server} answered 403 to GET /apis/test.example.org/v1/pools/p without saying why`,
  });
});

test("a list is asked for in smaller pages where a page is too large", async () => {
  const limits: number[] = [];
  const names = Array.from({ length: 8 }, (_, at) => `p${at}`);
  const note = Buffer.alloc(9 * MIB, "y");
  await serve(({ url }, response) => {
    const [limit, from] = ["limit", "continue"].map((name) => Number(url.searchParams.get(name))) as [number, number];
    limits.push(limit);
    const to = from + limit;
    const metadata = { resourceVersion: "7", ...(to < names.length && { continue: String(to) }) };
    response.write(`{"kind":"PoolList","metadata":${JSON.stringify(metadata)},"items":[`);
    for (const [at, name] of names.slice(from, to).entries()) {
      response.write(`${at > 0 ? "," : ""}{"kind":"Pool","metadata":{"name":"${name}"},"note":"`);
      response.write(note);
      response.write('"}');
    }
    response.end("]}");
  });
  const { items } = await client.list(POOLS, { transform: ({ metadata }) => metadata.name });
  expect(items).toEqual(names);
  expect(limits).toEqual([500, 50, 5, 5]);
});

test("a list without end", async () => {
  await serve((_, response) => endless(response));
  await expect(client.list(POOLS, { limit: 1 })).rejects.toMatchObject({
    code: "TooLarge",
    message: expect.stringContaining(
      `cannot list pools: the answer of ${client.server} is larger than 64 MiB, the limit for a page of a list`,
    ),
  });
});

test("a change without end: who sent it, of which kind, the size and the limit", async () => {
  await serve((_, response) => endless(response, '{"type":"MODIFIED",'));
  const watch = client.watch(POOLS, { resourceVersion: "1", signal: new AbortController().signal });
  await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: "TooLarge",
    message:
      `cannot watch pools: ${client.server} sent a change of more than 16 MiB, the limit for one object: ` +
      "check what answers at this address",
  });
});

test("the reflector says so, lists again, and is up to date", async () => {
  let lists = 0;
  await serve(({ url }, response) => {
    if (!url.searchParams.has("watch")) {
      lists++;
      response.end(JSON.stringify({ kind: "PoolList", metadata: { resourceVersion: "7" }, items: [POOL] }));
      return;
    }
    // The watch stands for long enough to count as healthy, each time.
    setTimeout(() => endless(response), 30);
  });
  const stop = new AbortController();
  const backoff = { baseMs: 60, maxMs: 10_000 };
  const errors: (string | undefined)[] = [];
  const reflector = createReflector({
    client,
    type: POOLS,
    log: pino({ level: "silent" }),
    onState: ({ lastError }) => errors.push(lastError?.code),
    healthyAfterMs: 10,
    backoff,
  });
  const ended = reflector.start(stop.signal);
  await expect.poll(() => lists, { timeout: 15_000 }).toBeGreaterThan(1);
  expect(errors).toContain("TooLarge");
  expect(reflector.store.list()).toMatchObject([POOL]);
  stop.abort();
  await ended;
}, 30_000);
