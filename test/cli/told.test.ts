/** What a person is told to run can be copied: it goes to where was looked, by the name this program was called by. */
import { delimiter } from "node:path";
import { describe, expect, it } from "vitest";
import { toldText } from "../../src/cli/told.ts";
import { handle } from "../support/ipam-data.ts";
import { bundleOf, ipamctl, storeOf } from "./ipamctl.ts";
import { sound } from "./sound.ts";

const damaged = { ...sound, handles: [...sound.handles, handle("ghost", { "10.0.0.0/30": 1 })] };
const full = { ...sound, pools: [] };

describe("a command that is told", () => {
  const cluster = { kubeconfig: "/home/jane's/config", context: "prod", datastore: "auto" };

  it.each([
    ["ipamctl gc", `kubectl ipam gc --kubeconfig '/home/jane'\\''s/config' --context prod`],
    ["kubectl edit ippools p4", `kubectl edit ippools p4 --kubeconfig '/home/jane'\\''s/config' --context prod`],
    [
      "may be unlocked: calicoctl datastore migrate unlock",
      `may be unlocked: KUBECONFIG='/home/jane'\\''s/config' calicoctl datastore migrate unlock --context prod`,
    ],
    ["ipamctl explain Reserved", "kubectl ipam explain Reserved"],
    [`correct IPPool "p4" in its manifest`, `correct IPPool "p4" in its manifest`],
  ])("%s", (command, told) => {
    expect(toldText(command, "kubectl ipam", cluster)).toBe(told);
  });

  it("has a list of kubeconfig files as kubectl takes it: in the variable", () => {
    const list = { kubeconfig: ["/a", "/b"].join(delimiter), datastore: "auto" };
    expect(toldText("kubectl get pods", "ipamctl", list)).toBe("KUBECONFIG=/a:/b kubectl get pods");
    expect(toldText("ipamctl gc", "ipamctl", list)).toBe("ipamctl gc --kubeconfig /a:/b");
  });

  it("says nothing of a place that was not named", () => {
    expect(toldText("ipamctl gc", "ipamctl", { datastore: "auto" })).toBe("ipamctl gc");
    expect(toldText("ipamctl gc", "ipamctl", { datastore: "v1" })).toBe("ipamctl gc --datastore v1");
  });
});

describe("where the data is, is told too", () => {
  it("by check and why, of a store", async () => {
    const place = ["--datastore", `embedded:${await storeOf(damaged)}`];
    const checked = await ipamctl(["check", "--second-look", "0", ...place], { program: "kubectl ipam" });
    expect(checked.stdout).toContain(`fix: kubectl ipam repair OrphanHandle ${place.join(" ")}\n`);
    const empty = ["--datastore", `embedded:${await storeOf(full)}`];
    const why = await ipamctl(["why", "--node", "node-a", ...empty]);
    expect(why.stdout).toContain(`next: ipamctl show -o wide ${empty.join(" ")}\n`);
  });

  it("of a bundle: what reads it reads it again, what changes something is for the cluster", async () => {
    const bundle = ["--bundle", await bundleOf(damaged)];
    expect((await ipamctl(["check", ...bundle])).stdout).toContain("fix: ipamctl repair OrphanHandle\n");
    const noPools = ["--bundle", await bundleOf(full)];
    const { stdout } = await ipamctl(["why", "--node", "node-a", ...noPools, "-o", "json"]);
    expect(JSON.parse(stdout).causes[0].command).toBe(`ipamctl show -o wide ${noPools.join(" ")}`);
  });

  it("by repair, for its undoing", async () => {
    const place = ["--datastore", `embedded:${await storeOf(damaged)}`];
    const copy = `${await bundleOf(damaged)} copy`;
    const ran = await ipamctl(["repair", "OrphanHandle", "--grace", "0", "--yes", "--copy", copy, ...place]);
    expect(ran.stderr).toContain(`to undo: ipamctl repair --restore '${copy}' ${place.join(" ")}\n`);
  });
});
