/**
 * A release over time: from the previous version to this one, back and on again, while the user edits and the cluster's
 * IPAM kinds change; what the operator may then do (HLM-01); and how it goes, with and without Helm (HLM-03).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { permissions } from "../../rbac/permissions.ts";
import { expand, type Generation } from "../../rbac/rules.ts";
import { PREVIOUS, PREVIOUS_VERSION } from "../helm/previous.ts";
import { userOf } from "../installation/user.ts";
import { canI } from "./can-i.ts";
import { e2eCluster, e2eShell } from "./cluster.ts";
import { installPage } from "./page.ts";
import { onceARun, operatorPods, PRODUCT, removeReleases, upgraded } from "./product.ts";

const cluster = e2eCluster();
const shell = e2eShell();
const users = { v1: userOf(cluster, "v1"), v3: userOf(cluster, "v3") };
const release = (verb: string, name: string, chart: string, flags = "") =>
  shell(`helm ${verb} ${name} ${chart} --namespace ${PRODUCT} --wait --timeout 3m ${flags}`);

beforeAll(async () => {
  for (const command of installPage("The image")) await onceARun(command);
  await removeReleases(cluster, shell);
  const [, tag = ""] = /load docker-image \S+:(\S+)/.exec(installPage("The image").join("\n")) ?? [];
  await release("install", `${PRODUCT}-crds`, PREVIOUS.crds, "--create-namespace --set ipamCRDs=v1");
  await release("install", PRODUCT, PREVIOUS.operator, `--set image.tag=${tag}`);
  await createScraper();
}, 600_000);

let cooldown = 100;
/** Edits all the time until the work is done; the last edit must have been followed. */
async function whileEdited(generation: Generation, work: () => Promise<unknown>): Promise<void> {
  let done = false;
  const working = work().finally(() => {
    done = true;
  });
  const user = users[generation];
  while (!done) {
    await user.enforce({ strictAffinity: true, ipCooldownSeconds: ++cooldown });
    await sleep(1000); // kubectl after kubectl would leave the cluster no processor to work with
  }
  await working;
  await expect.poll(async () => (await user.spec())?.ipCooldownSeconds).toBe(cooldown);
  await expect.poll(user.reasons).toEqual(["Ready=True Succeeded"]);
}
const chartOf = async () =>
  (await shell(`helm list --namespace ${PRODUCT} --filter '^${PRODUCT}$' --output json`)).trim();

/** All that it may ask for, in the form of `canI`. */
const needed = (namespace: "own" | "default" | undefined, served: readonly Generation[]) =>
  permissions.operator
    .filter((grant) => grant.namespace === namespace)
    .flatMap((grant) => expand(grant, served))
    .flatMap(({ verb, resource, group, names }) => {
      const [kind, subresource] = resource.split("/");
      const on = `${verb} ${kind}${group && `.${group}`}${subresource ? `/${subresource}` : ""}`;
      return names?.map((name) => `${on}/${name}`) ?? [on];
    });

const SCRAPER = "scraper";
/** In the pod itself: the API server's proxy to pods passes no token on. */
const SCRAPE = `require("node:https").get({
  host: "127.0.0.1", port: 8080, path: "/metrics", rejectUnauthorized: false,
  headers: { authorization: "Bearer " + process.argv[1] },
}, (response) => response.pipe(process.stdout));`;

const reader = `clusterrolebinding/e2e-${SCRAPER}`;
/** As docs/operator.md says; a rollback to a version without the role leaves the binding. */
async function createScraper(): Promise<void> {
  await cluster.kubectl(["delete", reader, "--ignore-not-found"]); // of a run that was cut off
  await cluster.kubectl(["create", "serviceaccount", SCRAPER, "--namespace", PRODUCT]);
  const of = ["--clusterrole=ipam-operator:metrics-reader", `--serviceaccount=${PRODUCT}:${SCRAPER}`];
  await cluster.kubectlOk(["create", "clusterrolebinding", `e2e-${SCRAPER}`, ...of]);
}
afterAll(async () => {
  await cluster.kubectl(["delete", reader, "--ignore-not-found"]);
  await cluster.kubectl(["delete", "serviceaccount", SCRAPER, "--namespace", PRODUCT, "--ignore-not-found"]);
});

