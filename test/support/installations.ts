/** Builders of what a reconciler sees; each test names only what it is about. */

import type { Surroundings } from "../../reconcilers/installation/surroundings.ts";
import type { Installation, IpamSettings, ManagementPolicy } from "../../src/api/installation.ts";
import type { IPAMConfiguration, IPAMConfigurationSpec, IPPool } from "../../src/api/v3.ts";

export const NOW = new Date("2026-01-02T03:04:05.000Z");

export function anInstallation(
  ipam?: IpamSettings,
  more: { policy?: ManagementPolicy; status?: Installation["status"]; generation?: number } = {},
): Installation {
  const { policy = "Enforce", status, generation = 1 } = more;
  return {
    apiVersion: "ipam-operator.io/v1alpha1",
    kind: "Installation",
    metadata: { name: "default", generation },
    spec: { managementPolicy: policy, ...(ipam ? { ipam } : {}) },
    ...(status ? { status } : {}),
  };
}

export function aConfiguration(
  spec: IPAMConfigurationSpec,
  metadata: Partial<IPAMConfiguration["metadata"]> = {},
): IPAMConfiguration {
  return {
    apiVersion: "projectcalico.org/v3",
    kind: "IPAMConfiguration",
    metadata: { name: "default", resourceVersion: "7", ...metadata },
    spec,
  };
}

/** A managedFields entry of `manager` for the named fields of the spec. */
export const heldBy = (
  manager: string,
  operation: "Apply" | "Update",
  fields: readonly string[],
  time = "2026-01-02T03:04:00Z",
) => ({
  manager,
  operation,
  time,
  fieldsV1: { "f:spec": Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
});

export const aPool = (name: string, spec: IPPool["spec"]): IPPool => ({
  apiVersion: "projectcalico.org/v3",
  kind: "IPPool",
  metadata: { name },
  spec,
});

export const aNode = (name: string, more: Partial<Surroundings["nodes"][number]> = {}) => ({
  name,
  labels: {},
  windows: false,
  podCapacity: 110,
  ...more,
});

export function theSurroundings(more: Partial<Surroundings> = {}): Surroundings {
  return {
    datastore: { apiGroup: "projectcalico.org/v3", chosenBy: "Discovery" },
    servedFields: undefined,
    servedAttributes: undefined,
    nodes: [],
    pools: [],
    datastoreLocked: false,
    foreignIpam: undefined,
    blocked: undefined,
    ...more,
  };
}
