/** The API group that holds the data, and what is stored in it. */
import type { KubeObject } from "../../api/meta.ts";
import type { IPPool } from "../../api/v3.ts";
import { chooseApiGroup } from "../../datastore/api-group.ts";
import { codecOf } from "../../datastore/flavours.ts";
import type { KubeClient } from "../../kube/types.ts";
import type { DatastoreChoice } from "../options.ts";
import type { Generation, GroupChoice } from "./group-watch.ts";

/** By the flag, the environment as Calico's own programs read it, a finished migration, or what is served. */
export async function chooseGroup(
  client: KubeClient,
  flag: DatastoreChoice,
  signal: AbortSignal,
): Promise<GroupChoice> {
  const asked = typeof flag === "string" ? flag : "auto";
  const { flavour, by, chosenBy } = await chooseApiGroup(client, { flag: asked, env: process.env, signal });
  return { generation: flavour, by, chosenBy };
}

/** A pool as it is stored; one that cannot be read gives no warnings, and hides no other. */
export function readPool(generation: Generation, stored: KubeObject): IPPool | undefined {
  try {
    return codecOf(generation, "IPPool").read(stored);
  } catch {
    return undefined;
  }
}
