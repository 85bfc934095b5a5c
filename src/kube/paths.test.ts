import { describe, expect, it } from "vitest";
import { actionText, collectionPath, objectPath, withQuery } from "./paths.ts";

const pools = { group: "projectcalico.org", version: "v3", plural: "ippools", kind: "IPPool" };
const leases = { group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease", namespaced: true };
const nodes = { group: "", version: "v1", plural: "nodes", kind: "Node" };

describe("paths", () => {
  it.each([
    [collectionPath(pools), "/apis/projectcalico.org/v3/ippools"],
    [collectionPath(nodes), "/api/v1/nodes"],
    [collectionPath(leases), "/apis/coordination.k8s.io/v1/leases"],
    [collectionPath(leases, "ns"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases"],
    [collectionPath(pools, "ns"), "/apis/projectcalico.org/v3/ippools"],
    [objectPath(leases, "a", "ns", "status"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a/status"],
    [objectPath(pools, "a/../b?c"), "/apis/projectcalico.org/v3/ippools/a%2F..%2Fb%3Fc"],
    [withQuery("/x", {}), "/x"],
    [withQuery("/x", { a: undefined, labelSelector: "k=v,w", limit: 5 }), "/x?labelSelector=k%3Dv%2Cw&limit=5"],
  ])("%s", (actual, expected) => {
    expect(actual).toBe(expected);
  });

  it("refuses an object of a namespaced type without a namespace", () => {
    expect(() => objectPath(leases, "a")).toThrow('Lease "a" needs a namespace');
  });

  it("names what is done", () => {
    expect(actionText("get", leases, "a", "ns")).toBe('get Lease "ns/a"');
    expect(actionText("update", pools, "a")).toBe('update IPPool "a"');
    expect(actionText("list", pools)).toBe("list ippools");
  });
});
