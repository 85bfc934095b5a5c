/** The commands that mend what is found, each kind once. */
import { resources } from "../api/resources.ts";
import type { IpamKind } from "../api/v3.ts";
import { apiGroups } from "../datastore/flavours.ts";
import type { Mend } from "./finding.ts";

/** Mended by ipamctl, after a second look and with a plan first. */
export const repair: Mend = {
  does: "`ipamctl repair` shows what it would change, asks, and changes it.",
  command: ({ code }) => `ipamctl repair ${code}`,
};

/** Freed by ipamctl's collection, which looks twice and revalidates before it frees. */
export const collect: Mend = {
  does: "`ipamctl gc` frees it after a second look; `--dry-run` tells what it would do, and why.",
  command: () => "ipamctl gc --dry-run",
};

/** Only a person can know what is right. */
export const edit: Mend = {
  does: "Correct the object by hand.",
  command: ({ object }, { snapshot }) => {
    const generations = resources[object.kind as IpamKind];
    const flavour = snapshot.datastore === apiGroups.v1 ? "v1" : "v3";
    const resource = generations?.[flavour];
    if (resource === undefined || snapshot.datastore === "embedded")
      return `correct ${object.kind} "${object.name}" in its manifest`;
    return `kubectl edit ${resource.plural}.${resource.group} ${object.name}`;
  },
};

/** One command, whatever is found. */
export function run(command: string, does: string): Mend {
  return { does, command: () => command };
}
