import { describe, expect, it } from "vitest";
import { choosePlace, type PlaceOptions } from "./place.ts";

const TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";
const around = (env: NodeJS.ProcessEnv, ...files: string[]) => ({
  env,
  home: "/home/jane",
  exists: (path: string) => files.includes(path),
});
const USUAL = "/home/jane/.kube/config";

describe("where to look", () => {
  it.each<[string, PlaceOptions, ReturnType<typeof around>, object]>([
    ["the flag before KUBECONFIG", { kubeconfig: "/a" }, around({ KUBECONFIG: "/b" }), { kubeconfig: "/a" }],
    ["KUBECONFIG before the home folder", {}, around({ KUBECONFIG: "/b" }, USUAL), { kubeconfig: "/b" }],
    ["several files of KUBECONFIG", {}, around({ KUBECONFIG: "/b::/c" }, USUAL), { kubeconfig: ["/b", "/c"] }],
    ["the home folder", {}, around({}, USUAL), { kubeconfig: USUAL }],
    ["the pod", {}, around({ KUBERNETES_SERVICE_HOST: "10.0.0.1" }, TOKEN), { inCluster: true }],
    ["a context and a group", { context: "c", datastore: "v1" }, around({}, USUAL), { context: "c", apiGroup: "v1" }],
  ])("%s", (_what, options, surroundings, place) => {
    expect(choosePlace(options, surroundings)).toMatchObject({ kind: "cluster", ...place });
  });

  it("a store that is there, and a bundle", () => {
    const store = { datastore: "embedded:/data/ipam.db" };
    expect(choosePlace(store, around({}, "/data/ipam.db"))).toEqual({ kind: "embedded", path: "/data/ipam.db" });
    expect(choosePlace({ bundle: "/b" }, around({}))).toEqual({ kind: "bundle", path: "/b" });
  });

  it.each<[PlaceOptions, NodeJS.ProcessEnv, RegExp]>([
    [{}, {}, /no cluster is named/],
    [{ datastore: "v2" }, {}, /'v2' is none of auto, v1, v3/],
    [{ datastore: "embedded:" }, {}, /needs the store's file/],
    [{ datastore: "embedded:/none.db" }, {}, /there is no such file/],
    [{ datastore: "embedded:/a.db", kubeconfig: "/k" }, {}, /leave out the other flags/],
    [{ bundle: "/b", context: "c" }, {}, /leave out the other flags/],
    [{ bundle: "/b", datastore: "v3" }, {}, /leave out the other flags/],
  ])("%j is refused", (options, env, message) => {
    expect(() => choosePlace(options, around(env))).toThrow(message);
  });
});
