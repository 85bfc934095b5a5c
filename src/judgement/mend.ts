/** The commands that mend what is found, each kind once. */

import {
  type ConfigRuleName,
  configViolations,
  IP_COOLDOWN_SECONDS_LIMIT,
  type IPAMConfig,
} from "../api/config-rules.ts";
import { resourceNameIn } from "../api/kind-names.ts";
import type { Evidence, Mend } from "./finding.ts";
import { quoted } from "./shell.ts";
import type { Snapshot } from "./snapshot.ts";

/** Mended by ipamctl, after a second look and with a plan first. */
export const repair: Mend = {
  does: "`ipamctl repair` shows what it would change, asks, and changes it.",
  command: ({ code }) => `ipamctl repair ${code}`,
};

/** Removed in steps, because pods may run in it. */
export const drain: Mend = {
  does:
    "`ipamctl repair` removes it in steps: it releases its affinity, names the pods to delete so that they get addresses of " +
    "other blocks, and deletes it once it is empty. Do not edit the block.",
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
  command: (_finding, { config, snapshot }) => configureCommand(config, snapshot),
};

/** Changes all of them at once: a configuration that still breaks a rule is refused. */
export function configureCommand(config: IPAMConfig, { nodes }: Snapshot): string {
  const windowsHost = nodes?.some(({ windows }) => windows);
  const broken = configViolations(config, { windowsHost }).map(({ rule }) => CONFIGURE[rule]);
  return ["ipamctl configure", ...new Set(broken)].join(" ");
}

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
  return { does, command: ({ address }) => showCommand(address) };
}

const showCommand = (address = "") => `ipamctl show --ip ${quoted(address)}`;

/** Only a person can know what is right. */
export const edit: Mend = {
  does: "Correct the object by hand.",
  command: ({ object }, { snapshot }) => editCommand(object, snapshot),
};

export function editCommand({ kind, name }: { readonly kind: string; readonly name: string }, snapshot: Snapshot) {
  const resource = kubectlName(kind, snapshot);
  return resource === undefined
    ? `correct ${kind} "${name}" in its manifest`
    : `kubectl edit ${resource} ${quoted(name)}`;
}

/** Lets addresses be drawn from a pool again. */
export function enableCommand({ name }: { readonly name: string }, snapshot: Snapshot): string {
  const resource = kubectlName("IPPool", snapshot);
  return resource === undefined
    ? `set disabled: false in the manifest of IPPool "${name}"`
    : `kubectl patch ${resource} ${quoted(name)} --type=merge -p '{"spec":{"disabled":false}}'`;
}

/** The kind as kubectl takes it; undefined where it is not kubectl's. */
export function kubectlName(kind: string, { datastore }: Snapshot): string | undefined {
  return datastore === "embedded" ? undefined : resourceNameIn(datastore, kind);
}

/** Whoever uses an address that is not his has to go; what is no pod, a person has to look at. */
export const deletePod: Mend = {
  does: "Delete the pod that uses it: its successor gets an address that is allocated.",
  command: (finding) => deleteUser(finding),
};

export function deleteUser({ user = "", address }: Pick<Evidence, "user" | "address">): string {
  const [, namespace, name] = /^Pod ([^/]+)\/(.+)$/.exec(user) ?? [];
  return name === undefined ? showCommand(address) : `kubectl delete pod -n ${quoted(namespace!)} ${quoted(name)}`;
}

/** One command, whatever is found. */
export function run(command: string, does: string): Mend {
  return { does, command: () => command };
}
