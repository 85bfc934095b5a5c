/** The API group that holds the data, and what is stored in it. */
import type { Logger } from "pino";
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

/** Reads pools as they are stored. One that cannot be read is named in the log, once, and hides no other. */
export function poolReader(log: Logger): (generation: Generation, stored: KubeObject) => IPPool | undefined {
  const named = new WeakSet<KubeObject>();
  return (generation, stored) => {
    try {
      return codecOf(generation, "IPPool").read(stored);
    } catch (error) {
      if (!named.has(stored))
        log.warn({ error }, `IPPool "${stored.metadata.name}" cannot be read, so its size is not checked`);
      named.add(stored);
      return undefined;
    }
  };
}
