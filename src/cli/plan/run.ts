/** Plans from nothing, or on the data that the flags name; and where manifests propose something, compares. */
import { kindIn, v3Instead } from "../../api/kind-names.ts";
import type { IpamKind } from "../../api/v3.ts";
import { apiGroups } from "../../datastore/flavours.ts";
import { type Finding, keyOf } from "../../judgement/finding.ts";
import { inventoryOf } from "../../judgement/inventory.ts";
import { judge } from "../../judgement/judge.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { LARGEST_YAML } from "../../kube/yaml.ts";
import {
  type Manifest,
  type ManifestProblem,
  readManifests,
  refusedIn,
  type StoredOf,
} from "../../operator/manifests.ts";
import { readText } from "../files.ts";
import type { Session } from "../session.ts";
import { poolRows } from "../show/pools.ts";
import { notFree } from "../show/shares.ts";
import { EXIT, type Given } from "../verb.ts";
import { type PlanOptions, planOptions } from "./options.ts";
import { type Plan, planOutput } from "./output.ts";
import { proposed } from "./proposal.ts";
import { fromData, fromNothing, type Scenario } from "./scenario.ts";
import { type Outcome, simulate } from "./simulate.ts";

export async function run(session: Session, given: Given): Promise<number> {
  const options = planOptions(given);
  const plan = options.cidrs.length > 0 ? await planFromNothing(session, options) : await planOnData(session, options);
  await session.print(planOutput(plan));
  const remark = notFree(poolRows(inventoryOf(plan.planned.after)), "not free then");
  if (remark !== undefined) session.say(remark);
  return plan.planned.fullNodes < plan.planned.nodes || plan.brings.length > 0 ? EXIT.findings : EXIT.fine;
}

async function planFromNothing(session: Session, options: PlanOptions): Promise<Plan> {
  const scenario = fromNothing(options, session.now());
  const planned = await simulated(session, scenario);
  return { planned, changes: [], notes: [], brings: [], ends: [], untilFull: scenario.untilFull };
}

async function planOnData(session: Session, options: PlanOptions): Promise<Plan> {
  const files = await read(options.files);
  const before = await session.snapshot();
  const manifests = files.flatMap((file) => file.manifests);
  checkServed(manifests, before);
  for (const { file, manifests } of files) expectNone(file, refusedIn(manifests, storedIn(before)));
  const proposal = proposed(before, manifests);
  const scenario = fromData(proposal.snapshot, options);
  const planned = await simulated(session, scenario);
  const { changes, notes } = proposal;
  const known = { planned, changes, notes, untilFull: false };
  if (proposal.changes.length === 0 && !hasSettings(options)) return { ...known, brings: [], ends: [] };
  const { nodes = before.nodes?.length, podsPerNode, restarts } = options;
  const asItIs = { ...(nodes !== undefined && { nodes }), ...(podsPerNode !== undefined && { podsPerNode }), restarts };
  const now = await simulated(session, fromData(before, { cidrs: [], files: [], ...asItIs }));
  return { ...known, now, ...compared(before, { ...scenario.snapshot, nodes: before.nodes ?? [] }, session.now()) };
}

const hasSettings = ({ strictAffinity, maxBlocksPerHost, cooldownSeconds }: PlanOptions) =>
  [strictAffinity, maxBlocksPerHost, cooldownSeconds].some((setting) => setting !== undefined);

interface ManifestFile {
  readonly file: string;
  readonly manifests: readonly Manifest[];
}

async function read(files: readonly string[]): Promise<ManifestFile[]> {
  const read: ManifestFile[] = [];
  for (const file of files) {
    const { manifests, problems } = readManifests(await readText(file, LARGEST_YAML));
    expectNone(file, problems);
    read.push({ file, manifests });
  }
  return read;
}

/** @throws Error that names file and line of everything that is wrong */
function expectNone(file: string, problems: readonly ManifestProblem[]): void {
  const lines = problems.map(({ line, message }) => `${file}${line ? `:${line}` : ""}: ${message}`);
  if (lines.length > 0) throw new Error(lines.join("; "));
}

/** The stored objects, as an API server compares a manifest with them. */
function storedIn({ pools, reservations, configurations }: Snapshot): StoredOf {
  const objects = [...pools, ...reservations, ...configurations];
  return ({ kind, metadata: { name } }) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name) as ReturnType<StoredOf>;
}

/** @throws Error where the cluster has no such kinds; an embedded store reads them as their v3 form */
function checkServed(manifests: readonly Manifest[], { datastore }: Snapshot): void {
  if (datastore !== apiGroups.v3) return;
  const problems = manifests
    .filter(({ isV1 }) => isV1)
    .map(({ object: { kind } }) => {
      return `${kindIn(apiGroups.v1, kind)} (${apiGroups.v1}) is not served where the data is: ${v3Instead(kind as IpamKind)}`;
    });
  if (problems.length > 0) throw new Error([...new Set(problems)].join("; "));
}

async function simulated(session: Session, scenario: Scenario): Promise<Outcome> {
  const progress = await session.progress();
  return simulate(scenario, { ...session, progress: progress.report }).finally(progress.end);
}

/** By the same judgement as `check`. */
function compared(before: Snapshot, after: Snapshot, now: Date): { brings: Finding[]; ends: Finding[] } {
  const [old, then] = [
    judge(before, { now }),
    judge({ ...after, ...(before.nodes === undefined && { nodes: undefined }) }, { now }),
  ];
  const without = (findings: readonly Finding[], others: readonly Finding[]) => {
    const keys = new Set(others.map(keyOf));
    return findings.filter((finding) => !keys.has(keyOf(finding)));
  };
  return { brings: without(then, old), ends: without(old, then) };
}
