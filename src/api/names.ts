/**
 * Names derived from data, bit for bit as the reference derives them: object names, labels and handle ids.
 * All of them are one-way: read node, CIDR and handle from the spec, never from a name.
 */
import { createHash } from "node:crypto";
import { type Cidr, canonicalCidr, formatCidr, parseCidr } from "../net/cidr.ts";
import type { BlockAffinitySpec } from "./v3.ts";

const LONGEST_NAME = 252;
const HASH_DIGITS = 11;

/** A DNS-1123 subdomain: what an API server accepts as the name of an object. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
export const LONGEST_OBJECT_NAME = 253;

export function isObjectName(name: string, longest = LONGEST_OBJECT_NAME): boolean {
  return name.length <= longest && OBJECT_NAME.test(name);
}

/** A range as part of an object name: its canonical text with `.`, `:` and `/` as `-`. */
export function cidrName(cidr: string): string {
  const canonical = canonicalCidr(cidr);
  if (canonical === undefined) throw new RangeError(`"${cidr}" is not a CIDR, so it has no object name`);
  return canonical.replaceAll(/[.:/]/g, "-");
}

/** Object name of the block of a range. */
export const blockName = cidrName;

/**
 * The range that a block has by its name; undefined where it is no block's name. For a block of which nothing else is known
 * or can be relied on: everywhere else the spec says.
 */
export function rangeOfBlockName(name: string): Cidr | undefined {
  const [, address = "", prefix] = /^(.+)-(\d+)$/.exec(name) ?? [];
  const separator = /^\d+(-\d+){3}$/.test(address) ? "." : ":";
  const range = parseCidr(`${address.replaceAll("-", separator)}/${prefix}`);
  return range && blockName(formatCidr(range)) === name ? range : undefined;
}

/**
 * Object name of a host's affinity to a range; the affinity's type is no part of it. A name that would be too long
 * keeps the start of the host and is made unique by a hash.
 */
export function affinityName(host: string, cidr: string): string {
  const range = cidrName(cidr);
  const name = `${host}-${range}`;
  if (Buffer.byteLength(name) <= LONGEST_NAME) return name;
  const hash = sha256(`${host}+${range}`, "hex").slice(0, HASH_DIGITS);
  const rest = `-${range}-${hash}`;
  const start = Buffer.from(host).subarray(0, LONGEST_NAME - rest.length);
  return `${start}${rest}`;
}

const ASCII = /^[\0-\x7f]*$/;

/** Object name of a handle. Lower-cased character by character, as Go does: no final sigma, no combining dot. */
export function handleName(handleID: string): string {
  if (ASCII.test(handleID)) return handleID.toLowerCase();
  return Array.from(handleID, (c) => (c === "İ" ? "i" : c.toLowerCase())).join("");
}

/** A handle as found in a block or given by a caller; host-local migrations left `\r…` behind the real one. */
export function cutHandle(handleID: string): string {
  return handleID.split("\r", 1)[0]!;
}

export const HOSTNAME_HASH_LABEL = "projectcalico.org/hostname-hash";
export const AFFINITY_TYPE_LABEL = "projectcalico.org/affinity-type";
export const IP_VERSION_LABEL = "projectcalico.org/ip-version";

/** The three labels of every affinity, by which a host's affinities are listed. */
export function affinityLabels(spec: Pick<BlockAffinitySpec, "node" | "type" | "cidr">): Record<string, string> {
  return {
    [AFFINITY_TYPE_LABEL]: spec.type || "host",
    [HOSTNAME_HASH_LABEL]: hostnameHash(spec.node),
    [IP_VERSION_LABEL]: spec.cidr.includes(":") ? "6" : "4",
  };
}

/** A host name as a label value: any name, of any length, fits. */
export function hostnameHash(host: string): string {
  return base32(createHash("sha3-256").update(host).digest());
}

function base32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
  const quintets = bits.match(/.{1,5}/g) ?? [];
  return quintets
    .map((quintet) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(quintet.padEnd(5, "0"), 2)])
    .join("");
}

function sha256(text: string, encoding: "hex" | "base64url"): string {
  return createHash("sha256").update(text).digest(encoding);
}

export const DEFAULT_NETWORK = "k8s-pod-network";
/** Handle of the addresses a Windows host keeps for itself; only in block attributes, it has no handle object. */
export const WINDOWS_RESERVED_HANDLE = "windows-reserved-ipam-handle";
const LONGEST_VM_HANDLE = 128;

/** Handle of a CNI workload. */
export function workloadHandle(containerID: string, network: string = DEFAULT_NETWORK): string {
  return `${network}.${containerID}`;
}

/** The older handle of a CNI workload, still to be released with it. */
export function workloadIdHandle(namespace: string, pod: string): string {
  return `${namespace}.${pod}`;
}

/**
 * Handle of a KubeVirt VM, as the reference's CNI plugin stores it. One that is too long keeps its start and is made
 * unique by a hash: the reference fails there, so there is nothing to agree with.
 */
export function vmHandle(namespace: string, vm: string, network: string = DEFAULT_NETWORK): string {
  const handle = `${network || DEFAULT_NETWORK}.vmi.${namespace}.${vm}`;
  if (handle.length <= LONGEST_VM_HANDLE) return handle;
  const hash = sha256(handle, "hex");
  const start = handle.slice(0, LONGEST_VM_HANDLE - hash.length - 1).replace(/[^a-zA-Z0-9]+$/, "");
  return `${start}-${hash}`;
}

/** Handle of a VM in the form of the reference's design text. Ambiguous (`a-b`+`c` is `a`+`b-c`); only on request. */
export function vmDesignHandle(namespace: string, vm: string, network: string = DEFAULT_NETWORK): string {
  return `${network || DEFAULT_NETWORK}.${namespace}-${vm}`;
}

/** The tunnel devices of a node that have an address. */
export const TUNNELS = ["ipip", "vxlan", "vxlan-v6", "wireguard", "wireguard-v6"] as const;

/** Handle of the address of a node's tunnel device. */
export function tunnelHandle(tunnel: (typeof TUNNELS)[number], node: string): string {
  return `${tunnel}-tunnel-addr-${node}`;
}

/** Handle of a Service of type LoadBalancer. */
export function loadBalancerHandle(service: string, namespace: string, uid: string): string {
  const hash = sha256(`${service}-${namespace}-${uid}`.toLowerCase(), "base64url");
  return `lb-${hash.replaceAll(/[-_.]/g, "")}`;
}