/** The ServiceAccount may make every call that the code can make, and no call of the running pods was refused. */
async function nothingIsDenied(served: readonly Generation[]): Promise<void> {
  const as = `--as=system:serviceaccount:${PRODUCT}:${PRODUCT}`;
  const may = await canI(cluster, [as, "--namespace", PRODUCT]);
  const events = await canI(cluster, [as, "--namespace", "default"]);
  expect([...needed(undefined, served), ...needed("own", served)].filter((one) => !may.has(one))).toEqual([]);
  expect(needed("default", served).filter((one) => !events.has(one))).toEqual([]);
  const token = (await cluster.kubectlOk(["create", "token", SCRAPER, "--namespace", PRODUCT])).trim();
  for (const pod of await operatorPods()) {
    const script = ["/nodejs/bin/node", "--eval", SCRAPE, token];
    const metrics = await cluster.kubectlOk(["exec", pod, "--namespace", PRODUCT, "--", ...script]);
    expect(metrics).toMatch(/^rest_client_requests_total\{.*code="200"/m);
    expect(metrics).not.toMatch(/^rest_client_requests_total\{.*code="403"/m);
  }
}

describe("HLM-01, over upgrades", () => {
  it("from the previous version to this one, where v1 is served", async () => {
    expect(await chartOf()).toContain(`"${PRODUCT}-${PREVIOUS_VERSION}"`);
    const kept = "--reset-then-reuse-values";
    await release("upgrade", `${PRODUCT}-crds`, `helm/${PRODUCT}-crds`, kept);
    await whileEdited("v1", () => release("upgrade", PRODUCT, `helm/${PRODUCT}`, kept));
    expect(await chartOf()).not.toContain(PREVIOUS_VERSION);
    await nothingIsDenied(["v1"]);
  });

  it("back to the previous version", async () => {
    await whileEdited("v1", () => shell(`helm rollback ${PRODUCT} --namespace ${PRODUCT} --wait --timeout 3m`));
    expect(await chartOf()).toContain(`"${PRODUCT}-${PREVIOUS_VERSION}"`);
  });

  it("on again, where v3 is served beside v1: it stays where the data is", async () => {
    await cluster.kubectlOk(["apply", "--server-side", "--filename", "crds/v3"]);
    await whileEdited("v1", () => upgraded(""));
    await nothingIsDenied(["v1", "v3"]);
    expect(await users.v3.configuration()).toBeUndefined();
  });

  it("started again where v3 is all there is", async () => {
    await cluster.kubectlOk(["delete", "--filename", "crds/v1"]);
    await whileEdited("v3", () => upgraded("--set podAnnotations.restarted=once"));
    await nothingIsDenied(["v3"]);
  });

  it("where a permission is missing it says which, goes on with the rest, and does all once it is granted", async () => {
    const role = ["clusterrole", "ipam-operator:operator"];
    const before = JSON.parse(await cluster.kubectlOk(["get", ...role, "--output", "json"]));
    delete before.metadata.resourceVersion;
    const replace = (object: object) =>
      cluster.kubectlOk(["replace", "--filename", "-"], { input: JSON.stringify(object) });
    const readOnly = { verbs: ["get", "list", "watch"] };
    const rules = (before.rules as { resources: string[] }[]).map((rule) =>
      rule.resources.includes("ipamconfigurations") ? { ...rule, ...readOnly } : rule,
    );
    await replace({ ...before, rules });
    try {
      await users.v3.enforce({ strictAffinity: true, ipCooldownSeconds: ++cooldown });
      await expect.poll(users.v3.reasons).toEqual(["Ready=False Forbidden", "Stalled=True Forbidden"]);
      expect(await users.v3.message()).toMatch(/(create|update).*ipamconfigurations.*projectcalico\.org/);
      await cluster.kubectlOk(["delete", "clusterrole", "ipam-operator:cni-plugin"]);
      await cluster.kubectlOk(["wait", "--for=create", "clusterrole/ipam-operator:cni-plugin", "--timeout=60s"]);
    } finally {
      await replace({ ...before, rules: before.rules });
    }
    await users.v3.enforce({ strictAffinity: true, ipCooldownSeconds: ++cooldown });
    await expect.poll(async () => (await users.v3.spec())?.ipCooldownSeconds).toBe(cooldown);
  });
});

describe("HLM-03: nothing waits for an operator that is gone, and no address is forgotten", () => {
  // In full: kubectl remembers for a while that there was an `ippools` of v1.
  const ofCalico = ["ipamconfigurations", "ippools", "ipamblocks"].map((kind) => `${kind}.v3.projectcalico.org`);
  const kinds = ["ipaminst", ...ofCalico];
  const found = () => cluster.kubectlOk(["get", kinds.join(","), "--output", "json"]);
  const names = async () =>
    (JSON.parse(await found()).items as { kind: string; metadata: { name: string } }[])
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
      .sort();
  const data = ["IPAMBlock 10-78-0-0-30", "IPAMConfiguration default", "IPPool e2e"];

  beforeAll(async () => {
    await cluster.kubectlOk(["apply", "--filename", "-"], { input: JSON.stringify(allocations) });
  });

  it("puts no finalizer on anything", async () => {
    expect(await names()).toEqual([...data, "Installation default"].sort());
    expect(await found()).not.toContain("finalizers");
  });

  it("its Deployment is deleted first: uninstall ends all the same", async () => {
    await cluster.kubectlOk(["delete", "deployment", PRODUCT, "--namespace", PRODUCT, "--timeout=60s"]);
    await shell(`helm uninstall ${PRODUCT} --namespace ${PRODUCT} --wait --timeout 1m`);
    expect(await names()).toEqual([...data, "Installation default"].sort());
  });

  it("its namespace goes, and its Installation; the data stays", async () => {
    await cluster.kubectlOk(["delete", "namespace", PRODUCT, "--timeout=60s"]);
    await cluster.kubectlOk(["delete", "ipaminst", "default", "--timeout=20s"]);
    expect(await names()).toEqual(data);
  });
});

/** A pool, and a block of it whose addresses are in use. */
const allocations = {
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "projectcalico.org/v3",
      kind: "IPPool",
      metadata: { name: "e2e" },
      spec: { cidr: "10.78.0.0/24", blockSize: 30, ipipMode: "Never", vxlanMode: "Never" },
    },
    {
      apiVersion: "projectcalico.org/v3",
      kind: "IPAMBlock",
      metadata: { name: "10-78-0-0-30" },
      spec: {
        cidr: "10.78.0.0/30",
        affinity: "host:somewhere",
        allocations: [0, 0, 0, 0],
        unallocated: [],
        attributes: [{ handle_id: "e2e.held" }],
        strictAffinity: false,
        deleted: false,
      },
    },
  ],
};
