/** The configuration in force, and where each value of it comes from. Pure. */

import { configViolations, DEFAULT_MAX_BLOCKS_PER_HOST } from "../../api/config-rules.ts";
import { IPAM_FIELDS, type IpamField, SINGLETON_NAME } from "../../api/installation.ts";
import type { Inventory } from "../../judgement/inventory.ts";
import { type Output, tableOf } from "../output.ts";
import type { Column } from "../table.ts";

export interface ConfigurationValue {
  readonly value: boolean | number | string;
  /** `default`: nothing is stored. */
  readonly source: "stored" | "default";
}

export interface ConfigurationReport {
  readonly fields: Readonly<Record<IpamField, ConfigurationValue>>;
  /** Blocks a node may own: maxBlocksPerHost, or what stands for 0. */
  readonly effectiveMaxBlocksPerHost: number;
  /** Rules that it breaks, a sentence each: nothing is allocated then. */
  readonly problems: readonly string[];
}

export function configurationReport({ snapshot, config, cap }: Inventory): ConfigurationReport {
  const stored = snapshot.configurations.find(({ metadata }) => metadata.name === SINGLETON_NAME)?.spec;
  const fields = IPAM_FIELDS.map((field) => {
    const source = stored?.[field] === undefined ? "default" : "stored";
    return [field, { value: config[field], source }] as const;
  });
  return {
    fields: Object.fromEntries(fields) as ConfigurationReport["fields"],
    effectiveMaxBlocksPerHost: cap,
    problems: configViolations(config).map(({ message }) => message),
  };
}

type Line = readonly [field: string, ConfigurationValue];
const COLUMNS: readonly Column<Line>[] = [
  { header: "PROPERTY", value: ([field]) => field },
  { header: "VALUE", value: ([field, { value }]) => `${value}${meaning(field, value)}` },
  { header: "SOURCE", value: ([, { source }]) => source },
];

const meaning = (field: string, value: unknown) =>
  field === "maxBlocksPerHost" && value === 0 ? ` (${DEFAULT_MAX_BLOCKS_PER_HOST})` : "";

export function configurationOutput(report: ConfigurationReport): Output {
  const lines = Object.entries(report.fields);
  const names = lines.map(([field, { value }]) => `${field}=${value}`);
  return { kind: "Configuration", value: { ...report }, names, text: tableOf(lines, COLUMNS) };
}
