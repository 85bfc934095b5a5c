/** The operator lives on whatever discovery answers, and whatever those fail who are told of it. */
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import type { KubeObject } from "../../api/meta.ts";
import { logTaskFailure } from "../../kube/background.ts";
import type { KubeClient, KubeWatchOptions, ResourceType } from "../../kube/types.ts";
import { CRD_TYPE, createServedKinds, type ServedKindsOptions } from "./served-kinds.ts";

const POOLS: ResourceType = { group: "projectcalico.org", version: "v3", plural: "ippools", kind: "IPPool" };
const SERVED = { resources: [{ name: "ippools" }] };
const pool: KubeObject = {
  apiVersion: "projectcalico.org/v3",
  kind: "IPPool",
  metadata: { name: "pool", resourceVersion: "1" },
};
const definition = { ...pool, metadata: { name: "ippools.projectcalico.org", resourceVersion: "1" } };

/** Kinds of a server with one pool, and with what is to be set as its answer to discovery. */
function kindsOf(answer: unknown, more: Partial<ServedKindsOptions> = {}) {
  const discovery = { answer };
  const logged: string[] = [];
  const stop = new AbortController();
  const client = {
    server: "https://10.0.0.1:6443",
    getRaw: async () => discovery.answer,
    list: async (type: ResourceType) => ({
      resourceVersion: "1",
      items: type.plural === CRD_TYPE.plural ? [definition] : [pool],
    }),
    async *watch(_: ResourceType, { signal }: KubeWatchOptions) {
      yield await new Promise<never>((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    },
  } as unknown as KubeClient;
  const log = pino({ level: "warn" }, { write: (line: string) => logged.push(JSON.parse(line).msg) });
  const onState = () => {};
  const kinds = createServedKinds({
    client,
    log,
    signal: stop.signal,
    idleTimeoutMs: 60_000,
    retryMs: 20,
    onState,
    onTaskFailure: logTaskFailure(log),
    ...more,
  });
  const pools = kinds.watch({ type: POOLS, needed: true, onChange: () => {} });
  return { kinds, pools, logged, discovery, [Symbol.dispose]: () => stop.abort() };
}

test.each(["<html>", {}, { resources: null }])("discovery that answers %j is asked again", async (answer) => {
  using server = kindsOf(answer);
  await vi.waitFor(() => expect(server.kinds.error).toMatchObject({ code: "ServerError" }));
  expect(server.pools.served).toBeUndefined();
  server.discovery.answer = SERVED;
  await vi.waitFor(() => expect(server.pools.list()).toHaveLength(1));
  expect(server.kinds.error).toBeUndefined();
});

test("a kind that was found stays watched while discovery answers something else", async () => {
  using server = kindsOf(SERVED);
  await vi.waitFor(() => expect(server.pools.list()).toHaveLength(1));
  server.discovery.answer = {};
  await server.kinds.refresh();
  expect(server.pools.list()).toHaveLength(1);
});

test("a listener that fails is logged and told again", async () => {
  const failingOnce = () => {
    let calls = 0;
    return vi.fn(async () => {
      if (calls++ === 0) throw new Error("not now");
    });
  };
  const onRefresh = failingOnce();
  const onDefinition = failingOnce();
  using server = kindsOf(SERVED, { onRefresh, onDefinition });
  await vi.waitFor(() => expect(onDefinition).toHaveBeenCalledTimes(2));
  await vi.waitFor(() => expect(onRefresh.mock.calls.length).toBeGreaterThanOrEqual(2));
  expect(server.logged.toSorted()).toEqual([
    "Failed to report a change of ippools.projectcalico.org, trying again",
    "Failed to report what is served, trying again",
  ]);
});

test("a state listener that throws keeps no kind from being found", async () => {
  let left = 3;
  const onState = () => {
    if (left-- > 0) throw new Error("not now");
  };
  using server = kindsOf(SERVED, { onState });
  await vi.waitFor(() => expect(server.pools.list()).toHaveLength(1));
  expect(server.logged).toContain("Failed to ask what is served, trying again");
});
