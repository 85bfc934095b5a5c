/** The recorded scenarios of the reference (test/golden/scenario-*.json): their steps, and what was stored after each. */
import { readdirSync, readFileSync } from "node:fs";
import { fromV1, fromV3 } from "../../src/api/conversion.ts";
import { resources } from "../../src/api/resources.ts";
import type { IPPool, IPReservation, IpamKind, V3 } from "../../src/api/v3.ts";
import type { ListedObjects, NodeLabels, PoolReport } from "../invariants/check.ts";
import { pool, reservation } from "../support/ipam-data.ts";

export type Flavour = "v1" | "v3";

/** Rows as the API server gave them, with 64-bit numbers as decimal text. */
interface Wire {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Step {
  readonly op: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly ok: boolean;
  readonly error?: { readonly type: string; readonly message: string; readonly chain?: readonly string[] };
  readonly result?: unknown;
  readonly note?: string;
  readonly objects?: Readonly<Record<string, readonly Wire[]>>;
}

const FOLDER = new URL("../golden/", import.meta.url);

/** Names of the scenarios, each of which is recorded in both flavours. */
export const scenarios: readonly string[] = readdirSync(FOLDER).flatMap(
  (file) => /^scenario-(.*)\.v3\.json$/.exec(file)?.[1] ?? [],
);

export function stepsOf(scenario: string, flavour: Flavour): readonly Step[] {
  return JSON.parse(readFileSync(new URL(`scenario-${scenario}.${flavour}.json`, FOLDER), "utf8")).steps;
}

/** Rows of one kind after a step, as the product reads them. */
export function storedRows<K extends IpamKind>(step: Step, kind: K, flavour: Flavour): V3<K>[] {
  const rows = step.objects?.[resources[kind][flavour].plural] ?? [];
  const read = flavour === "v1" ? fromV1<K> : fromV3<K>;
  return rows.map((wire) => read(kind, withBigints(wire)));
}

function withBigints({ spec, ...rest }: Wire): Wire {
  const { sequenceNumber, sequenceNumberForAllocation: perOrdinal } = spec;
  if (sequenceNumber === undefined) return { ...rest, spec };
  const numbers = Object.entries(perOrdinal ?? {}).map(([ordinal, number]) => [ordinal, BigInt(number)]);
  const bigints = {
    sequenceNumber: BigInt(sequenceNumber as string),
    sequenceNumberForAllocation: Object.fromEntries(numbers),
  };
  return { ...rest, spec: { ...spec, ...bigints } };
}

/** What the scenario's author had set up before a step. */
export interface Surroundings {
  readonly pools: readonly IPPool[];
  readonly reservations: readonly IPReservation[];
  readonly nodes: readonly NodeLabels[];
}

/** A step with everything that stood when it was done; `utilization` where the step asked for it. */
export interface Moment extends ListedObjects {
  readonly step: Step;
  readonly index: number;
}

/** Each step after which the objects were recorded. */
export function moments(scenario: string, flavour: Flavour): Moment[] {
  const steps = stepsOf(scenario, flavour);
  return steps.flatMap((step, index) => {
    if (!step.objects) return [];
    const { pools, reservations, nodes } = surroundings(steps.slice(0, index + 1));
    const rows = {
      blocks: storedRows(step, "IPAMBlock", flavour),
      affinities: storedRows(step, "BlockAffinity", flavour),
      handles: storedRows(step, "IPAMHandle", flavour),
      configurations: storedRows(step, "IPAMConfiguration", flavour),
    };
    const utilization = step.op === "GetUtilization" ? (step.result as PoolReport[]) : [];
    return [{ step, index, ...rows, pools, reservations, nodes, utilization }];
  });
}

/** The last form of each pool, reservation and node; what the API server refused was never there. */
function surroundings(steps: readonly Step[]): Surroundings {
  const made = (op: string) =>
    new Map(steps.filter((step) => step.op === op && step.ok).map(({ args }) => [args["name"] as string, args]));
  return {
    pools: [...made("EnsureIPPool").values()].map(poolOf),
    reservations: [...made("EnsureIPReservation").values()].map(reservationOf),
    nodes: [...made("EnsureNode").keys()].map((name) => ({ name })),
  };
}

export function poolOf(args: Step["args"]): IPPool {
  const { name, cidr, ...spec } = args as { name: string; cidr: string };
  return pool(name, cidr, spec);
}

export function reservationOf(args: Step["args"]): IPReservation {
  return reservation(args["name"] as string, ...(args["cidrs"] as string[]));
}
