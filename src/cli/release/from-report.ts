/** Plans the release of what reports call leaked, and what is leaked still. */

import { handleName } from "../../api/names.ts";
import { plural } from "../../api/plural.ts";
import type { IPAMHandle } from "../../api/v3.ts";
import { apiGroups } from "../../datastore/flavours.ts";
import { type Allocation, allocationsOf } from "../../judgement/allocations.ts";
import type { Finding } from "../../judgement/finding.ts";
import { inventoryOf } from "../../judgement/inventory.ts";
import { judge } from "../../judgement/judge.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { canonicalAddress } from "../../net/address.ts";
import { calicoUid } from "../check/calico-uid.ts";
import type { Session } from "../session.ts";
import { deleteAsSeen } from "../writing/as-seen.ts";
import type { Kept, Plan, Step } from "../writing/plan.ts";
import type { Workplace } from "../writing/workplace.ts";
import { releaseSteps, unlessInUse } from "./batch.ts";
import {
  checkReports,
  handlesInAll,
  leakedInAll,
  type ReportedHandle,
  type ReportedLeak,
  readReport,
} from "./report-file.ts";
import { unitsOf } from "./unit.ts";

interface FromReports {
  readonly paths: readonly string[];
  readonly force: boolean;
}

export async function planFromReports(session: Session, workplace: Workplace, from: FromReports): Promise<Plan> {
  const reports = await Promise.all(from.paths.map(readReport));
  const lock = await workplace.lock();
  const letPass = checkReports(reports, lock, from.force);
  if (lock.state === "open" || lock.state === "absent")
    letPass.push("the datastore is not locked: others may allocate");
  const snapshot = await session.snapshot();
  const found = judge(snapshot, { now: session.now() });
  const addresses = addressPlan(workplace, leakedInAll(reports), snapshot, found);
  const handles = handlePlan(workplace, handlesInAll(reports), snapshot, found);
  return {
    kind: "Release",
    title: `Release ${plural(addresses.count, "address")}, and delete ${plural(handles.steps.length, "handle")}`,
    steps: [...addresses.steps, ...handles.steps],
    kept: [...addresses.kept, ...handles.kept],
    notes: letPass.map((text) => `warning: ${text}`),
    ...(lock.state === "locked" && {
      afterwards: "the datastore may be unlocked now: calicoctl datastore migrate unlock",
    }),
  };
}

/** Only what the same judgement as `check`'s calls leaked now. */
function addressPlan(
  workplace: Workplace,
  reported: readonly ReportedLeak[],
  snapshot: Snapshot,
  found: readonly Finding[],
) {
  const byAddress = new Map(found.flatMap((finding) => (finding.address ? [[finding.address, finding] as const] : [])));
  const leaked = new Set(found.flatMap(({ code, address }) => (code === "LeakedAddress" ? [address] : [])));
  const wanted = new Map(reported.map((leak) => [canonicalAddress(leak.ip) ?? leak.ip, leak]));
  const now = allocated(snapshot, wanted);
  const goes: Allocation[] = [];
  const kept: Kept[] = [];
  for (const [address, leak] of wanted) {
    const allocation = now.get(address);
    const why =
      notAsReported(allocation, leak) ?? (leaked.has(address) ? undefined : stillWanted(byAddress.get(address)));
    if (why === undefined) goes.push(allocation!);
    else kept.push({ action: "keep", object: address, why, facts: { addresses: [address] } });
  }
  const steps = releaseSteps(
    { workplace, seen: snapshot, keptBecause: unlessInUse },
    unitsOf(goes).map((unit) => ({ unit, why: messageOf(byAddress, unit.allocations[0]!) })),
  );
  return { steps, kept, count: goes.length };
}

const messageOf = (findings: ReadonlyMap<string, Finding>, { address }: Allocation) =>
  findings.get(address)?.message ?? "leaked";

function allocated(snapshot: Snapshot, wanted: ReadonlyMap<string, unknown>): Map<string, Allocation> {
  const found = inventoryOf(snapshot).blocks.flatMap((block) =>
    Array.from(allocationsOf(block)).filter(({ address, releasedAt }) => wanted.has(address) && !releasedAt),
  );
  return new Map(found.map((allocation) => [allocation.address, allocation]));
}

function notAsReported(allocation: Allocation | undefined, leak: ReportedLeak): string | undefined {
  if (allocation === undefined) return "was cleaned up since the report";
  const isSame = allocation.handle === leak.handle && allocation.sequenceNumber === (leak.sequenceNumber ?? 0n);
  return isSame ? undefined : "was allocated anew since the report";
}

const stillWanted = (finding: Finding | undefined) => finding?.message ?? "is in use now";

function handlePlan(
  { datastore }: Workplace,
  reported: readonly ReportedHandle[],
  snapshot: Snapshot,
  found: readonly Finding[],
) {
  const orphans = new Map(
    found.flatMap(({ code, object, message }) => (code === "OrphanHandle" ? [[object.name, message]] : [])),
  );
  const handles = new Map(snapshot.handles.map((handle) => [handle.metadata.name, handle]));
  const isV1 = snapshot.datastore === apiGroups.v1;
  const steps: Step[] = [];
  const kept: Kept[] = [];
  for (const leak of reported) {
    const name = handleName(leak.ID);
    const [handle, message] = [handles.get(name), orphans.get(name)];
    const object = `IPAMHandle/${name}`;
    const why = handle === undefined ? "was cleaned up since the report" : notTheSame(handle, leak, isV1);
    if (why !== undefined || message === undefined) {
      kept.push({ action: "keep", object, why: why ?? "counts addresses that it holds" });
    } else {
      steps.push({ action: "delete", object, why: message, run: () => deleteAsSeen(datastore, "IPAMHandle", handle!) });
    }
  }
  return { steps, kept };
}

function notTheSame({ metadata }: IPAMHandle, { UID, Revision }: ReportedHandle, isV1: boolean): string | undefined {
  const { uid, resourceVersion } = metadata;
  if (UID !== null && uid !== undefined && UID !== (isV1 ? calicoUid(uid) : uid))
    return "was made anew since the report";
  return resourceVersion === Revision ? undefined : "was changed since the report";
}
