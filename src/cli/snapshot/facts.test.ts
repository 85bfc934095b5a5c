/** What an API server with other schemas, or an older one, may have stored: facts are read from what is there. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../api/meta.ts";
import {
  clusterInformationFacts,
  controllersFacts,
  eventFacts,
  namespaceFacts,
  nodeFacts,
  podFacts,
  serviceFacts,
  vmFacts,
} from "./facts.ts";

const READERS = {
  clusterInformationFacts,
  controllersFacts,
  eventFacts,
  namespaceFacts,
  nodeFacts,
  podFacts,
  serviceFacts,
  vmFacts,
};
const ODD: readonly unknown[] = [undefined, null, "text", 7, [], {}];
/** Objects whose parts, two levels down, are not what they should be. */
const PARTS = {
  spec: ["type", "nodeName", "hostNetwork", "controllers", "clusterGUID", "datastoreReady"],
  status: ["capacity", "nodeInfo", "conditions", "phase", "podIP", "podIPs", "loadBalancer"],
  involvedObject: ["kind", "name"],
  series: ["count"],
} as const;
const object = (more: object): KubeObject =>
  ({ apiVersion: "v1", kind: "Odd", metadata: { name: "odd" }, ...more }) as KubeObject;
const sound = { spec: { type: "LoadBalancer" }, involvedObject: { kind: "Pod" } };
const objects = Object.entries(PARTS).flatMap(([part, fields]) => [
  ...ODD.map((value) => object({ ...sound, [part]: value })),
  ...fields.flatMap((field) =>
    [...ODD, [null], [{}], { ingress: null }, { ingress: [null] }, { loadBalancer: 7 }].map((value) =>
      object({ ...sound, [part]: { ...(sound as Record<string, object>)[part], [field]: value } }),
    ),
  ),
]);

test.each(Object.entries(READERS))("%s reads every object, or says which field it cannot read", (_, read) => {
  for (const each of objects) {
    try {
      read(each as never);
    } catch (error) {
      expect((error as Error).message, JSON.stringify(each)).toMatch(
        /^(spec|status|involvedObject|series)[^ ]*: Invalid input/,
      );
    }
  }
});

test("what is null is absent", () => {
  const status = { podIP: "10.0.0.1", podIPs: null, conditions: null, loadBalancer: null, phase: null };
  expect(podFacts(object({ spec: null, status }))).toMatchObject({ addresses: ["10.0.0.1"], phase: "Unknown" });
  expect(nodeFacts(object({ status }))).toMatchObject({ name: "odd", windows: false });
  expect(serviceFacts(object({ spec: { type: "LoadBalancer" }, status }))).toMatchObject({ addresses: [] });
});

test("the addresses of a pod that cannot be read are not taken for none", () => {
  const status = { podIPs: [null, { ip: "10.0.0.1" }] };
  expect(() => podFacts(object({ status }))).toThrow("status.podIPs.0: Invalid input: expected object, received null");
});
