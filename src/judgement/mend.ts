/** The commands that mend what is found, each kind once. */
import { resources } from "../api/resources.ts";
import type { IpamKind } from "../api/v3.ts";
import { apiGroups } from "../datastore/flavours.ts";
import { type ConfigRuleName, configViolations, IP_COOLDOWN_SECONDS_LIMIT } from "../ipam/config-rules.ts";
import type { Mend } from "./finding.ts";

/** Mended by ipamctl, after a second look and with a plan first. */
export const repair: Mend = {
  does: "`ipamctl repair` shows what it would change, asks, and changes it.",
  command: ({ code }) => `ipamctl repair ${code}`,
};

/** Freed by ipamctl's collection, which looks twice and revalidates before it frees. */
export const collect: Mend = {
  does: "`ipamctl gc` frees it after a second look; `--dry-run` tells what it would do, and why.",
  command: () => "ipamctl gc",
};

/** Changes the fields that break a rule; of several ways the one that keeps what was asked for most clearly. */
export const configure: Mend = {
  does: "`ipamctl configure` changes one field and keeps the others; it refuses what would break a rule.",
  command: (_finding, { config, snapshot }) => {
    const windowsHost = snapshot.nodes?.some(({ windows }) => windows);
    const broken = configViolations(config, { windowsHost }).map(({ rule }) => CONFIGURE[rule]);
    return ["ipamctl configure", ...new Set(broken)].join(" ");
  },
};

const CONFIGURE: Readonly<Record<ConfigRuleName, string>> = {
  AllocatesSomewhere: "--auto-allocate-blocks true",
  CapNeedsStrictAffinity: "--strict-affinity true",
  WindowsNeedsStrictAffinity: "--strict-affinity true",
  MaxBlocksPerHostRange: "--max-blocks-per-host 0",
  IPCooldownSecondsRange: `--ip-cooldown-seconds ${IP_COOLDOWN_SECONDS_LIMIT}`,
  VMAddressPersistenceValue: "--kubevirt-ip-persistence Enabled",
};

/** Somebody has to ask whoever has the address. */
export function ask(does: string): Mend {
  return { does, command: ({ address }) => `ipamctl show --ip ${address}` };
}

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

/** Whoever uses an address that is not his has to go; what is no pod, a person has to look at. */
export const deletePod: Mend = {
  does: "Delete the pod that uses it: its successor gets an address by the book.",
  command: ({ user, address }) => {
    const [, namespace, name] = /^Pod ([^/]+)\/(.+)$/.exec(user ?? "") ?? [];
    return name === undefined ? `ipamctl show --ip ${address}` : `kubectl delete pod -n ${namespace} ${name}`;
  },
};

/** One command, whatever is found. */
export function run(command: string, does: string): Mend {
  return { does, command: () => command };
}
