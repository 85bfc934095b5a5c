import { expect, test } from "vitest";
import type { KubeObject } from "../api/meta.ts";
import { type KubeClient, KubeError, type KubeWatchEvent } from "../kube/types.ts";
import { codecOf } from "./flavours.ts";
import { watchRows } from "./kubernetes-watch.ts";

const pool = (name: string, resourceVersion: string): KubeObject =>
  ({
    apiVersion: "projectcalico.org/v3",
    kind: "IPPool",
    metadata: { name, uid: name, resourceVersion },
    spec: { cidr: "10.0.0.0/16" },
  }) as KubeObject;

test("after a change that is too large all is listed again, which brings what was in it", async () => {
  const lists = [[pool("a", "1")], [pool("a", "1"), pool("b", "5")]];
  const watchedFrom: string[] = [];
  const client = {
    list: async () => ({ items: lists.shift(), resourceVersion: watchedFrom.length === 0 ? "1" : "5" }),
    async *watch(
      _: unknown,
      { resourceVersion }: { resourceVersion: string },
    ): AsyncGenerator<KubeWatchEvent<KubeObject>> {
      watchedFrom.push(resourceVersion);
      if (resourceVersion === "1") throw new KubeError("TooLarge", "a change of more than 16 MiB");
      yield { type: "MODIFIED", object: pool("a", "6") };
    },
  } as unknown as KubeClient;
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const { type, object } of watchRows({ client, codec: codecOf("v3", "IPPool"), signal: stop.signal })) {
    seen.push(`${type} ${object.metadata.name}`);
    if (seen.length === 3) stop.abort();
  }
  expect(seen).toEqual(["Added a", "Added b", "Modified a"]);
  expect(watchedFrom).toEqual(["1", "5"]);
});
