/** What the cluster around the configuration changes in the answer: older CRDs, the datastore lock, Calico's operator. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { denied, OPERATOR_USER } from "../support/audit.ts";
import { recordUsage } from "../support/audit-usage.ts";
import { type RunningOperator, startOperator, untilReady } from "../support/operator-process.ts";
import {
  apiOf,
  blockCrd,
  calicoInstallationCrd,
  clusterInformationCrd,
  configurationCrd,
  newerConfigurationCrd,
  olderConfigurationCrd,
  refusingPolicy,
} from "./fixtures.ts";
import { type User, userOf } from "./user.ts";

describe.each(["v1", "v3"] as const)("a cluster with more on it, %s", (generation) => {
  let cluster: ControlPlane;
  let operator: RunningOperator;
  let user: User;

  beforeAll(async () => {
    cluster = await startControlPlane();
    operator = await startOperator(cluster, { args: ["--discovery-period=1s"], waitUntilReady: false });
    user = userOf(cluster, generation);
  });
  afterAll(async () => {
    await operator?.stop();
    if (cluster) {
      expect(denied(await cluster.auditLog(), OPERATOR_USER)).toEqual([]);
      await recordUsage(cluster);
    }
    await cluster?.stop();
  });

  const succeeded = () => expect.poll(user.reasons).toEqual(["Ready=True Succeeded"]);
  const stalled = (reason: string) =>
    expect.poll(user.reasons).toEqual([`Ready=False ${reason}`, `Stalled=True ${reason}`]);
  const crdPath = (name: string) => ["apply", "--server-side", "--filename", `crds/${name}`];

  it("without any CRD: runs on, says on readyz what to install, and goes on by itself", async () => {
    await expect
      .poll(async () => (await operator.probe("/readyz")).body)
      .toMatch(/ipaminstallations\.ipam-operator\.io/);
    await cluster.kubectlOk(crdPath("ipam-operator.io_ipaminstallations.yaml"));
    await cluster.kubectlOk(["wait", "--for=condition=Established", "crd/ipaminstallations.ipam-operator.io"]);
    await user.enforce({ strictAffinity: true, ipCooldownSeconds: 60 });
    await untilReady(operator);
  });

  it("APINotInstalled: says which CRDs to install, and goes on by itself once they are there", async () => {
    await stalled("APINotInstalled");
    expect(await user.message()).toMatch(/crds\/|CRD/);
    await cluster.kubectlOk(crdPath(generation));
    await succeeded();
    expect(await user.spec()).toMatchObject({ strictAffinity: true, ipCooldownSeconds: 60 });
    expect((await user.installation())?.status?.datastore).toMatchObject({
      apiGroup: `${apiOf(generation).group}/${apiOf(generation).version}`,
      chosenBy: expect.stringMatching(/iscovery/),
    });
  });

  it("FieldNotServed, CRD-05: an older CRD would drop the field in silence; the others are written", async () => {
    await user.apply(olderConfigurationCrd(generation, "ipCooldownSeconds"), ["--server-side", "--force-conflicts"]);
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 7, ipCooldownSeconds: 90 });
    await stalled("FieldNotServed");
    expect(await user.message()).toMatch(/does not know ipCooldownSeconds/);
    expect((await user.spec())?.maxBlocksPerHost).toBe(7);
    await user.apply(configurationCrd(generation), ["--server-side", "--force-conflicts"]);
    await succeeded();
    await expect.poll(async () => (await user.spec())?.ipCooldownSeconds).toBe(90);
  });

  it("FieldNotServed, TRY-08: blocks that cannot say when an address was released get no cooldown", async () => {
    await succeeded();
    // With a cooldown in force the operator reports the CRD as soon as it has noticed: from then on nothing is written.
    await user.apply(blockCrd(generation, "releasedAt"), ["--server-side", "--force-conflicts"]);
    await stalled("FieldNotServed");
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 8, ipCooldownSeconds: 91 });
    await expect.poll(async () => (await user.spec())?.maxBlocksPerHost).toBe(8);
    await stalled("FieldNotServed");
    expect(await user.message()).toMatch(
      /ipamblocks\.\S*projectcalico\.org does not know spec\.attributes\[\]\.releasedAt/,
    );
    expect((await user.spec())?.ipCooldownSeconds).toBe(90);
    await user.apply(blockCrd(generation), ["--server-side", "--force-conflicts"]);
    await succeeded();
    await expect.poll(async () => (await user.spec())?.ipCooldownSeconds).toBe(91);
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 7, ipCooldownSeconds: 90 });
    await succeeded();
  });

  it("CFG-10: a field of a newer CRD that this version does not know survives", async () => {
    await user.apply(newerConfigurationCrd(generation, "futureSetting"), ["--server-side", "--force-conflicts"]);
    await expect
      .poll(async () => {
        await user.patch({ futureSetting: 7 });
        return user.spec();
      })
      .toHaveProperty("futureSetting", 7);
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 6, ipCooldownSeconds: 90 });
    await expect.poll(async () => (await user.spec())?.maxBlocksPerHost).toBe(6);
    expect(await user.spec()).toHaveProperty("futureSetting", 7);
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 7, ipCooldownSeconds: 90 });
    await succeeded();
  });

  it("somebody else's admission policy refuses the write: says so in its words, not as a missing permission", async () => {
    await cluster.apply(refusingPolicy(generation));
    await expect
      .poll(async () => (await cluster.kubectl(["annotate", user.plural, "default", "try=1", "--overwrite"])).stderr)
      .toMatch(/not on Fridays/);
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 5, ipCooldownSeconds: 90 });
    await stalled("InvalidSpec");
    expect(await user.message()).toMatch(/admission on this cluster refuses the write: .*not on Fridays/);
    expect(await user.message()).not.toMatch(/Grant|role/);
    await cluster.kubectlOk(["delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "fridays"]);
    await expect
      .poll(async () => {
        await user.enforce({ strictAffinity: true, maxBlocksPerHost: 7, ipCooldownSeconds: 90 });
        return (await user.spec())?.maxBlocksPerHost;
      })
      .toBe(7);
    await succeeded();
  });

  it("DatastoreLocked: writes nothing while Calico's datastore is locked, and goes on once it is unlocked", async () => {
    const { group, version } = apiOf(generation);
    await cluster.apply(JSON.stringify(clusterInformationCrd(generation)));
    await cluster.kubectlOk(["wait", "--for=condition=Established", `crd/clusterinformations.${group}`]);
    const lock = (datastoreReady: boolean) =>
      user.apply({
        apiVersion: `${group}/${version}`,
        kind: "ClusterInformation",
        metadata: { name: "default" },
        spec: { datastoreReady },
      });
    await lock(false);
    // With Observe the operator says that it has seen the lock; without that a write could be faster.
    await user.install({ managementPolicy: "Observe", ipam: { strictAffinity: true, maxBlocksPerHost: 9 } });
    await expect.poll(user.message).toMatch(/DatastoreLocked/);
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 9, ipCooldownSeconds: 90 });
    await expect.poll(user.reasons).toEqual(["Ready=False DatastoreLocked", "Reconciling=True DatastoreLocked"]);
    expect((await user.spec())?.maxBlocksPerHost).toBe(7);
    await lock(true);
    await succeeded();
    expect((await user.spec())?.maxBlocksPerHost).toBe(9);
  });

  it("beside Calico's operator, `kubectl get installation` goes on meaning Calico's", async () => {
    await cluster.apply(JSON.stringify(calicoInstallationCrd));
    await cluster.kubectlOk(["wait", "--for=condition=Established", "crd/installations.operator.tigera.io"]);
    await user.apply({
      apiVersion: "operator.tigera.io/v1",
      kind: "Installation",
      metadata: { name: "default" },
      spec: {},
    });
    const found = JSON.parse(await cluster.kubectlOk(["get", "installation", "default", "--output=json"]));
    expect(found.apiVersion).toBe("operator.tigera.io/v1");
    expect(JSON.parse(await cluster.kubectlOk(["get", "ipaminst", "default", "--output=json"])).apiVersion).toMatch(
      /^ipam-operator\.io/,
    );
  });

  it("NotApplicable: leaves a cluster alone whose IPAM is not Calico's", async () => {
    const ipam = (type: string) =>
      cluster.kubectlOk([
        "patch",
        "installations.operator.tigera.io",
        "default",
        "--type=merge",
        "--patch",
        JSON.stringify({ spec: { cni: { ipam: { type } } } }),
      ]);
    await ipam("HostLocal");
    await expect.poll(user.reasons).toEqual(["Ready=True NotApplicable"]);
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 11 });
    await expect.poll(user.reasons).toEqual(["Ready=True NotApplicable"]);
    expect((await user.spec())?.maxBlocksPerHost).toBe(9);
    await ipam("Calico");
    await succeeded();
    expect((await user.spec())?.maxBlocksPerHost).toBe(11);
  });

  it("the choice of the API group does not change while running, even when the other is installed", async () => {
    const other = generation === "v1" ? "v3" : "v1";
    await cluster.kubectlOk(crdPath(other));
    // The roles cover the other group as soon as the operator has seen it.
    const granted = () => cluster.kubectlOk(["get", "clusterrole", "ipam-operator:cni-plugin", "--output=yaml"]);
    await expect.poll(granted).toMatch(new RegExp(`- ${apiOf(other).group}$`, "m"));
    await user.enforce({ strictAffinity: true, maxBlocksPerHost: 12 });
    await succeeded();
    expect((await user.spec())?.maxBlocksPerHost).toBe(12);
    expect(await userOf(cluster, other).configuration()).toBeUndefined();
  });
});
