/**
 * Writes a status onto the Installation as it is by then. Edits of metadata and spec do not stop it: the status carries the
 * generation that it was computed for. A status that another writer stored meanwhile is never overwritten.
 */
import { isDeepStrictEqual } from "node:util";
import { INSTALLATION_KIND, type Installation, type InstallationStatus } from "../../src/api/installation.ts";
import { type Datastore, DatastoreError, isDatastoreError } from "../../src/datastore/datastore.ts";
import { retryLostRaces } from "../../src/ipam/retry.ts";
import { LostRace } from "../../src/operator/controller.ts";
import { foreignConditions, ownConditions } from "./status.ts";

/**
 * @param read what the status was computed from
 * @throws DatastoreError NotFound when that Installation is gone; LostRace when its status is another one by now
 */
export async function writeStatus(
  read: Installation,
  status: InstallationStatus,
  datastore: Datastore,
  signal: AbortSignal,
): Promise<Installation> {
  try {
    return await datastore.updateStatus({ ...read, status }, { signal });
  } catch (error) {
    if (!isDatastoreError(error, "Conflict")) throw error;
  }
  const what = `writing the status of Installation "${read.metadata.name}"`;
  return retryLostRaces(() => writeOntoNewest(read, status, datastore, signal), { what, signal });
}

async function writeOntoNewest(
  read: Installation,
  status: InstallationStatus,
  datastore: Datastore,
  signal: AbortSignal,
): Promise<Installation> {
  const current = sameStatus(read, await datastore.get("Installation", read.metadata.name, { signal }));
  const conditions = [...ownConditions(status), ...foreignConditions(current.status)];
  const onto = { status: current.status };
  return datastore.updateStatus({ ...current, status: { ...status, conditions } }, { signal, onto });
}

function sameStatus(read: Installation, current: Installation): Installation {
  const { name, uid } = read.metadata;
  if (current.metadata.uid !== uid) {
    const message = `Installation "${name}" was deleted and created again`;
    throw new DatastoreError("NotFound", INSTALLATION_KIND, name, message);
  }
  if (isDeepStrictEqual(withoutForeign(current.status), withoutForeign(read.status))) return current;
  throw new LostRace(`another writer changed the status of Installation "${name}"`);
}

const withoutForeign = (status: InstallationStatus | undefined) => ({ ...status, conditions: ownConditions(status) });
