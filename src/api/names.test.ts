import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  affinityLabels,
  affinityName,
  blockName,
  cidrName,
  cutHandle,
  handleName,
  hostnameHash,
  loadBalancerHandle,
  tunnelHandle,
  vmDesignHandle,
  vmHandle,
  WINDOWS_RESERVED_HANDLE,
  workloadHandle,
  workloadIdHandle,
} from "./names.ts";

interface Golden {
  affinities: { host: string; input: string; name: string; specCIDR: string }[];
  blocks: { input: string; name: string; specCIDR: string }[];
  handles: { handle: string; name: string }[];
  hostLabels: { host: string; label: string }[];
}
const golden: Golden = JSON.parse(readFileSync(new URL("../../test/golden/names.json", import.meta.url), "utf8"));
const valid = ({ specCIDR }: { specCIDR: string }) => specCIDR !== "invalid Prefix";

describe("T71: recorded names of the reference", () => {
  test.each(golden.blocks.filter(valid))("block $input", ({ input, name }) => expect(blockName(input)).toBe(name));

  test("every affinity", () => {
    const rows = golden.affinities.filter(valid);
    expect(rows.length).toBeGreaterThan(150);
    for (const { host, input, name } of rows) expect(affinityName(host, input)).toBe(name);
  });

  test.each(golden.handles)("handle $handle", ({ handle, name }) => expect(handleName(handle)).toBe(name));

  test.each(golden.hostLabels)("label of host $host", ({ host, label }) => expect(hostnameHash(host)).toBe(label));

  test("a range that the reference calls invalid has no name", () => {
    const rows = golden.blocks.filter((row) => !valid(row));
    expect(rows.map(({ input }) => input)).toEqual(["::ffff:10.0.0.0/122"]);
    expect(() => blockName("::ffff:10.0.0.0/122")).toThrow('"::ffff:10.0.0.0/122" is not a CIDR');
  });
});

describe("T71: tables of the format description", () => {
  test.each([
    ["10.0.0.0/26", "10-0-0-0-26"],
    ["192.168.1.64/32", "192-168-1-64-32"],
    ["fd80:24e2:f998:72d6::/122", "fd80-24e2-f998-72d6---122"],
    ["fd00::/122", "fd00---122"],
    ["fd00:0:0:1::40/122", "fd00-0-0-1--40-122"],
    ["2001:db8:1:2:3:4:5:6/128", "2001-db8-1-2-3-4-5-6-128"],
    ["2001:db8:0:0:1::/122", "2001-db8-0-0-1---122"],
  ])("range %s is named %s", (cidr, name) => expect(cidrName(cidr)).toBe(name));

  const v4 = "10.0.0.0/26";
  const long = "long--hostna".repeat(21);
  test.each([
    ["node-a", v4, "node-a-10-0-0-0-26"],
    [
      "ip-10-1-2-3.eu-west-1.compute.internal",
      "192.168.133.64/26",
      "ip-10-1-2-3.eu-west-1.compute.internal-192-168-133-64-26",
    ],
    ["node-a", "fd80:24e2:f998:72d6::/122", "node-a-fd80-24e2-f998-72d6---122"],
    ["load-balancer", "10.0.0.8/30", "load-balancer-10-0-0-8-30"],
    ["a".repeat(236), v4, `${"a".repeat(236)}-10-0-0-0-26`],
    ["b".repeat(241), v4, `${"b".repeat(228)}-10-0-0-0-26-1cf9765d5bd`],
    ["b".repeat(242), v4, `${"b".repeat(228)}-10-0-0-0-26-b262216eff7`],
    [long, v4, `${long.slice(0, 228)}-10-0-0-0-26-fb0ffb1c45a`],
    [long, "fe80:ba:ad:beef::/122", `${long.slice(0, 218)}-fe80-ba-ad-beef---122-b67be52a546`],
  ])("affinity of %s to %s", (host, cidr, name) => expect(affinityName(host, cidr)).toBe(name));

  test.each([
    ["k8s-pod-network.ABC", "k8s-pod-network.abc"],
    ["lb-BH8pMvaeexy6gVF6akKTM2jJ4Zto0OWMFOh344lZM", "lb-bh8pmvaeexy6gvf6akktm2jj4zto0owmfoh344lzm"],
    ["vxlan-v6-tunnel-addr-node-a", "vxlan-v6-tunnel-addr-node-a"],
    ["ΣΑΣ", "σασ"],
  ])("handle %s is named %s", (handle, name) => expect(handleName(handle)).toBe(name));

  test.each([
    ["node-a", "PY3TQE2E3XMTETLM2MJO3UITKPFB27YUJ4T4E5XGPEJON3SM4QAA"],
    ["node-b", "CMAXSCEQN2FQX6QTO46RNUSW2SYX5B4KAJRNYFFLLCEBP5WWXSDA"],
    ["load-balancer", "TAU2RK2F2FG7MIS72DPZYC6FJ3U3BIWIDZAMUTQY7ZXMSKQZ5GSQ"],
    ["ip-10-1-2-3.eu-west-1.compute.internal", "5LFWRYPCNGTTLVKR4IKSPTFIQMMSS5QZ6D6A3KSNZFPID7YYH4VQ"],
    [long, "7CLXRR2ALBAG563GAOLJI3NWCT5K6EPSMMXSFUGZYEK5RCG2QYYA"],
  ])("label of host %s", (host, hash) => expect(hostnameHash(host)).toBe(hash));

  test("labels of an affinity; a missing or empty type means host", () => {
    const labels = {
      "projectcalico.org/affinity-type": "host",
      "projectcalico.org/hostname-hash": hostnameHash("node-a"),
      "projectcalico.org/ip-version": "6",
    };
    expect(affinityLabels({ node: "node-a", type: "host", cidr: "fd00::/122" })).toEqual(labels);
    expect(affinityLabels({ node: "node-a", cidr: "fd00::/122" })).toEqual(labels);
    expect(affinityLabels({ node: "node-a", type: "", cidr: "fd00::/122" })).toEqual(labels);
    expect(affinityLabels({ node: "load-balancer", type: "virtual", cidr: v4 })).toEqual({
      "projectcalico.org/affinity-type": "virtual",
      "projectcalico.org/hostname-hash": hostnameHash("load-balancer"),
      "projectcalico.org/ip-version": "4",
    });
  });
});

