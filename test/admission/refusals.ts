/**
 * The one table of objects and edits that an API server refuses, each with its words, a line per field at fault. It runs
 * through API servers of both groups, the embedded store, the manifests folder and `ipamctl plan`.
 */
import { INSTALLATION_API_VERSION } from "../../src/api/installation.ts";
import { V3_API_VERSION } from "../../src/api/v3.ts";
import recorded from "./refusals.json" with { type: "json" };

type Fields = Readonly<Record<string, unknown>>;

export interface WrittenCase {
  readonly why: string;
  readonly kind: "IPPool" | "IPReservation" | "IPAMConfiguration" | "Installation";
  readonly metadata?: Fields;
  readonly spec?: unknown;
  /** Fields beside spec. */
  readonly top?: Fields;
}

const pool = (why: string, spec: unknown, more: Partial<WrittenCase> = {}): WrittenCase => ({
  why,
  kind: "IPPool",
  spec,
  ...more,
});
const cidr = "10.0.0.0/16";
const v6 = "fd00::/48";

export const CREATES: readonly WrittenCase[] = [
  pool("an unknown field", { cidr, natOutging: true }),
  pool("two unknown fields", { cidr, natOutging: true, blocksize: 26 }),
  pool("an unknown field beside spec", { cidr }, { top: { specs: {} } }),
  pool("an unknown field of metadata", { cidr }, { metadata: { nmae: "x" } }),
  pool("an unknown field and a bad value", { cidr: "garbage", natOutging: true }),
  pool("host bits", { cidr: "10.0.0.1/16" }),
  pool("v6 host bits", { cidr: "fd00::1/48" }),
  pool("no range", { cidr: "garbage" }),
  pool("an empty cidr", { cidr: "" }),
  pool("an address", { cidr: "10.0.0.0" }),
  pool("a prefix too long", { cidr: "10.0.0.0/33" }),
  pool("leading zeros", { cidr: "010.0.0.0/16" }),
  pool("an IPv4-mapped range", { cidr: "::ffff:10.0.0.0/112" }),
  pool("upper case", { cidr: "FD00::/48", blockSize: 19 }),
  pool("link local", { cidr: "169.254.0.0/20" }),
  pool("around v6 link local", { cidr: "fe00::/8" }),
  pool("no cidr", { natOutgoing: true }),
  pool("a cidr of another type", { cidr: 10 }),
  pool("a cidr of null", { cidr: null }),
  pool("a very long cidr", { cidr: "1".repeat(60) }),
  pool("blockSize -3", { cidr, blockSize: -3 }),
  pool("blockSize 19", { cidr, blockSize: 19 }),
  pool("blockSize 33", { cidr, blockSize: 33 }),
  pool("blockSize 129", { cidr: v6, blockSize: 129 }),
  pool("blockSize 26 of a v6 pool", { cidr: v6, blockSize: 26 }),
  pool("blockSize as text", { cidr, blockSize: "26" }),
  pool("blockSize 26.5", { cidr, blockSize: 26.5 }),
  pool("smaller than a block", { cidr: "10.0.0.0/28", blockSize: 26 }),
  pool("smaller than a default block", { cidr: "10.0.0.0/27" }),
  pool("smaller than a default v6 block", { cidr: "fd00::/124" }),
  pool("two encapsulations", { cidr, ipipMode: "Always", vxlanMode: "CrossSubnet" }),
  pool("IP-in-IP on IPv6", { cidr: v6, ipipMode: "Always" }),
  pool("no such mode", { cidr, vxlanMode: "Sometimes" }),
  pool("no such mode, and another fault", { cidr: "10.0.0.1/16", ipipMode: "always" }),
  pool("no such assignment mode", { cidr, assignmentMode: "automatic" }),
  pool("no such use", { cidr, allowedUses: ["Workload", "Pods"] }),
  pool("a use twice", { cidr, allowedUses: ["Workload", "Workload"] }),
  pool("too many uses", { cidr, allowedUses: Array.from({ length: 11 }, () => "Workload") }),
  pool("uses as text", { cidr, allowedUses: "Workload" }),
  pool("a use of another type", { cidr, allowedUses: [1] }),
  pool("everything a LoadBalancer pool must not", {
    cidr,
    allowedUses: ["LoadBalancer", "Workload"],
    vxlanMode: "Always",
    disableBGPExport: true,
    nodeSelector: "a == 'b'",
  }),
  pool("tunnels by namespace", { cidr, allowedUses: ["Tunnel"], namespaceSelector: "a == 'b'" }),
  pool("a switch as text", { cidr, natOutgoing: "yes" }),
  pool("a very long selector", { cidr, nodeSelector: "a".repeat(1025) }),
  pool("a selector of another type", { cidr, nodeSelector: { all: true } }),
  pool("a spec that is text", "all"),
  pool("a spec that is a list", []),
  pool("a bad name", { cidr }, { metadata: { name: "Bad_Name" } }),
  pool("a long name", { cidr }, { metadata: { name: "a".repeat(254) } }),
  pool("a bad label", { cidr }, { metadata: { labels: { "two words": "x", a: "two words" } } }),
  pool("a label's long key", { cidr }, { metadata: { labels: { ["a".repeat(64)]: "x" } } }),
  pool("a label's bad domain", { cidr }, { metadata: { labels: { "Not.A.Domain/a": "x", "a/b/c": "x", "/a": "x" } } }),
  pool("a label's long value", { cidr }, { metadata: { labels: { a: "a".repeat(64) } } }),
  pool("a bad annotation", { cidr }, { metadata: { annotations: { "two words": "x" } } }),
  pool("large annotations", { cidr }, { metadata: { annotations: { a: "x".repeat(262_144) } } }),
  pool("a label of another type", { cidr }, { metadata: { labels: { a: 1 } } }),
  { why: "a reservation's unknown field", kind: "IPReservation", spec: { reservedCIDR: ["10.0.0.0/30"] } },
  { why: "a reservation of no range", kind: "IPReservation", spec: { reservedCIDRs: ["10.0.0.0/30", "garbage"] } },
  { why: "a reservation of an address", kind: "IPReservation", spec: { reservedCIDRs: ["10.0.0.1"] } },
  { why: "a reservation twice", kind: "IPReservation", spec: { reservedCIDRs: ["10.0.0.0/30", "10.0.0.0/30"] } },
  { why: "a reservation as text", kind: "IPReservation", spec: { reservedCIDRs: "10.0.0.0/30" } },
  { why: "a reservation of null", kind: "IPReservation", spec: { reservedCIDRs: [null] } },
  { why: "a misspelt switch", kind: "IPAMConfiguration", spec: both({ StrictAffinity: true }) },
  { why: "a switch as text", kind: "IPAMConfiguration", spec: both({ strictAffinity: "yes" }) },
  { why: "a cap below 0", kind: "IPAMConfiguration", spec: both({ maxBlocksPerHost: -1 }) },
  { why: "a cap too large", kind: "IPAMConfiguration", spec: both({ maxBlocksPerHost: 3_000_000_000 }) },
  { why: "a cooldown too long", kind: "IPAMConfiguration", spec: both({ ipCooldownSeconds: 5000 }) },
  { why: "a cooldown with a unit", kind: "IPAMConfiguration", spec: both({ ipCooldownSeconds: "60s" }) },
  { why: "no such persistence", kind: "IPAMConfiguration", spec: both({ kubeVirtVMAddressPersistence: "enabled" }) },
  { why: "no policy", kind: "Installation", spec: {} },
  { why: "no such policy", kind: "Installation", spec: { managementPolicy: "enforce" } },
  { why: "another name", kind: "Installation", metadata: { name: "main" }, spec: { managementPolicy: "Observe" } },
  { why: "an unknown setting", kind: "Installation", spec: enforce({ strictaffinity: true }) },
  { why: "a setting as text", kind: "Installation", spec: enforce({ strictAffinity: "yes" }) },
  { why: "half a second", kind: "Installation", spec: enforce({ ipCooldownSeconds: 1.5 }) },
  { why: "a cooldown too long", kind: "Installation", spec: enforce({ ipCooldownSeconds: 5000 }) },
  { why: "a cap below 0", kind: "Installation", spec: enforce({ maxBlocksPerHost: -1, strictAffinity: true }) },
  {
    why: "a cap too large",
    kind: "Installation",
    spec: enforce({ maxBlocksPerHost: 2_000_000, strictAffinity: true }),
  },
  { why: "no such persistence", kind: "Installation", spec: enforce({ kubeVirtVMAddressPersistence: "On" }) },
  { why: "both off", kind: "Installation", spec: enforce({ strictAffinity: false, autoAllocateBlocks: false }) },
  { why: "a cap without strict affinity", kind: "Installation", spec: enforce({ maxBlocksPerHost: 4 }) },
  { why: "settings that are a list", kind: "Installation", spec: { managementPolicy: "Enforce", ipam: [] } },
  { why: "no spec", kind: "Installation" },
];

