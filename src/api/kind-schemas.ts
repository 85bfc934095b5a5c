/** The schema of each kind as its CRD has it: what the CRDs are generated from, and what the embedded store admits by. */
import { type CrdSchema, crdSchema, type Flavour } from "./crd-schema.ts";
import { installationSpec, installationStatus, SINGLETON_NAME } from "./installation.ts";
import { installationRules } from "./installation-rules.ts";
import { v1Schemas } from "./v1.ts";
import { type IpamKind, ipPoolStatus, v3Schemas } from "./v3.ts";

/** What a kind is for, in the words of its `kubectl explain` and its reference page. */
export const KIND_DESCRIPTIONS: Readonly<Record<IpamKind | "Installation", string>> = {
  Installation: "How the cluster's IP address management is to be configured. Only the name `default` is used.",
  IPAMBlock:
    "A range of addresses, usually owned by one node, with what is known of each address. Written by IPAM only.",
  BlockAffinity: "A node's claim on a block. Written by IPAM only.",
  IPAMHandle: "How many addresses a handle, usually one workload, holds in which block. Written by IPAM only.",
  IPAMConfiguration: "The cluster-wide settings of IP address management. Only the name `default` is read.",
  IPPool: "A range from which blocks are cut, and who may draw from it.",
  IPReservation: "Addresses that are never handed out automatically. Those already in use stay in use.",
};

/** The schema of a whole object; of metadata it says only that it is an object. */
export function kindSchema(kind: IpamKind | "Installation", flavour: Flavour = "v3"): CrdSchema {
  if (kind === "Installation") return installationSchema();
  const schema = objectSchema(KIND_DESCRIPTIONS[kind], ipamProperties(kind, flavour));
  return flavour === "v3" ? { ...schema, required: ["metadata", "spec"] } : schema;
}

const schemas = { v1: v1Schemas, v3: v3Schemas };

/** The object schema of an IPAM kind in one generation, without apiVersion, kind and metadata. */
export function ipamProperties(kind: IpamKind, flavour: Flavour): Record<string, CrdSchema> {
  const spec = describe(crdSchema(schemas[flavour][kind].shape.spec, flavour), `What the ${kind} holds.`);
  if (kind !== "IPPool") return { spec };
  return { spec, status: describe(crdSchema(ipPoolStatus, flavour), "Whether addresses are handed out.") };
}

/** The object schema of the Installation, without apiVersion, kind and metadata. */
export function installationProperties(): Record<string, CrdSchema> {
  const spec = describe(crdSchema(installationSpec, "v3"), "What is wanted. Only ever written by the user.");
  spec.properties!["ipam"]!["x-kubernetes-validations"] = installationRules();
  return {
    spec,
    status: describe(crdSchema(installationStatus, "v3"), "What is so. Only ever written by the operator."),
  };
}

const describe = (schema: CrdSchema, description: string): CrdSchema => ({ description, ...schema });

function installationSchema(): CrdSchema {
  return {
    ...objectSchema(KIND_DESCRIPTIONS.Installation, installationProperties()),
    required: ["metadata", "spec"],
    "x-kubernetes-validations": [
      {
        rule: `self.metadata.name == '${SINGLETON_NAME}'`,
        message: `the only Installation is the one named ${SINGLETON_NAME}: set metadata.name: ${SINGLETON_NAME}`,
      },
    ],
  };
}

const objectSchema = (description: string, properties: Record<string, CrdSchema>): CrdSchema => ({
  description,
  type: "object",
  properties: {
    apiVersion: { type: "string", description: "API group and version of this representation." },
    kind: { type: "string", description: "The kind of object." },
    metadata: { type: "object" },
    ...properties,
  },
});
