/** The functions of the public interface. Each checks its arguments. */
import { z } from "zod";
import * as rules from "../api/config-rules.ts";
import * as names from "../api/names.ts";
import type { IPReservation } from "../api/v3.ts";
import { given, mapOfTexts, number, others, pod, switches, text, texts } from "../ipam/argument-forms.ts";
import { checkArguments } from "../ipam/arguments.ts";
import * as assignments from "../ipam/assignments.ts";
import * as client from "../ipam/client.ts";
import * as owners from "../ipam/owners.ts";
import * as reserved from "../ipam/reserved.ts";
import * as selection from "../ipam/selection.ts";
import { checked } from "./checked.ts";
import { callback, datastore } from "./datastores.ts";

const network = text.optional();

/** Handle of a CNI workload. `network` defaults to `k8s-pod-network`. @throws IpamError InvalidArgument */
export const workloadHandle = checked("workloadHandle", { containerID: text, network }, names.workloadHandle);

/** The older handle of a CNI workload, which a release must try too. @throws IpamError InvalidArgument */
export const workloadIdHandle = checked("workloadIdHandle", { namespace: text, pod: text }, names.workloadIdHandle);

/**
 * Handle of a KubeVirt VM, as Calico's CNI plugin stores it. One of more than 128 characters keeps its start and ends in a hash.
 * `network` defaults to `k8s-pod-network`. @throws IpamError InvalidArgument
 */
export const vmHandle = checked("vmHandle", { namespace: text, vm: text, network }, names.vmHandle);

/** Handle of a VM as Calico's design document writes it: ambiguous, as `a-b` with `c` is `a` with `b-c`. @throws IpamError InvalidArgument */
export const vmDesignHandle = checked("vmDesignHandle", { namespace: text, vm: text, network }, names.vmDesignHandle);

const tunnel = z.enum(names.TUNNELS, { error: `must be one of ${names.TUNNELS.join(", ")}` });

/** Handle of the address of a node's tunnel device. @throws IpamError InvalidArgument */
export const tunnelHandle = checked("tunnelHandle", { tunnel, node: text }, names.tunnelHandle);

/** Handle of a Service of type LoadBalancer. @throws IpamError InvalidArgument */
export const loadBalancerHandle = checked(
  "loadBalancerHandle",
  { service: text, namespace: text, uid: text },
  names.loadBalancerHandle,
);

/** The stored spec with the defaults filled in; the defaults where there is none. @throws IpamError InvalidArgument */
export const effectiveConfig = checked("effectiveConfig", { spec: others({}).optional() }, rules.effectiveConfig);

/**
 * Every rule that a configuration breaks, values of a wrong type included. `windowsHost` (default false) adds the rules of Windows
 * hosts. @throws IpamError InvalidArgument
 */
export const configViolations = checked(
  "configViolations",
  { config: others({}), options: given({ windowsHost: switches }).optional() },
  rules.configViolations,
);

const forAssignments = others({
  ips: texts,
  ipVersion: number,
  numRequested: number,
  msgs: texts,
  hostReservedAttr: others({ handle: text }).nullable(),
});

/** A sentence where fewer addresses were assigned than asked for; undefined where there are enough. @throws IpamError InvalidArgument */
export const partialFulfillmentError = checked(
  "partialFulfillmentError",
  { assignments: forAssignments },
  assignments.partialFulfillmentError,
);

/** Whether attributes name this owner; the empty owner is matched by no attributes at all. @throws IpamError InvalidArgument */
export const ownerMatches = checked("ownerMatches", { owner: pod, attrs: mapOfTexts.optional() }, owners.ownerMatches);

const selected = others({
  metadata: others({ labels: mapOfTexts.optional(), annotations: mapOfTexts.optional() }).optional(),
});
const pool = others({
  metadata: others({ name: text }),
  spec: others({ nodeSelector: text.optional(), namespaceSelector: text.optional() }),
});

/** Whether a pool's nodeSelector selects a node. @throws IpamError InvalidArgument; MalformedObject: the selector cannot be read */
export const selectsNode = checked("selectsNode", { pool, node: selected }, selection.selectsNode);

/**
 * Whether a pool's namespaceSelector selects a namespace; one that is not known has no labels.
 * @throws IpamError InvalidArgument; MalformedObject: the selector cannot be read
 */
export const selectsNamespace = checked(
  "selectsNamespace",
  { pool, namespace: selected.optional() },
  selection.selectsNamespace,
);

const isIterable = (value: unknown) =>
  typeof value === "object" && typeof Object(value)[Symbol.iterator] === "function";
const reservation = others({ spec: others({ reservedCIDRs: texts.optional() }) });
const RESERVATIONS = z.array(reservation);

/**
 * Number of addresses of a range that reservations take out of automatic allocation, each counted once; at most 2^63-1.
 * @throws IpamError InvalidArgument
 */
export const numReservedIPsInCIDR = checked(
  "numReservedIPsInCIDR",
  { cidr: text, reservations: z.custom(isIterable, "must be an iterable of IPReservations") },
  (cidr: string, reservations: Iterable<IPReservation>): bigint => {
    const all = Array.from(reservations);
    checkArguments("numReservedIPsInCIDR", [["reservations", RESERVATIONS]], [all]);
    return reserved.numReservedIPsInCIDR(cidr, all);
  },
);

const forIpam = given({
  datastore,
  clock: callback.optional(),
  blockOrder: callback.optional(),
  nodes: callback.optional(),
  windowsHost: switches,
  hostname: text.optional(),
  warn: callback.optional(),
});

/** Opens the library over a datastore, which stays the caller's to close. @throws IpamError InvalidArgument */
export const createIpam = checked("createIpam", { options: forIpam }, client.createIpam);
