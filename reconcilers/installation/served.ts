/** Settings that a served CRD has no place for: neither is such a field written, nor would what it asks for be kept. */
import type { Installation, IpamField } from "../../src/api/installation.ts";
import { resources } from "../../src/api/resources.ts";
import { apiGroups } from "../../src/datastore/flavours.ts";
import type { Outcome } from "./reasons.ts";
import type { Surroundings } from "./surroundings.ts";
import { managedFields } from "./values.ts";

/** A field of `spec.ipam` that cannot be in force, and what the CRD of which kind lacks for it. */
export interface Unserved {
  readonly field: IpamField;
  readonly kind: "IPAMConfiguration" | "IPAMBlock";
  readonly lacks: string;
}

interface Need {
  readonly setting: IpamField;
  /** Field of a block's entries. */
  readonly attribute: string;
  /** The values that need it. */
  readonly isNeededBy: (value: unknown) => boolean;
  /** What happens without it. */
  readonly otherwise: string;
  /** What asks for nothing that cannot be stored. */
  readonly without: string;
}

/** What settings need of the blocks. */
const NEEDS: readonly Need[] = [
  {
    setting: "ipCooldownSeconds",
    attribute: "releasedAt",
    isNeededBy: (seconds) => Number(seconds) > 0,
    otherwise: "an address that is released would not be free again",
    without: "ipCooldownSeconds: 0",
  },
  {
    setting: "kubeVirtVMAddressPersistence",
    attribute: "alternateOwnerAttrs",
    isNeededBy: (value) => value === "Enabled",
    otherwise: "the target of a migrating VM would not be known",
    without: "kubeVirtVMAddressPersistence: Disabled",
  },
];

export function unservedFields(
  installation: Installation,
  { servedFields, servedAttributes }: Surroundings,
): readonly Unserved[] {
  const managed = managedFields(installation);
  const dropped = managed
    .filter(([field]) => servedFields && !servedFields.has(field))
    .map(([field]): Unserved => ({ field, kind: "IPAMConfiguration", lacks: field }));
  const useless = managed.flatMap(([field, value]): Unserved[] => {
    const need = NEEDS.find(({ setting, isNeededBy }) => setting === field && isNeededBy(value));
    if (!need || !servedAttributes || servedAttributes.has(need.attribute)) return [];
    return [{ field, kind: "IPAMBlock", lacks: `spec.attributes[].${need.attribute}` }];
  });
  return [...dropped, ...useless.filter(({ field }) => !dropped.some((other) => other.field === field))];
}

export function notServed(unserved: readonly Unserved[], { datastore }: Surroundings): Outcome | undefined {
  if (unserved.length === 0) return undefined;
  const dropped = unserved.filter(({ kind }) => kind === "IPAMConfiguration").map(({ field }) => field);
  const useless = unserved.filter(({ kind }) => kind === "IPAMBlock");
  const messages = [
    ...(dropped.length > 0 ? [droppedMessage(dropped, datastore.apiGroup)] : []),
    ...useless.map((entry) => uselessMessage(entry, datastore.apiGroup)),
  ];
  return { reason: "FieldNotServed", message: messages.join(". ") };
}

function droppedMessage(fields: readonly IpamField[], apiGroup: string): string {
  return (
    `the installed CRD of ${apiGroup} does not know ${fields.join(", ")} and would silently drop it, so it is not ` +
    `written. Upgrade Calico's CRDs, or remove ${fields.map((field) => `spec.ipam.${field}`).join(", ")} from the Installation`
  );
}

function uselessMessage({ field, lacks }: Unserved, apiGroup: string): string {
  const { otherwise, without } = NEEDS.find(({ setting }) => setting === field)!;
  const { plural, group } = resources.IPAMBlock[apiGroup === apiGroups.v1 ? "v1" : "v3"];
  return (
    `the installed CRD ${plural}.${group} does not know ${lacks}, which ${field} needs: without it ${otherwise}, so ${field} is ` +
    `not written. Upgrade Calico's CRDs, or set spec.ipam.${without}`
  );
}
