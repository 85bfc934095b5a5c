/** What `plan` is asked, from its flags. */
import { IP_COOLDOWN_SECONDS_LIMIT, MAX_BLOCKS_PER_HOST_LIMIT } from "../../api/config-limits.ts";
import { UsageError } from "../usage-error.ts";
import type { Given } from "../verb.ts";

export interface PlanOptions {
  /** Pools to plan for from nothing; empty: the data that the flags name. */
  readonly cidrs: readonly string[];
  readonly blockSize?: number;
  /** Manifests of what is proposed. */
  readonly files: readonly string[];
  readonly maxBlocksPerHost?: number;
  readonly strictAffinity?: boolean;
  readonly cooldownSeconds?: number;
  /** Undefined: as many as the pools carry, or those that there are. */
  readonly nodes?: number;
  readonly podsPerNode?: number;
  /** Pods that each node replaces in a minute. */
  readonly restarts: number;
}

/** @throws UsageError where a flag cannot mean anything, or flags exclude each other */
export function planOptions({ options }: Given): PlanOptions {
  const list = (value: unknown) => (Array.isArray(value) ? (value as string[]) : []);
  const number = (flag: string, most: number) => numberOf(flag, options[camelCase(flag)], most);
  const [cidrs, files] = [list(options["cidr"]), list(options["filename"])];
  const asked = {
    blockSize: number("--block-size", 128),
    maxBlocksPerHost: number("--max-blocks-per-host", MAX_BLOCKS_PER_HOST_LIMIT),
    cooldownSeconds: number("--cooldown", IP_COOLDOWN_SECONDS_LIMIT),
    nodes: number("--nodes", 20_000),
    podsPerNode: number("--pods-per-node", 4096),
    strictAffinity: booleanOf("--strict-affinity", options["strictAffinity"]),
  };
  if (cidrs.length > 0 && (files.length > 0 || options["bundle"] !== undefined)) {
    throw new UsageError("--cidr plans from nothing: leave out --filename and --bundle.");
  }
  if (cidrs.length === 0 && asked.blockSize !== undefined) {
    throw new UsageError("--block-size is about --cidr; a pool of the data has its own, and keeps it.");
  }
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  return { cidrs, files, restarts: number("--restarts", 100_000) ?? 0, ...given };
}

const camelCase = (flag: string) => flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());

function numberOf(flag: string, text: unknown, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d+$/.test(String(text)) && number <= most) return number;
  throw new UsageError(`${flag} '${text}' is no whole number from 0 to ${most}.`);
}

function booleanOf(flag: string, text: unknown): boolean | undefined {
  if (text === undefined) return undefined;
  if (text === true || text === "true") return true;
  if (text === "false") return false;
  throw new UsageError(`${flag} '${text}' is neither true nor false.`);
}
