/** What goes wrong around the operator's pods: the leader crashes, the API server does, and no edit is missed. */
import { beforeAll, beforeEach, expect, it } from "vitest";
import { userOf } from "../installation/user.ts";
import { e2eCluster } from "./cluster.ts";
import { installed, leader, operatorPods, PRODUCT } from "./product.ts";

const cluster = e2eCluster();
const user = userOf(cluster, "v3");
beforeAll(installed, 600_000);
beforeEach(async () => {
  await user.reset();
  await user.enforce({ strictAffinity: true, ipCooldownSeconds: 10 });
  await expect.poll(cooldown).toBe(10);
});

const cooldown = async () => (await user.spec())?.ipCooldownSeconds;
const succeeded = () => expect.poll(user.reasons).toEqual(["Ready=True Succeeded"]);

it("the leader is killed: the other works within 20 seconds, and has missed neither edits nor drift", async () => {
  const before = (await leader())!;
  const edit = { strictAffinity: true, ipCooldownSeconds: 11 };
  await Promise.all([cluster.crashPod(PRODUCT, before), user.enforce(edit)]);
  await user.patch({ strictAffinity: false });
  await user.enforce({ ...edit, ipCooldownSeconds: 12 });
  const stored = async () => [await cooldown(), (await user.spec())?.strictAffinity];
  await expect.poll(stored, { timeout: 20_000 }).toEqual([12, true]);
  const after = (await leader())!;
  expect(after).not.toBe(before);
  expect(await operatorPods()).toContain(after);
  await succeeded();
});

it("a leader that is evicted hands over at once, and another pod takes its place", async () => {
  const before = (await leader())!;
  await cluster.kubectlOk(["delete", "pod", before, "--namespace", PRODUCT, "--wait=false"]);
  await user.enforce({ ipCooldownSeconds: 21 });
  await expect.poll(cooldown).toBe(21);
  expect(await leader()).not.toBe(before);
  const rollout = ["rollout", "status", `deployment/${PRODUCT}`, "--namespace", PRODUCT, "--timeout=120s"];
  await cluster.kubectlOk(rollout);
});

it("the API server is restarted: the pods go on as they are, and follow what is edited and changed", async () => {
  const restarts = () =>
    cluster.kubectlOk([
      ...["get", "pods", "--namespace", PRODUCT, "--selector", "app.kubernetes.io/component=operator"],
      ...["--output", "jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[0].restartCount};{end}"],
    ]);
  const before = await restarts();
  // Once a run: a second one would wait for the kubelet, which lets ever more time pass between restarts.
  await cluster.restartApiServer();
  await user.enforce({ strictAffinity: true, ipCooldownSeconds: 31 });
  await expect.poll(cooldown).toBe(31);
  await user.patch({ strictAffinity: false });
  await expect.poll(async () => (await user.spec())?.strictAffinity).toBe(true);
  await succeeded();
  expect(await restarts()).toBe(before);
  await cluster.kubectlOk(["wait", "nodes", "--all", "--for=condition=Ready", "--timeout=60s"]);
});
