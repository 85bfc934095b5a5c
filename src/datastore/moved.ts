/** What a datastore says when its kinds are no longer served: where the data is then, and what to do. */
import type { KubeClient } from "../kube/types.ts";
import { type ApiGroupChoice, chooseApiGroup } from "./api-group.ts";
import { DatastoreError, isDatastoreError } from "./datastore.ts";
import { apiGroups, type Flavour } from "./flavours.ts";

const TIMEOUT_MS = 5000;

/** The same error where it is another one, or where the other group is not served or cannot be looked at. */
export async function withMove(error: unknown, flavour: Flavour, client: KubeClient): Promise<unknown> {
  if (!isDatastoreError(error, "NotServed")) return error;
  const choice = await chooseApiGroup(client, { timeoutMs: TIMEOUT_MS }).catch(() => undefined);
  if (choice === undefined || choice.flavour === flavour) return error;
  const { code, kind, object } = error;
  return new DatastoreError(code, kind, object, moveText(kind, flavour, choice), { cause: error });
}

/** Whether an error says that the data is in the other group. */
export const isMoved = (error: DatastoreError): boolean => isDatastoreError(error.cause, "NotServed");

function moveText(kind: string, flavour: Flavour, { apiGroup, chosenBy }: ApiGroupChoice): string {
  return (
    `${kind} (${apiGroups[flavour]}) is not served by the cluster; ${apiGroup} is in use (${chosenBy}). ` +
    `Open the datastore again. If the group was set by hand (apiGroup, --datastore or CALICO_API_GROUP), remove that first`
  );
}
