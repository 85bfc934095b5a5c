/**
 * The REST resources of every kind the product stores, in both API groups, as the reference's CRDs have them:
 * names, short names, printer columns, status subresource. Data only; the CRDs and every URL come from here.
 */
import type { ResourceType } from "../kube/types.ts";
import { INSTALLATION_KIND } from "./installation.ts";
import type { IpamKind } from "./v3.ts";

/** A column of `kubectl get`, in the form of a CRD's additionalPrinterColumns. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
  readonly priority?: number;
}

/** A cluster-scoped resource together with what its CRD says beside the schema. */
export interface Resource extends ResourceType {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly printerColumns: readonly PrinterColumn[];
  readonly statusSubresource: boolean;
}

/** One kind in both generations. */
export interface Generations {
  readonly v1: Resource;
  readonly v3: Resource;
}

const plain = { shortNames: [], categories: [], printerColumns: [], statusSubresource: false };
const v1 = { group: "crd.projectcalico.org", version: "v1", ...plain };
const v3 = { group: "projectcalico.org", version: "v3", ...plain };
const age: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

const block = { kind: "IPAMBlock", plural: "ipamblocks", singular: "ipamblock" };
const affinity = { kind: "BlockAffinity", plural: "blockaffinities", singular: "blockaffinity" };
const handle = { kind: "IPAMHandle", plural: "ipamhandles", singular: "ipamhandle" };
const pool = { kind: "IPPool", plural: "ippools", singular: "ippool", statusSubresource: true };
const reservation = { kind: "IPReservation", plural: "ipreservations", singular: "ipreservation" };

/** The six IPAM kinds, by the kind's v3 name. */
export const resources: Readonly<Record<IpamKind, Generations>> = {
  IPAMBlock: {
    v1: { ...v1, ...block },
    v3: {
      ...v3,
      ...block,
      printerColumns: [
        { name: "CIDR", type: "string", jsonPath: ".spec.cidr" },
        { name: "Affinity", type: "string", jsonPath: ".spec.affinity" },
        { name: "ClaimTime", type: "date", jsonPath: ".spec.affinityClaimTime" },
      ],
    },
  },
  BlockAffinity: {
    v1: { ...v1, ...affinity },
    v3: {
      ...v3,
      ...affinity,
      shortNames: ["affinity", "affinities"],
      printerColumns: [
        { name: "CIDR", type: "string", jsonPath: ".spec.cidr" },
        { name: "Node", type: "string", jsonPath: ".spec.node" },
        { name: "Type", type: "string", jsonPath: ".spec.type" },
      ],
    },
  },
  IPAMHandle: {
    v1: { ...v1, ...handle },
    v3: { ...v3, ...handle, printerColumns: [{ name: "ID", type: "string", jsonPath: ".spec.handleID" }] },
  },
  IPAMConfiguration: {
    v1: { ...v1, kind: "IPAMConfig", plural: "ipamconfigs", singular: "ipamconfig" },
    v3: {
      ...v3,
      kind: "IPAMConfiguration",
      plural: "ipamconfigurations",
      singular: "ipamconfiguration",
      shortNames: ["ipamconfig", "ipamconfigs"],
      printerColumns: [
        { name: "StrictAffinity", type: "boolean", jsonPath: ".spec.strictAffinity" },
        { name: "MaxBlocksPerHost", type: "integer", jsonPath: ".spec.maxBlocksPerHost" },
        { name: "AutoAllocateBlocks", type: "boolean", jsonPath: ".spec.autoAllocateBlocks" },
      ],
    },
  },
  IPPool: {
    v1: { ...v1, ...pool },
    v3: {
      ...v3,
      ...pool,
      printerColumns: [
        { name: "CIDR", type: "string", jsonPath: ".spec.cidr" },
        { name: "VXLAN", type: "string", jsonPath: ".spec.vxlanMode" },
        { name: "IPIP", type: "string", jsonPath: ".spec.ipipMode" },
        { name: "NAT", type: "boolean", jsonPath: ".spec.natOutgoing" },
        { name: "Allocatable", type: "string", jsonPath: ".status.conditions[?(@.type=='Allocatable')].status" },
        age,
      ],
    },
  },
  IPReservation: { v1: { ...v1, ...reservation }, v3: { ...v3, ...reservation } },
};

/** The user's object: a group and names of its own, so that `installation` can go on meaning Calico's. */
export const installationResource: Resource = {
  group: "ipam-operator.io",
  version: "v1alpha1",
  kind: INSTALLATION_KIND,
  plural: "ipaminstallations",
  singular: "ipaminstallation",
  shortNames: ["ipaminst"],
  categories: ["ipam-operator"],
  statusSubresource: true,
  printerColumns: [
    { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name: "Reason", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].reason" },
    { name: "Policy", type: "string", jsonPath: ".spec.managementPolicy" },
    { name: "Strict", type: "boolean", jsonPath: ".status.effective.strictAffinity" },
    { name: "MaxBlocks", type: "integer", jsonPath: ".status.effective.maxBlocksPerHost" },
    { name: "Cooldown", type: "integer", jsonPath: ".status.effective.ipCooldownSeconds" },
    { name: "Message", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].message", priority: 1 },
    age,
  ],
};

/** Kinds that are marked as deleted by compare-and-swap before they are removed. */
export const SOFT_DELETED_KINDS = ["IPAMBlock", "BlockAffinity", "IPAMHandle"] as const satisfies readonly IpamKind[];
