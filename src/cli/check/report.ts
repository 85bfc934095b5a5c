/** The report that `calicoctl ipam check -o` writes, and that its `release --from-report` and ours read. */
import { apiGroups } from "../../datastore/flavours.ts";
import { type Allocation, allocationsOf } from "../../judgement/allocations.ts";
import type { Finding } from "../../judgement/finding.ts";
import { usageOf } from "../../judgement/in-use.ts";
import { inventoryOf } from "../../judgement/inventory.ts";
import { borrowedFrom } from "../../judgement/owners.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { podName, type User } from "../../judgement/users.ts";
import { VERSION } from "../../version.ts";
import { writeWhole } from "../write-file.ts";
import { calicoUid } from "./calico-uid.ts";
import type { Judged } from "./run.ts";

/** One address, with the names and the leaving out of calicoctl. */
export interface ReportedAllocation {
  readonly ip: string;
  readonly handle?: string;
  readonly sequenceNumber?: bigint;
  readonly pod?: string;
  readonly namespace?: string;
  readonly node?: string;
  readonly type?: string;
  /** Attribute `timestamp`. */
  readonly creationTimestamp?: string;
  readonly inUse: boolean;
  readonly borrowed?: true;
  readonly coolingDown?: true;
  /** `Node(n1)`, `Workload(ns/name)`, the name of a Service. */
  readonly owners: readonly string[] | null;
}

export interface ReportedHandle {
  readonly ID: string;
  readonly UID: string | null;
  readonly Revision: string;
}

/** Writes the file whole or not at all. */
export function writeReport(path: string, judged: Judged, signal: AbortSignal): Promise<void> {
  return writeWhole(path, reportText(judged), signal);
}

/** Address by address: a large cluster's report is more text than one string may hold. */
export function* reportText({ snapshot, findings }: Judged): Generator<string> {
  const { clusterInformation: cluster } = snapshot;
  const head = {
    version: `v${VERSION}`,
    clusterGUID: cluster?.guid ?? "",
    datastoreLocked: cluster?.ready === false,
    clusterInformationRevision: cluster?.resourceVersion ?? "",
    clusterType: cluster?.type ?? "",
  };
  yield json(head).replace(/\n\}$/, ',\n  "allocations": {');
  let separator = "\n";
  for (const entry of reportedAllocations(snapshot, findings)) {
    yield `${separator}    ${JSON.stringify(entry.ip)}: ${indented([entry], 4)}`;
    separator = ",\n";
  }
  const handles = leakedHandles(snapshot, findings);
  yield `\n  }${handles.length > 0 ? `,\n  "leakedHandles": ${indented(handles, 2)}` : ""}\n}\n`;
}

/** Every allocated address. In use is what was not called leaked: what nobody can judge is never released. */
export function* reportedAllocations(snapshot: Snapshot, findings: readonly Finding[]): Generator<ReportedAllocation> {
  const leaked = new Set(
    findings.flatMap(({ code, object, address }) => (code === "LeakedAddress" ? [`${object.name} ${address}`] : [])),
  );
  const usages = usageOf(snapshot);
  for (const block of inventoryOf(snapshot).blocks) {
    for (const allocation of allocationsOf(block)) {
      const users = usages.usersOf(allocation.address).map(ownerText);
      const isLeaked = leaked.has(`${block.metadata.name} ${allocation.address}`);
      yield reported(allocation, users.length > 0 ? users : null, isLeaked);
    }
  }
}

function reported(allocation: Allocation, owners: readonly string[] | null, leaked: boolean): ReportedAllocation {
  const { address, block, handle, owner, node, releasedAt, sequenceNumber } = allocation;
  const { pod, namespace, type, timestamp } = owner;
  const borrowed = borrowedFrom(owner, block) !== undefined;
  const cooling = releasedAt !== undefined;
  return {
    ip: address,
    ...(handle && { handle }),
    ...(sequenceNumber > 0n && { sequenceNumber }),
    ...(pod && { pod }),
    ...(namespace && { namespace }),
    ...(node && { node }),
    ...(type && { type }),
    ...(timestamp && { creationTimestamp: timestamp }),
    inUse: !leaked && !cooling,
    ...(borrowed && { borrowed }),
    ...(cooling && { coolingDown: true }),
    owners,
  };
}

function ownerText(user: User): string {
  if (user.kind === "Pod") return `Workload(${podName(user.of)})`;
  return user.kind === "Node" ? `Node(${user.of.name})` : user.of.name;
}

function leakedHandles({ handles, datastore }: Snapshot, findings: readonly Finding[]): ReportedHandle[] {
  const orphans = new Set(findings.flatMap(({ code, object }) => (code === "OrphanHandle" ? [object.name] : [])));
  const isV1 = datastore === apiGroups.v1;
  return handles
    .filter(({ metadata }) => orphans.has(metadata.name))
    .map(({ metadata: { uid, resourceVersion = "" }, spec }) => ({
      ID: spec.handleID,
      UID: uid === undefined ? null : isV1 ? calicoUid(uid) : uid,
      Revision: resourceVersion,
    }));
}

// TypeScript's es2024 library does not know it.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Numbers of 64 bits as numbers: that is how calicoctl reads them. */
function json(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === "bigint" ? rawJSON(part.toString()) : part), 2);
}

function indented(value: unknown, by: number): string {
  return json(value).replaceAll("\n", `\n${" ".repeat(by)}`);
}
