import { expect, test } from "vitest";
import { foreignIpam } from "./calico-installation.ts";

const installation = (spec?: object) => ({
  apiVersion: "operator.tigera.io/v1",
  kind: "Installation",
  metadata: { name: "default" },
  ...(spec && { spec }),
});

test.each([
  [[], undefined],
  [[installation({ cni: { ipam: { type: "Calico" } } })], undefined],
  [[installation()], undefined],
  [[installation({ cni: { ipam: { type: 7 } } })], undefined],
  [[installation(), installation({ cni: { ipam: { type: "HostLocal" } } })], "HostLocal"],
])("foreign IPAM of %j", (installations, type) => {
  expect(foreignIpam(installations)).toBe(type);
});
