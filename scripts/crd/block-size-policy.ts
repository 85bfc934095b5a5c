/**
 * The admission policy for new IPAMBlocks: a block has the prefix length that its pool cuts blocks to. The pools are the
 * policy's parameters, and it is evaluated once for each. One policy per API group: each has IPPools of its own.
 */
import { stringify } from "yaml";
import { DEFAULT_BLOCK_SIZE } from "../../src/api/block-sizes.ts";
import { type Generations, resources } from "../../src/api/resources.ts";

type Group = keyof Generations;
const GROUPS: readonly Group[] = ["v1", "v3"];

export const blockSizePolicyName = (group: Group): string => `ipam-block-size-${group}.ipam-operator.io`;

/** Policies and bindings of both API groups, as YAML documents. */
export const blockSizeDocuments = (action: "Deny" | "Warn"): string[] =>
  GROUPS.flatMap((group) => [policy(group), binding(group, action)]).map((object) =>
    stringify(object, { lineWidth: 0 }),
  );

const policy = (group: Group) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: blockSizePolicyName(group) },
  spec: {
    failurePolicy: "Fail",
    paramKind: poolKind(group),
    matchConstraints: { resourceRules: [createsOf(group)] },
    variables: [
      { name: "block", expression: "object.spec.cidr" },
      {
        name: "isRange",
        expression: "isCIDR(variables.block) && cidr(variables.block) == cidr(variables.block).masked()",
      },
      { name: "pool", expression: "params.?spec.?cidr.orValue('')" },
      { name: "givesAddresses", expression: GIVES_ADDRESSES },
      { name: "blockSize", expression: BLOCK_SIZE },
      { name: "isInside", expression: "cidr(variables.pool).containsCIDR(variables.block)" },
      { name: "overlaps", expression: "variables.isInside || cidr(variables.block).containsCIDR(variables.pool)" },
    ],
    validations: [
      {
        expression: "variables.isRange",
        message:
          "spec.cidr must be an IPv4 or IPv6 range without address bits beyond its prefix length, such as 10.0.0.0/26",
        messageExpression: NOT_A_RANGE,
      },
      {
        expression: HAS_BLOCK_SIZE,
        message: "spec.cidr must lie inside its IPPool and have the pool's blockSize as prefix length",
        messageExpression: WRONG_SIZE,
      },
    ],
  },
});

const binding = (group: Group, action: "Deny" | "Warn") => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: blockSizePolicyName(group) },
  spec: {
    policyName: blockSizePolicyName(group),
    validationActions: [action],
    // Every pool. Without any, as without one around the block, there is no size to compare with.
    paramRef: { selector: {}, parameterNotFoundAction: "Allow" },
  },
});

function poolKind(group: Group) {
  const { group: apiGroup, version, kind } = resources.IPPool[group];
  return { apiVersion: `${apiGroup}/${version}`, kind };
}

function createsOf(group: Group) {
  const { group: apiGroup, version, plural } = resources.IPAMBlock[group];
  return { apiGroups: [apiGroup], apiVersions: [version], operations: ["CREATE"], resources: [plural] };
}

/** As the library has it: a pool that gives no address, such as one that lost to an overlapping pool, claims no range. */
const GIVES_ADDRESSES = [
  "isCIDR(variables.pool)",
  "!params.?spec.?disabled.orValue(false)",
  "!has(params.metadata.deletionTimestamp)",
  "!params.?status.?conditions.orValue([]).exists(c, c.type == 'Allocatable' && c.status == 'False')",
].join(" && ");

const ASKED = "params.?spec.?blockSize.orValue(0)";
const isIPv6 = "cidr(variables.pool).ip().family() == 6";
const BLOCK_SIZE = `${ASKED} != 0 ? ${ASKED} : (${isIPv6} ? ${DEFAULT_BLOCK_SIZE[6]} : ${DEFAULT_BLOCK_SIZE[4]})`;

const HAS_BLOCK_SIZE =
  "!variables.isRange || !variables.givesAddresses || !variables.overlaps || " +
  "(variables.isInside && cidr(variables.block).prefixLength() == variables.blockSize)";

const NOT_A_RANGE = `"spec.cidr '" + variables.block + "' must be an IPv4 or IPv6 range without address bits beyond its prefix length, such as 10.0.0.0/26"`;

const WRONG_SIZE =
  `"spec.cidr " + variables.block + " must be a /" + string(variables.blockSize) + " inside " + variables.pool + ` +
  `", the blockSize and range of IPPool " + params.metadata.name`;
