import { pino } from "pino";
import { expect, it } from "vitest";
import type { KubeClient } from "../src/kube/types.ts";
import { createRbacReconciler, RBAC_KEY } from "./rbac.ts";

it("touches no role while it is not known whether the Installation says Paused", async () => {
  const asked: string[] = [];
  const client = new Proxy({} as KubeClient, {
    get: (_target, property) => () => {
      asked.push(String(property));
      return Promise.reject(new Error("no request is expected"));
    },
  });
  const reconciler = createRbacReconciler({
    client,
    events: { event: () => {} },
    served: () => ["v3"],
    subjects: new Map(),
    installation: () => {
      throw new Error("the Installations cannot be listed");
    },
  });
  const context = { signal: new AbortController().signal, log: pino({ level: "silent" }) };
  await expect(reconciler.reconcile(RBAC_KEY, context)).rejects.toThrow("cannot be listed");
  expect(asked).toEqual([]);
});
