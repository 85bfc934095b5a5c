/** The five fields as values that can be compared, shown and listed. */
import { type Installation, IPAM_FIELDS, type IpamField, type IpamSettings } from "../../src/api/installation.ts";
import type { IPAMConfigurationSpec } from "../../src/api/v3.ts";
import { effectiveConfig } from "../../src/ipam/config.ts";

export type FieldValue = string | number | boolean;
/** A managed field whose stored value is not the wanted one. */
export interface Difference {
  readonly field: IpamField;
  readonly found: FieldValue;
  readonly wanted: FieldValue;
}

/** The settings the Installation manages; an absent field is not managed. */
export function managedFields(installation: Installation): readonly (readonly [IpamField, FieldValue])[] {
  const settings: IpamSettings = installation.spec.ipam ?? {};
  return IPAM_FIELDS.flatMap((field) => {
    const wanted = settings[field];
    return wanted === undefined ? [] : [[field, wanted] as const];
  });
}

/** Managed fields whose value in force is another one than wanted. */
export function differences(installation: Installation, stored: IPAMConfigurationSpec | undefined): Difference[] {
  const inForce = effectiveConfig(stored);
  return managedFields(installation)
    .map(([field, wanted]) => ({ field, found: inForce[field], wanted }))
    .filter(({ found, wanted }) => found !== wanted);
}

/** `maxBlocksPerHost from 0 to 8, ipCooldownSeconds from 0 to 60` */
export const describeDifferences = (list: readonly Difference[]): string =>
  list.map(({ field, found, wanted }) => `${field} from ${found} to ${wanted}`).join(", ");

/** `the configuration with maxBlocksPerHost: 8`: where none is stored, there is nothing to change from. */
export const describeCreation = (settings: IpamSettings): string =>
  `the configuration with ${Object.entries(settings)
    .map(([field, wanted]) => `${field}: ${wanted}`)
    .join(", ")}`;

/** The differences as what setIPAMConfig takes. */
export const changesOf = (list: readonly Difference[]): IpamSettings =>
  Object.fromEntries(list.map(({ field, wanted }) => [field, wanted]));
