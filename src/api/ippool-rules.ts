/** The rules of an IP pool that one object can show, as CEL for the CRDs of both generations. */

export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
  /** Default: the value is invalid. */
  readonly reason?: "FieldValueForbidden";
}

/** On the field, not on the spec: what is stored and not changed is then not judged again. */
export const ipPoolCidrRules: readonly CelRule[] = [
  {
    // `format: cidr` lets leading zeros pass, which half of the world reads as octal.
    rule: "isCIDR(self)",
    message: "cidr must be an IPv4 or IPv6 range such as 10.0.0.0/16 or fd00::/48, without leading zeros",
  },
  {
    rule: "!isCIDR(self) || cidr(self) == cidr(self).masked()",
    message: "cidr must be strictly masked: no address bits beyond the prefix length (10.0.0.0/24, not 10.0.0.1/24)",
  },
  ...["169.254.0.0/16", "fe80::/10"].map((range) => ({
    rule: `!isCIDR(self) || (!cidr('${range}').containsCIDR(self) && !cidr(self).containsCIDR('${range}'))`,
    message: `cidr must not overlap the link-local range ${range}`,
  })),
];

const on = (mode: string) => `has(self.${mode}) && self.${mode} != 'Never'`;
const isLoadBalancer = "has(self.allowedUses) && 'LoadBalancer' in self.allowedUses";
const isV6 = "isCIDR(self.cidr) && cidr(self.cidr).ip().family() == 6";
const isV4 = "isCIDR(self.cidr) && cidr(self.cidr).ip().family() == 4";
const hasBlockSize = "has(self.blockSize) && self.blockSize != 0";
const isDisabled = "has(self.disabled) && self.disabled";

const ifLoadBalancer = (rule: string) => `!(${isLoadBalancer}) || ${rule}`;
const blockSizeWithin = (family: string, least: number, most: number) =>
  `!(${hasBlockSize} && ${family}) || (self.blockSize >= ${least} && self.blockSize <= ${most})`;

export const ipPoolRules: readonly CelRule[] = [
  {
    rule: `!(${on("ipipMode")} && ${on("vxlanMode")})`,
    message: "ipipMode and vxlanMode cannot both be on: set one of them to Never",
  },
  {
    rule: `!(${on("ipipMode")} && ${isV6})`,
    message: "ipipMode must be Never for an IPv6 pool: use vxlanMode",
    fieldPath: ".ipipMode",
  },
  {
    rule: ifLoadBalancer(`!(${on("ipipMode")} || ${on("vxlanMode")})`),
    message: "a LoadBalancer pool must not use ipipMode or vxlanMode: set both to Never",
  },
  {
    rule: ifLoadBalancer("self.allowedUses.all(use, use == 'LoadBalancer')"),
    message: "allowedUses LoadBalancer cannot be combined with Workload or Tunnel: use separate pools",
    fieldPath: ".allowedUses",
  },
  {
    rule: ifLoadBalancer("!has(self.disableBGPExport) || !self.disableBGPExport"),
    message: "a LoadBalancer pool must not set disableBGPExport: true",
    fieldPath: ".disableBGPExport",
  },
  {
    rule: ifLoadBalancer("!has(self.nodeSelector) || self.nodeSelector == 'all()'"),
    message: "a LoadBalancer pool must have nodeSelector: all()",
    fieldPath: ".nodeSelector",
  },
  {
    rule: "!(has(self.allowedUses) && 'Tunnel' in self.allowedUses && has(self.namespaceSelector) && self.namespaceSelector != '')",
    message: "a pool that allows Tunnel must not set namespaceSelector",
    fieldPath: ".namespaceSelector",
  },
  {
    rule: blockSizeWithin(isV4, 20, 32),
    message: "blockSize of an IPv4 pool must be from 20 to 32",
    fieldPath: ".blockSize",
  },
  {
    rule: blockSizeWithin(isV6, 116, 128),
    message: "blockSize of an IPv6 pool must be from 116 to 128",
    fieldPath: ".blockSize",
  },
  {
    rule: `(${isDisabled}) || !isCIDR(self.cidr) || cidr(self.cidr).prefixLength() <= (${hasBlockSize} ? self.blockSize : (${isV6} ? 122 : 26))`,
    message:
      "the pool is smaller than one block: choose a larger cidr or a larger blockSize (26 for IPv4 and 122 for IPv6 when absent)",
  },
];