function both(more: Fields): Fields {
  return { strictAffinity: true, autoAllocateBlocks: true, ...more };
}
function enforce(ipam: Fields): Fields {
  return { managementPolicy: "Enforce", ipam };
}

export interface EditCase extends WrittenCase {
  /** What is stored; it may break rules, as what an older version wrote. */
  readonly stored: Fields;
  /** To us it says nothing else: a manifest leaves what is stored as it is, and nothing is refused. */
  readonly saysTheSame?: true;
}

const edit = (why: string, stored: Fields, spec: unknown): EditCase => ({
  why: `edit, ${why}`,
  kind: "IPPool",
  stored,
  spec,
});
export const EDITS: readonly EditCase[] = [
  edit("another blockSize", { cidr, blockSize: 26 }, { cidr, blockSize: 28 }),
  edit("another cidr", { cidr }, { cidr: "10.1.0.0/16" }),
  edit("another cidr with host bits", { cidr }, { cidr: "10.1.0.1/16" }),
  edit("both", { cidr, blockSize: 26 }, { cidr: "10.1.0.0/16", blockSize: 33 }),
  edit("a blockSize where none was", { cidr }, { cidr, blockSize: 28 }),
  edit("no blockSize where one was", { cidr, blockSize: 28 }, { cidr }),
  { ...edit("blockSize 0 of 26", { cidr, blockSize: 26 }, { cidr, blockSize: 0 }), saysTheSame: true },
  edit("beside an unknown field", { cidr, natOutging: true }, { cidr, disabled: true }),
  edit("a good edit", { cidr }, { cidr, disabled: true }),
  edit("an unknown field", { cidr }, { cidr, natOutging: true }),
  { ...edit("another spelling of the range", { cidr: v6 }, { cidr: "fd00:0:0::/48" }), saysTheSame: true },
  edit("beside host bits", { cidr: "10.0.0.1/16" }, { cidr: "10.0.0.1/16", disabled: true }),
  edit("beside no range", { cidr: "garbage" }, { cidr: "garbage", disabled: true }),
  { ...edit("host bits mended", { cidr: "10.0.0.1/16" }, { cidr }), saysTheSame: true },
  edit("beside blockSize -3", { cidr, blockSize: -3 }, { cidr, blockSize: -3, natOutgoing: true }),
  edit("blockSize -3 mended", { cidr, blockSize: -3 }, { cidr, blockSize: 26 }),
  edit("beside blockSize 19", { cidr, blockSize: 19 }, { cidr, blockSize: 19, disabled: true }),
  edit("beside blockSize 33, labels only", { cidr, blockSize: 33 }, { cidr, blockSize: 33 }),
  edit(
    "beside a use twice",
    { cidr, allowedUses: ["Tunnel", "Tunnel"] },
    { cidr, allowedUses: ["Tunnel", "Tunnel"], disabled: true },
  ),
  edit(
    "a use twice, moved",
    { cidr, allowedUses: ["Tunnel", "Tunnel"] },
    { cidr, allowedUses: ["Tunnel", "Tunnel", "Workload"] },
  ),
  edit("beside no such use", { cidr, allowedUses: ["Pods"] }, { cidr, allowedUses: ["Pods"], disabled: true }),
  edit("after no such use", { cidr, allowedUses: ["Pods"] }, { cidr, allowedUses: ["Pods", "Workload"] }),
  edit("beside a mode of no kind", { cidr, vxlanMode: "no" }, { cidr, vxlanMode: "no", natOutgoing: true }),
  edit("beside no cidr", { natOutgoing: true }, { natOutgoing: false }),
  edit(
    "two encapsulations, edited elsewhere",
    { cidr, ipipMode: "Always", vxlanMode: "Always" },
    { cidr, ipipMode: "Always", vxlanMode: "Always", natOutgoing: true },
  ),
];

/** The words that each case is refused with, as API servers say them; a case that is taken has none. */
export const words: Readonly<Record<string, readonly string[]>> = recorded;

/** Where a server of the v1 group says something else: its schema has another limit. */
export const wordsInV1: Readonly<Record<string, readonly string[]>> = {
  "IPAMConfiguration: a cap too large": [
    "spec.maxBlocksPerHost: Invalid value: 3000000000: spec.maxBlocksPerHost in body should be less than or equal to 2147483647",
  ],
};

export const nameOf = ({ kind, why }: { readonly kind: string; readonly why: string }) => `${kind}: ${why}`;

/** The object of a case in its v3 form. */
export function objectOf({ kind, metadata, spec, top }: WrittenCase) {
  const name = kind === "IPPool" || kind === "IPReservation" ? "p" : "default";
  const apiVersion = kind === "Installation" ? INSTALLATION_API_VERSION : V3_API_VERSION;
  return { apiVersion, kind, metadata: { name, ...metadata }, ...(spec !== undefined && { spec }), ...top };
}
