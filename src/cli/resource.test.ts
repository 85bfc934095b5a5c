/** How a resource is named, as kubectl takes it. */
import { describe, expect, it } from "vitest";
import { parseResource } from "./resource.ts";

describe("a resource is", () => {
  it.each([
    [["pod/web-0"], { type: "pod", name: "web-0" }],
    [["po/web-0"], { type: "pod", name: "web-0" }],
    [["Pods", "shop/web-0"], { type: "pod", name: "shop/web-0" }],
    [["pod/shop/web-0"], { type: "pod", name: "shop/web-0" }],
    [["no/worker-1"], { type: "node", name: "worker-1" }],
    [["svc/web"], { type: "service", name: "web" }],
    [["ippool/default"], { type: "pool", name: "default" }],
    [["block/10.0.0.0/26"], { type: "block", name: "10.0.0.0/26" }],
    [["ipamhandle/k8s-pod-network.1b9e"], { type: "handle", name: "k8s-pod-network.1b9e" }],
    [["10.0.0.5"], { type: "address", name: "10.0.0.5" }],
    [["fd00::5"], { type: "address", name: "fd00::5" }],
    [["10.0.0.0/26"], { type: "block", name: "10.0.0.0/26" }],
    [["web-0"], { type: undefined, name: "web-0" }],
    [["shop/web-0"], { type: undefined, name: "shop/web-0" }],
  ])("%j", (words, resource) => {
    expect(parseResource(words)).toEqual(resource);
  });
});

describe("no resource is", () => {
  it.each([
    [["nod", "a"], /'nod' is not a resource type \(did you mean node\?\)/],
    [["gadget", "a"], /one of pod, node, namespace, service, pool, block, handle, address$/],
    [["pod", "a", "b"], /name one resource, as TYPE\/NAME; got 3 words: pod a b/],
  ])("%j", (words, message) => {
    expect(() => parseResource(words)).toThrow(message);
  });
});
