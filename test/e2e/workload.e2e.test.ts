/**
 * Pods that allocate and release addresses through the library, with the CNI role only, on two nodes, while the operator
 * changes the configuration: what is stored in the end is sound, and is what the pods hold.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { connectKubernetes } from "../../src/datastore/connect.ts";
import { userOf } from "../installation/user.ts";
import { check, type ListedObjects } from "../invariants/check.ts";
import { allocationsIn, storedObjects } from "../races/stored.ts";
import { canI } from "./can-i.ts";
import { e2eCluster } from "./cluster.ts";
import { installPage } from "./page.ts";
import { installedWithSubjects } from "./subjects.ts";
import { bundledWorker } from "./workload/bundle.ts";
import { ACCOUNT, NAMESPACE, WORKERS, workload } from "./workload/manifests.ts";
import type { Line } from "./workload/worker.ts";

const cluster = e2eCluster();
const user = userOf(cluster, "v3");

beforeAll(() => installedWithSubjects(user), 600_000);
afterAll(async () => {
  await cluster.kubectl(["delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false"]);
  // One request for a kind: kubectl's own `delete --all` asks for each object twice.
  for (const kind of ["ipamblocks", "blockaffinities", "ipamhandles", "ippools"])
    await cluster.kubectl(["delete", "--raw", `/apis/projectcalico.org/v3/${kind}`]);
}, 300_000);

const inNamespace = (...args: string[]) => cluster.kubectlOk(["--namespace", NAMESPACE, ...args]);
/** Names of the pods, once all of them run. */
let pods: readonly string[] = [];

/** What every process has said so far: in one look, since a look at each would take longer than they take to say more. */
async function saidByAll(): Promise<Line[][]> {
  const all = ["--selector", "app=allocator", "--all-containers", "--prefix", "--tail=-1", "--max-log-requests=20"];
  const lines = (await inNamespace("logs", ...all)).split("\n").filter(Boolean);
  const said = new Map(processes().map((process): [string, Line[]] => [process, []]));
  for (const line of lines) {
    const [, process = "", text = ""] = /^\[pod\/(\S+)\] (.*)$/.exec(line) ?? [];
    said.get(process)?.push(JSON.parse(text));
  }
  return [...said.values()];
}
/** `pod/container` of each. */
const processes = () => pods.flatMap((pod) => WORKERS.map((worker) => `${pod}/${worker}`));
const count = (lines: readonly Line[], key: string) => lines.filter((line) => key in line).length;
/** Everything that is stored, as the library reads it. */
async function stored(): Promise<ListedObjects> {
  const datastore = await connectKubernetes({ kubeconfig: cluster.access.kubeconfig });
  try {
    const nodes = (await cluster.nodes()).map((name) => ({ name }));
    return { ...(await storedObjects(datastore)), nodes };
  } finally {
    await datastore.close();
  }
}

/** `address handle` of each address in use, sorted. */
const inUse = (objects: ListedObjects) =>
  Array.from(allocationsIn(objects), ([address, { handle }]) => `${address} ${handle}`).sort();

/** The least that any process has done. */
const least = async (key: string) => Math.min(...(await saidByAll()).map((lines) => count(lines, key)));

it("allocates and releases on each worker, with the rights of a CNI plugin and no others", async () => {
  const [, image = ""] = /load docker-image (\S+)/.exec(installPage("The image").join("\n")) ?? [];
  const input = JSON.stringify(workload(await bundledWorker(), image));
  await cluster.kubectlOk(["apply", "--server-side", "--filename", "-"], { input });
  await inNamespace("rollout", "status", "daemonset/allocator", "--timeout=120s");
  pods = (await inNamespace("get", "pods", "--output", "jsonpath={.items[*].metadata.name}")).split(" ");
  expect(pods.length).toBeGreaterThanOrEqual(2);
  await expect.poll(() => least("released")).toBeGreaterThan(0);
  const may = await canI(cluster, [`--as=system:serviceaccount:${NAMESPACE}:${ACCOUNT}`, "--namespace", NAMESPACE]);
  expect(may).toContain("update ipamblocks.projectcalico.org");
  expect(may).not.toContain("update ipamconfigurations.projectcalico.org");
});

it("goes on while the configuration changes, and follows it", async () => {
  const edits = [
    { strictAffinity: true, maxBlocksPerHost: 1 },
    { strictAffinity: false, maxBlocksPerHost: 0, ipCooldownSeconds: 1 },
    { strictAffinity: true, maxBlocksPerHost: 2, ipCooldownSeconds: 2 },
    { strictAffinity: false, maxBlocksPerHost: 0 },
    { strictAffinity: true, maxBlocksPerHost: 16, ipCooldownSeconds: 1 },
  ];
  for (const edit of edits) {
    const before = await least("assigned");
    await user.enforce(edit);
    await expect.poll(user.spec).toMatchObject(edit);
    await expect.poll(() => least("assigned")).toBeGreaterThan(before);
  }
  expect(await user.reasons()).toEqual(["Ready=True Succeeded"]);
});

it("leaves data that satisfies the invariants, and in which each process has exactly what it holds", async () => {
  const finish = ["/nodejs/bin/node", "--eval", "process.kill(1, 'SIGUSR2')"];
  const finished = pods.flatMap((pod) =>
    WORKERS.map((worker) => inNamespace("exec", pod, "--container", worker, "--", ...finish)),
  );
  await Promise.all(finished);
  await expect.poll(() => least("held")).toBe(1);
  const said = (await saidByAll()).flat();
  const held = Object.assign({}, ...said.map((line) => ("held" in line ? line.held : {}))) as Record<string, string[]>;
  const objects = await stored();
  expect(check(objects, { mode: "atRest", now: new Date(), clockSkewSeconds: 5 })).toEqual([]);
  expect(new Set(objects.handles.map(({ spec }) => spec.handleID))).toEqual(new Set(Object.keys(held)));
  const given = Object.entries(held).flatMap(([handle, ips]) => ips.map((ip) => `${ip} ${handle}`));
  expect(inUse(objects)).toEqual(given.sort());
  expect(new Set(objects.blocks.map(({ spec }) => spec.affinity)).size).toBeGreaterThanOrEqual(2);
});