describe("handles of every caller", () => {
  test("CNI workload, in both forms", () => {
    expect(workloadHandle("3f0c1b")).toBe("k8s-pod-network.3f0c1b");
    expect(workloadHandle("3f0c1b", "multus")).toBe("multus.3f0c1b");
    expect(workloadIdHandle("ns1", "web-0")).toBe("ns1.web-0");
  });

  test.each([
    ["ipip", "ipip-tunnel-addr-node-a"],
    ["vxlan", "vxlan-tunnel-addr-node-a"],
    ["vxlan-v6", "vxlan-v6-tunnel-addr-node-a"],
    ["wireguard", "wireguard-tunnel-addr-node-a"],
    ["wireguard-v6", "wireguard-v6-tunnel-addr-node-a"],
  ] as const)("tunnel %s", (tunnel, handle) => expect(tunnelHandle(tunnel, "node-a")).toBe(handle));

  test("Windows host", () => expect(WINDOWS_RESERVED_HANDLE).toBe("windows-reserved-ipam-handle"));

  test.each([
    ["svc", "default", "41cb1fde-57e7-42c0-a73b-0acaf38c7737", "lb-BH8pMvaeexy6gVF6akKTM2jJ4Zto0OWMFOh344lZM"],
    ["My-Svc", "kube-system", "11111111-2222-3333-4444-555555555555", "lb-RB1ekuOFrQHueeBKhCaFDN8Yk3X7mtO1WUFeTliNZho"],
  ])("load balancer %s", (service, namespace, uid, handle) => {
    expect(loadBalancerHandle(service, namespace, uid)).toBe(handle);
  });

  test("KubeVirt VM, in both forms", () => {
    expect(vmHandle("default", "vm1")).toBe("k8s-pod-network.vmi.default.vm1");
    expect(vmHandle("default", "vm1", "")).toBe("k8s-pod-network.vmi.default.vm1");
    expect(vmHandle("default", "vm1", "multus-net1")).toBe("multus-net1.vmi.default.vm1");
    expect(vmDesignHandle("default", "vm1")).toBe("k8s-pod-network.default-vm1");
    expect(vmDesignHandle("default", "vm1", "multus-net1")).toBe("multus-net1.default-vm1");
  });

  test("a VM handle of up to 128 characters stands as it is", () => {
    const handle = vmHandle("default", "v".repeat(128 - "k8s-pod-network.vmi.default.".length));
    expect(handle).toMatch(/^k8s-pod-network\.vmi\.default\.v+$/);
    expect(handle).toHaveLength(128);
  });

  test.each(["v".repeat(200), `${"v".repeat(34)}${".".repeat(3)}${"w".repeat(200)}`])(
    "a longer one is short, legal and its own: %s",
    (vm) => {
      const handle = vmHandle("default", vm);
      expect(handle.length).toBeLessThanOrEqual(128);
      expect(handle).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
      expect(handle).not.toBe(vmHandle("default", `${vm}x`));
      expect(handle).not.toBe(vmHandle("default", vm, "other-network"));
    },
  );

  test("stray text after the handle is cut", () => {
    expect(cutHandle("k8s-pod-network.bbbb\r\neth0")).toBe("k8s-pod-network.bbbb");
    expect(cutHandle("k8s-pod-network.bbbb")).toBe("k8s-pod-network.bbbb");
    expect(cutHandle("")).toBe("");
  });
});
