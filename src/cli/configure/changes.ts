/** The fields that the flags change. Whether a value is allowed is the rules' to say, all of them at once. */
import type { ConfigChanges } from "../../ipam/config.ts";
import { UsageError } from "../usage-error.ts";

export interface ConfigureOptions {
  readonly strictAffinity?: string;
  readonly strictaffinity?: string;
  readonly autoAllocateBlocks?: string;
  readonly maxBlocksPerHost?: string;
  readonly ipCooldownSeconds?: string;
  readonly kubevirtIpPersistence?: "Enabled" | "Disabled";
}

/** As Go reads them, and with it calicoctl. */
const WORDS: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(["1", "t", "T", "TRUE", "true", "True"].map((word) => [word, true])),
  ...Object.fromEntries(["0", "f", "F", "FALSE", "false", "False"].map((word) => [word, false])),
};

/** @throws UsageError where a value cannot be read, or none is given */
export function changesOf(options: ConfigureOptions): ConfigChanges {
  const { strictaffinity, strictAffinity = strictaffinity } = options;
  const given = {
    strictAffinity: switchOf("--strict-affinity", strictAffinity),
    autoAllocateBlocks: switchOf("--auto-allocate-blocks", options.autoAllocateBlocks),
    maxBlocksPerHost: numberOf("--max-blocks-per-host", options.maxBlocksPerHost),
    ipCooldownSeconds: numberOf("--ip-cooldown-seconds", options.ipCooldownSeconds),
    kubeVirtVMAddressPersistence: options.kubevirtIpPersistence,
  };
  const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (Object.keys(changes).length > 0) return changes;
  throw new UsageError(
    "say what to change, such as --strict-affinity true; `ipamctl show --configuration` shows what is.",
  );
}

function switchOf(flag: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined;
  const value = Object.hasOwn(WORDS, text) ? WORDS[text] : undefined;
  if (value === undefined) throw new UsageError(`${flag} '${text}' is neither true nor false.`);
  return value;
}

function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^-?\d{1,15}$/.test(text)) throw new UsageError(`${flag} '${text}' is no whole number.`);
  return Number(text);
}
