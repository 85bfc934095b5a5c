/** The rules of an IP pool without a CEL engine: what the API server judges by CEL. */

import { type IpVersion, parseAddress } from "../net/address.ts";
import { type Cidr, overlaps, parseCidr } from "../net/cidr.ts";
import { DEFAULT_BLOCK_SIZE, isBlockSize } from "./block-sizes.ts";
import { ipPoolCidrRules, ipPoolRules } from "./ippool-rules.ts";
import type { IPPoolSpec } from "./v3.ts";

/** A rule that a pool breaks, and the field that shows it. */
export interface PoolProblem {
  readonly field: keyof IPPoolSpec & string;
  readonly message: string;
}

export interface PoolCheck extends PoolProblem {
  readonly broken: (spec: IPPoolSpec, cidr: Cidr | undefined) => boolean;
}

const LINK_LOCAL = ["169.254.0.0/16", "fe80::/10"] as const;

const on = (mode: string | undefined) => mode !== undefined && mode !== "Never";
const allows = ({ allowedUses = [] }: IPPoolSpec, use: string) => allowedUses.includes(use);
const isLoadBalancer = (spec: IPPoolSpec) => allows(spec, "LoadBalancer");
const isNoBlockSize = ({ blockSize }: IPPoolSpec, version: IpVersion) =>
  !!blockSize && !isBlockSize(blockSize, version);

/** One check per CEL rule, with its words; a rule that is worded anew fails here when this file is loaded. */
export const POOL_CHECKS: readonly PoolCheck[] = [
  check("cidr must be an IPv4 or IPv6 range", "cidr", (_, cidr) => cidr === undefined),
  check("cidr must be strictly masked", "cidr", hasHostBits),
  ...LINK_LOCAL.map((range) =>
    check(`cidr must not overlap the link-local range ${range}`, "cidr", (_, cidr) => meets(cidr, range)),
  ),
  check("ipipMode and vxlanMode", "ipipMode", ({ ipipMode, vxlanMode }) => on(ipipMode) && on(vxlanMode)),
  check("ipipMode must be Never", "ipipMode", ({ ipipMode }, cidr) => on(ipipMode) && cidr?.version === 6),
  check("a LoadBalancer pool must not use", "allowedUses", (spec) => {
    return isLoadBalancer(spec) && (on(spec.ipipMode) || on(spec.vxlanMode));
  }),
  check("allowedUses LoadBalancer", "allowedUses", (spec) => {
    return isLoadBalancer(spec) && (spec.allowedUses ?? []).some((use) => use !== "LoadBalancer");
  }),
  check("a LoadBalancer pool must not set disableBGPExport", "disableBGPExport", (spec) => {
    return isLoadBalancer(spec) && spec.disableBGPExport === true;
  }),
  check("a LoadBalancer pool must have nodeSelector", "nodeSelector", (spec) => {
    return isLoadBalancer(spec) && (spec.nodeSelector ?? "all()") !== "all()";
  }),
  check("a pool that allows Tunnel", "namespaceSelector", (spec) => allows(spec, "Tunnel") && !!spec.namespaceSelector),
  check("blockSize of an IPv4 pool", "blockSize", (s, cidr) => cidr?.version === 4 && isNoBlockSize(s, 4)),
  check("blockSize of an IPv6 pool", "blockSize", (s, cidr) => cidr?.version === 6 && isNoBlockSize(s, 6)),
  check("the pool is smaller than one block", "cidr", isSmallerThanABlock),
];

/** Every rule that the pool breaks by itself; another pool's range is not looked at. */
export function poolProblems(spec: IPPoolSpec): PoolProblem[] {
  const cidr = parseCidr(spec.cidr);
  return POOL_CHECKS.filter(({ broken }) => broken(spec, cidr));
}

function check(words: string, field: PoolCheck["field"], broken: PoolCheck["broken"]): PoolCheck {
  const rule = [...ipPoolCidrRules, ...ipPoolRules].find(({ message }) => message.startsWith(words));
  if (rule === undefined) throw new Error(`no rule of an IP pool begins with: ${words}`);
  return { field, message: rule.message, broken };
}

function hasHostBits(spec: IPPoolSpec, cidr: Cidr | undefined): boolean {
  return cidr !== undefined && parseAddress(spec.cidr.split("/", 1)[0] ?? "")?.value !== cidr.base;
}

function meets(cidr: Cidr | undefined, text: string): boolean {
  const range = parseCidr(text);
  return cidr !== undefined && range !== undefined && overlaps(cidr, range);
}

function isSmallerThanABlock({ disabled, blockSize }: IPPoolSpec, cidr: Cidr | undefined): boolean {
  if (disabled === true || cidr === undefined) return false;
  return cidr.prefix > (blockSize || DEFAULT_BLOCK_SIZE[cidr.version]);
}
