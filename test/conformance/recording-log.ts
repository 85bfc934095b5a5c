/** A recorded scenario as a history: each step a call, and what it changed as one write per object. */
import { isDeepStrictEqual } from "node:util";
import type { IpamKind, V3 } from "../../src/api/v3.ts";
import type { Call, LogEntry, Outcome } from "../invariants/history.ts";
import { type Flavour, poolOf, reservationOf, type Step, stepsOf, storedRows } from "./recording.ts";

const RECORDED_KINDS = ["IPAMConfiguration", "BlockAffinity", "IPAMBlock", "IPAMHandle"] as const;

/** When a step was done is not recorded: every write is dated `at`. Ends where the recording leaves out what was stored. */
export function logOf(scenario: string, flavour: Flavour, at: Date): LogEntry[] {
  const known = new Map<string, V3<IpamKind>>();
  const steps = stepsOf(scenario, flavour);
  const gap = steps.findIndex(({ op, objects }) => !objects && !op.startsWith("Ensure"));
  return steps
    .slice(0, gap < 0 ? steps.length : gap)
    .flatMap((step, operation): LogEntry[] => [
      { type: "begin", operation, call: callOf(step) },
      ...changes(step, flavour, known).map((change) => ({ type: "version" as const, at, operation, ...change })),
      { type: "end", operation, outcome: outcomeOf(step) },
    ]);
}

interface Change {
  readonly kind: IpamKind;
  readonly name: string;
  readonly object?: V3<IpamKind>;
}

/** What differs from what is `known`, which is brought up to date. */
function changes(step: Step, flavour: Flavour, known: Map<string, V3<IpamKind>>): Change[] {
  const rows = step.objects ? RECORDED_KINDS.flatMap((kind) => storedRows<IpamKind>(step, kind, flavour)) : setUp(step);
  const now = new Map(rows.map((row) => [`${row.kind}/${row.metadata.name}`, row]));
  const written = [...now].filter(([key, row]) => !isDeepStrictEqual(known.get(key), row)).map(([, row]) => row);
  const isRecorded = ({ kind }: V3<IpamKind>) => RECORDED_KINDS.some((recorded) => recorded === kind);
  const removed = step.objects ? [...known].filter(([key, row]) => isRecorded(row) && !now.has(key)) : [];
  // The order within a step is not recorded. A block goes before the row that owns it.
  removed.sort(([, a], [, b]) => Number(a.kind === "BlockAffinity") - Number(b.kind === "BlockAffinity"));
  for (const [key] of removed) known.delete(key);
  for (const [key, row] of now) known.set(key, row);
  return [
    ...written.map((object) => ({ kind: object.kind, name: object.metadata.name, object })),
    ...removed.map(([, { kind, metadata }]) => ({ kind, name: metadata.name })),
  ];
}

function setUp({ op, args, ok }: Step): V3<IpamKind>[] {
  if (!ok) return [];
  if (op === "EnsureIPPool") return [poolOf(args)];
  return op === "EnsureIPReservation" ? [reservationOf(args)] : [];
}

/** The arguments under the names of the library's interface. */
export function callOf({ op, args }: Step): Call {
  const given: Record<string, unknown> = {
    method: op[0]!.toLowerCase() + op.slice(1),
    hostname: args["host"],
    intendedUse: args["use"],
    handleID: args["handle"],
    attrs: args["attrs"],
    maxAllocToHandlePerIPVersion: args["maxAlloc"],
    releases: (args["releases"] as { address: string; seq?: string }[] | undefined)?.map(({ address, seq }) => ({
      address,
      ...(seq === undefined ? {} : { sequenceNumber: BigInt(seq) }),
    })),
    ipCooldownSeconds: (args["config"] as { ipCooldownSeconds?: number } | undefined)?.ipCooldownSeconds,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as Call;
}

/** assignIP returns nothing: what it was asked for is what it gave. */
export function outcomeOf({ op, args, ok, result }: Step): Outcome {
  if (op === "AssignIP" && ok) return { ok, ips: [args["ip"] as string] };
  if (op === "AutoAssign") {
    const { v4, v6 } = result as Record<"v4" | "v6", { ips: string[] } | null>;
    return { ok, ips: [v4, v6].flatMap((assignments) => assignments?.ips ?? []) };
  }
  if (op === "ReleaseIPs") return { ok, unallocated: (result as { unallocated: string[] }).unallocated ?? [] };
  return { ok };
}
