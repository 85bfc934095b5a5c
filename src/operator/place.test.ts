import { describe, expect, test } from "vitest";
import { UsageError } from "./options.ts";
import { choosePlace, kubeconfigHint, newStoreHint } from "./place.ts";

const pod = { KUBERNETES_SERVICE_HOST: "10.96.0.1" };
const yes = () => true;
const no = () => false;

describe("the place to work on", () => {
  test("is the embedded store unless a cluster is named", () => {
    const place = choosePlace({ datastore: "auto" }, { KUBECONFIG: "/k" }, no);
    expect(place).toEqual({
      kind: "embedded",
      path: ".ipam/ipam.db",
      why: "no --kubeconfig was given and this is not a pod",
    });
    expect(kubeconfigHint(place, { KUBECONFIG: "/k" })).toContain("--kubeconfig /k");
    expect(kubeconfigHint(place, {})).toBeUndefined();
  });

  test("is the file that --datastore names, in a pod too", () => {
    const place = choosePlace({ datastore: { embedded: "x.db" } }, pod, yes);
    expect(place).toMatchObject({ kind: "embedded", path: "x.db" });
  });

  test("is no folder made for a path that may be misspelt", () => {
    const at = (embedded: string) => choosePlace({ datastore: { embedded } }, {}, (path) => path === ".");
    expect(() => at("/data/ipma/ipam.db")).toThrow(UsageError);
    expect(() => at("/data/ipma/ipam.db")).toThrow(/the folder \/data\/ipma does not exist.*mkdir -p \/data\/ipma/);
    expect([at("x.db").kind, at(":memory:").kind]).toEqual(["embedded", "embedded"]);
  });

  test("is said to be new where there is no store yet", () => {
    const place = { kind: "embedded", path: "x.db", why: "" } as const;
    expect(newStoreHint(place, no)).toBe("It is new and empty.");
    expect(newStoreHint(place, yes)).toBeUndefined();
    expect(newStoreHint({ ...place, path: ":memory:" }, no)).toMatch(/in memory/);
  });

  test("is the cluster that --kubeconfig names, before the pod's own", () => {
    const place = choosePlace({ datastore: "v3", kubeconfig: "/k" }, pod, yes);
    expect(place).toMatchObject({ kind: "cluster", inPod: false });
    expect(kubeconfigHint(place, { KUBECONFIG: "/other" })).toBeUndefined();
  });

  test("is the pod's cluster only with the pod's token", () => {
    expect(choosePlace({ datastore: "auto" }, pod, yes)).toMatchObject({ kind: "cluster", inPod: true });
    expect(choosePlace({ datastore: "auto" }, pod, no)).toMatchObject({ kind: "embedded" });
  });

  test("secured metrics need a cluster to ask", () => {
    const secure = { datastore: "auto", metricsSecure: true } as const;
    expect(choosePlace({ ...secure, kubeconfig: "/k" }, {}, no).kind).toBe("cluster");
    expect(() => choosePlace(secure, {}, no)).toThrow(UsageError);
    expect(() => choosePlace({ ...secure, datastore: { embedded: "x.db" } }, pod, yes)).toThrow("--metrics-secure");
  });

  test("an API group without a cluster is a mistake", () => {
    expect(() => choosePlace({ datastore: "v1" }, {}, no)).toThrow(UsageError);
  });
});
