/** CRDs of others that the operator looks at, cut down to what a test needs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Generation } from "./user.ts";

interface CrdNames {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
}

/** A cluster-scoped CRD that keeps whatever is put into it. */
export const openCrd = ({ group, version, kind, plural }: CrdNames) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { kind, plural, singular: kind.toLowerCase() },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
});

/** The kind of Calico's own operator that shares our kind's name. */
export const calicoInstallationCrd = openCrd({
  group: "operator.tigera.io",
  version: "v1",
  kind: "Installation",
  plural: "installations",
});

export const clusterInformationCrd = (generation: Generation) =>
  openCrd({ ...apiOf(generation), kind: "ClusterInformation", plural: "clusterinformations" });

export const apiOf = (generation: Generation) =>
  generation === "v1"
    ? { group: "crd.projectcalico.org", version: "v1" }
    : { group: "projectcalico.org", version: "v3" };

/** The configuration's CRD as an older release had it: without `field`. */
export function olderConfigurationCrd(generation: Generation, field: string): object {
  const crd = configurationCrd(generation);
  for (const { schema } of crd.spec.versions) delete schema.openAPIV3Schema.properties.spec.properties[field];
  return crd;
}

/** The configuration's CRD as a later release may have it: with one more field. */
export function newerConfigurationCrd(generation: Generation, field: string): object {
  const crd = configurationCrd(generation);
  for (const { schema } of crd.spec.versions) {
    schema.openAPIV3Schema.properties.spec.properties[field] = { type: "integer" };
  }
  return crd;
}

/** The blocks' CRD; without `field` of a block's entries, as an older release had it. */
export function blockCrd(generation: Generation, field?: string): object {
  const file = generation === "v1" ? "v1/crd.projectcalico.org_ipamblocks" : "v3/projectcalico.org_ipamblocks";
  const crd = parse(readFileSync(join(import.meta.dirname, `../../crds/${file}.yaml`), "utf8"));
  for (const { schema } of crd.spec.versions) {
    if (field) delete schema.openAPIV3Schema.properties.spec.properties.attributes.items.properties[field];
  }
  return crd;
}

export function configurationCrd(generation: Generation) {
  const file = generation === "v1" ? "v1/crd.projectcalico.org_ipamconfigs" : "v3/projectcalico.org_ipamconfigurations";
  return parse(readFileSync(join(import.meta.dirname, `../../crds/${file}.yaml`), "utf8"));
}

/** A policy of the cluster's own admins, which answers like a missing permission does. */
export const refusingPolicy = (generation: Generation) => `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: fridays}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [${apiOf(generation).group}]
        apiVersions: [${apiOf(generation).version}]
        resources: [${generation === "v1" ? "ipamconfigs" : "ipamconfigurations"}]
        operations: [CREATE, UPDATE]
  validations: [{expression: "false", message: not on Fridays, reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: fridays}
spec: {policyName: fridays, validationActions: [Deny]}
`;
