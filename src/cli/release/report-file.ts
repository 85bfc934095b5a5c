/** Reads what `check --report` and `calicoctl ipam check -o` write, and says whether it is of this cluster, and new enough. */
import { z } from "zod";
import { parseJson } from "../../kube/json.ts";
import { VERSION } from "../../version.ts";
import { readText } from "../files.ts";
import type { Lock } from "../writing/lock.ts";

/** A small number of 64 bits is parsed as a plain one. */
const int64 = z.union([z.bigint(), z.int().transform(BigInt)]);

const allocation = z.object({
  ip: z.string(),
  handle: z.string().optional(),
  sequenceNumber: int64.optional(),
  inUse: z.boolean(),
  coolingDown: z.boolean().optional(),
});

const report = z.object({
  version: z.string(),
  clusterGUID: z.string(),
  clusterInformationRevision: z.string(),
  allocations: z.record(z.string(), z.array(allocation)),
  leakedHandles: z.array(z.object({ ID: z.string(), UID: z.string().nullable(), Revision: z.string() })).optional(),
});

export type ReportedLeak = z.infer<typeof allocation>;
export type ReportedHandle = NonNullable<z.infer<typeof report>["leakedHandles"]>[number];
export type Report = z.infer<typeof report> & { readonly path: string };

/** @throws Error that says what is wrong with the file */
export async function readReport(path: string): Promise<Report> {
  return { path, ...parsed(path, await readText(path)) };
}

function parsed(path: string, text: string): z.infer<typeof report> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new Error(`${path} is no JSON: it is no report of "check --report", or not a whole one`);
  }
  const result = report.safeParse(value);
  if (result.success) return result.data;
  const [{ path: field, message }] = result.error.issues as [z.core.$ZodIssue];
  throw new Error(`${path} is no report of "check --report": ${field.join(".") || "it"}: ${message}`);
}

/**
 * Refuses reports of another cluster, and where none was made since the lock. A report of another version is told apart
 * only by `force`. @returns what was let pass
 */
export function checkReports(reports: readonly Report[], lock: Lock, force: boolean): string[] {
  const { guid, resourceVersion } = "information" in lock ? lock.information : { guid: "", resourceVersion: "" };
  for (const { path, clusterGUID } of reports) {
    if (clusterGUID !== guid) throw new Error(`${path} is of the cluster ${clusterGUID}, and this one is ${guid}`);
  }
  if (!reports.some(({ clusterInformationRevision }) => clusterInformationRevision === resourceVersion)) {
    throw new Error(
      "none of the reports was made since the datastore was last locked or unlocked: make one now, with " +
        "`ipamctl check --report FILE`, and give it together with the older ones",
    );
  }
  const others = reports.filter(({ version }) => version !== `v${VERSION}`);
  const words = others.map(({ path, version }) => `${path} was written by version ${version}, and this is v${VERSION}`);
  if (others.length > 0 && !force) throw new Error(`${words.join("; ")}; --force takes it all the same`);
  return words;
}

/** What is leaked in every report, as the same allocation in each. */
export function leakedInAll(reports: readonly Report[]): ReportedLeak[] {
  const [first, ...others] = reports.map(leaksOf) as [Map<string, ReportedLeak>, ...Map<string, ReportedLeak>[]];
  const isSame = (leak: ReportedLeak, other: ReportedLeak | undefined) =>
    other !== undefined && other.handle === leak.handle && other.sequenceNumber === leak.sequenceNumber;
  return [...first.values()].filter((leak) => others.every((leaks) => isSame(leak, leaks.get(leak.ip))));
}

function leaksOf({ allocations }: Report): Map<string, ReportedLeak> {
  const leaks = Object.values(allocations).flatMap((all) => all.filter((each) => !each.inUse && !each.coolingDown));
  return new Map(leaks.map((leak) => [leak.ip, leak]));
}

/** Handles that every report calls leaked, unchanged. */
export function handlesInAll(reports: readonly Report[]): ReportedHandle[] {
  const [first = [], ...others] = reports.map(({ leakedHandles = [] }) => leakedHandles);
  const keys = others.map((handles) => new Set(handles.map(keyOf)));
  return first.filter((handle) => keys.every((known) => known.has(keyOf(handle))));
}

const keyOf = ({ ID, Revision }: ReportedHandle) => `${Revision} ${ID}`;
