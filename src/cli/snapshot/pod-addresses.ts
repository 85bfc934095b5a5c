/** Which addresses a pod has, from the three places that may say so. */
import { z } from "zod";
import type { KubeObject } from "../../api/meta.ts";
import { canonicalAddress } from "../../net/address.ts";
import { fieldsOf, text } from "./fields.ts";

type Texts = Readonly<Record<string, string>>;
const podStatus = z.object({ podIP: text, podIPs: z.array(z.object({ ip: text })).nullish() });

/** Written by Calico's CNI plugin; emptied when it has released the pod's addresses, which the status does not show. */
const CALICO_ADDRESSES = "cni.projectcalico.org/podIPs";
const CALICO_ADDRESS = "cni.projectcalico.org/podIP";
/** Written by Multus: the addresses of every interface. */
const NETWORK_STATUS = ["k8s.v1.cni.cncf.io/network-status", "k8s.v1.cni.cncf.io/networks-status"];

/** Every known address, canonical and once each; none once Calico has released them. */
export function podAddresses({ metadata, status }: KubeObject): string[] {
  const { annotations = {} } = metadata;
  const calico = annotations[CALICO_ADDRESSES] ?? annotations[CALICO_ADDRESS];
  if (calico === "") return [];
  const { podIP, podIPs } = fieldsOf("status", status, podStatus);
  const texts = [
    podIP,
    ...(podIPs ?? []).map(({ ip }) => ip),
    ...(calico ?? "").split(",").map((cidr) => cidr.trim().split("/", 1)[0] ?? ""),
    ...networkAddresses(annotations),
  ];
  return [...new Set(texts)].flatMap((text) => (text && canonicalAddress(text)) || []);
}

function networkAddresses(annotations: Texts): string[] {
  const text = NETWORK_STATUS.map((key) => annotations[key]).find((found) => found !== undefined);
  const networks = text === undefined ? [] : parsed(text);
  if (!Array.isArray(networks)) return [];
  return networks.flatMap((network) => {
    const ips: unknown = network?.ips;
    return Array.isArray(ips) ? ips.filter((ip) => typeof ip === "string") : [];
  });
}

/** Pools that annotations ask for, by name or CIDR; undefined where they ask for none. */
export function namedPools(annotations: Texts = {}): string[] | undefined {
  return listed(annotations, ["cni.projectcalico.org/ipv4pools", "cni.projectcalico.org/ipv6pools"]);
}

/** Addresses that a pod's annotation asks for; undefined where it asks for none. */
export function namedAddresses(annotations: Texts = {}): string[] | undefined {
  return listed(annotations, ["cni.projectcalico.org/ipAddrs"]);
}

function listed(annotations: Texts, keys: readonly string[]): string[] | undefined {
  const texts = keys.flatMap((key) => {
    const list = annotations[key] === undefined ? [] : parsed(annotations[key]);
    return Array.isArray(list) ? list.filter((text) => typeof text === "string") : [];
  });
  return texts.length > 0 ? texts : undefined;
}

/** Annotations are anybody's text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
