/** What the configuration is made of now: the stored object, and the Installation that may keep fields of it. */
import { type Installation, IPAM_FIELDS, type IpamField, SINGLETON_NAME } from "../../api/installation.ts";
import type { IPAMConfiguration } from "../../api/v3.ts";
import { type Datastore, isDatastoreError, type Kind, type Stored } from "../../datastore/datastore.ts";

export interface StoredSettings {
  readonly configuration: IPAMConfiguration | undefined;
  readonly installation: Installation | undefined;
}

export async function storedSettings(datastore: Datastore): Promise<StoredSettings> {
  return {
    configuration: await singleton(datastore, "IPAMConfiguration"),
    installation: await singleton(datastore, "Installation"),
  };
}

/** Undefined where there is none, or no such kind is installed. */
async function singleton<K extends Kind>(datastore: Datastore, kind: K): Promise<Stored<K> | undefined> {
  try {
    return await datastore.get(kind, SINGLETON_NAME, { fresh: true });
  } catch (error) {
    if (isDatastoreError(error, "NotFound") || (kind === "Installation" && isDatastoreError(error, "NotServed")))
      return undefined;
    throw error;
  }
}

/** Fields that the operator puts back when they are changed. */
export function keptFields({ installation }: StoredSettings): IpamField[] {
  if (installation?.spec.managementPolicy !== "Enforce") return [];
  return IPAM_FIELDS.filter((field) => installation.spec.ipam?.[field] !== undefined);
}

/** Written by the operator into a store whose Installation comes from a file. */
const MANIFEST_FILE = "ipam-operator.io/manifest-file";

/** The file that the Installation is read from, and would be put back from. */
export function manifestOf({ metadata }: Installation): string | undefined {
  return metadata.annotations?.[MANIFEST_FILE];
}
