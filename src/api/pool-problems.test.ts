import { describe, expect, test } from "vitest";
import { ipPoolCidrRules, ipPoolRules } from "./ippool-rules.ts";
import { POOL_CHECKS, poolProblems } from "./pool-problems.ts";
import type { IPPoolSpec } from "./v3.ts";

const pool = (spec: Partial<IPPoolSpec>): IPPoolSpec => ({ cidr: "10.0.0.0/16", ...spec });
const loadBalancer = { allowedUses: ["LoadBalancer"] };

describe("poolProblems", () => {
  test("has one check for each rule of the CRD", () => {
    const words = [...ipPoolCidrRules, ...ipPoolRules].map(({ message }) => message);
    expect(POOL_CHECKS.map(({ message }) => message).sort()).toEqual(words.sort());
  });

  test.each<[string, Partial<IPPoolSpec>, string, string]>([
    ["no range", { cidr: "abc" }, "cidr", "cidr must be an IPv4 or IPv6 range"],
    ["a prefix too long", { cidr: "10.0.0.0/33" }, "cidr", "cidr must be an IPv4 or IPv6 range"],
    ["host bits", { cidr: "10.0.0.1/16" }, "cidr", "cidr must be strictly masked"],
    ["IPv6 host bits", { cidr: "fd00::1/48" }, "cidr", "cidr must be strictly masked"],
    ["IPv4 link-local", { cidr: "169.254.1.0/24" }, "cidr", "link-local range 169.254.0.0/16"],
    ["around IPv6 link-local", { cidr: "fe00::/8" }, "cidr", "link-local range fe80::/10"],
    ["both modes", { ipipMode: "Always", vxlanMode: "CrossSubnet" }, "ipipMode", "cannot both be on"],
    ["IPIP for IPv6", { cidr: "fd00::/48", ipipMode: "Always" }, "ipipMode", "must be Never for an IPv6 pool"],
    ["an encapsulated LoadBalancer", { ...loadBalancer, vxlanMode: "Always" }, "allowedUses", "must not use ipipMode"],
    ["a shared LoadBalancer", { allowedUses: ["LoadBalancer", "Workload"] }, "allowedUses", "cannot be combined"],
    ["an unexported LoadBalancer", { ...loadBalancer, disableBGPExport: true }, "disableBGPExport", "must not set"],
    [
      "a LoadBalancer for some",
      { ...loadBalancer, nodeSelector: "a == 'b'" },
      "nodeSelector",
      "must have nodeSelector",
    ],
    [
      "a tunnel for some namespaces",
      { allowedUses: ["Tunnel"], namespaceSelector: "all()" },
      "namespaceSelector",
      "Tunnel",
    ],
    ["a large IPv4 block", { blockSize: 19 }, "blockSize", "from 20 to 32"],
    ["a small IPv4 block", { blockSize: 40 }, "blockSize", "from 20 to 32"],
    ["an IPv6 block of IPv4's size", { cidr: "fd00::/16", blockSize: 26 }, "blockSize", "from 116 to 128"],
    ["smaller than its block", { cidr: "10.0.0.0/24", blockSize: 23 }, "cidr", "smaller than one block"],
    ["smaller than the default block", { cidr: "fd00::/124" }, "cidr", "smaller than one block"],
  ])("%s is refused with the words of the rule", (_, spec, field, words) => {
    const problems = poolProblems(pool(spec)).map((problem) => [problem.field, problem.message]);
    expect(problems).toEqual([[field, expect.stringContaining(words)]]);
  });

  test.each<[string, Partial<IPPoolSpec>]>([
    ["the least", {}],
    ["IPv6", { cidr: "fd00::/48", blockSize: 122, vxlanMode: "Always", ipipMode: "Never" }],
    ["block size 0, the default", { blockSize: 0 }],
    ["exactly one block", { cidr: "10.0.0.0/26" }],
    ["a disabled pool smaller than a block", { cidr: "10.0.0.0/30", disabled: true }],
    ["a LoadBalancer pool", { ...loadBalancer, nodeSelector: "all()", ipipMode: "Never" }],
  ])("%s is accepted", (_, spec) => {
    expect(poolProblems(pool(spec))).toEqual([]);
  });
});
