/** Answers about a pod or a node; exit code 3 where there is a cause. */
import { inventoryOf } from "../../judgement/inventory.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import type { Session } from "../session.ts";
import { UsageError } from "../usage-error.ts";
import { EXIT, type Given } from "../verb.ts";
import { whyOutput } from "./output.ts";
import { type WhyReport, whyNode, whyPod } from "./report.ts";
import { checkNode, podNamed } from "./subject.ts";

interface Asked {
  readonly pod?: string | undefined;
  readonly node?: string | undefined;
  readonly namespace?: string | undefined;
}

export async function run(session: Session, { arguments: [pod], options }: Given): Promise<number> {
  const { node, namespace } = options as Pick<Asked, "node" | "namespace">;
  if (pod !== undefined && node !== undefined)
    throw new UsageError("a pod and --node exclude each other: a pod's node is known, so leave --node out.");
  if (pod === undefined && node === undefined) throw new UsageError("name a pod, or a node with --node NAME.");
  const snapshot = await session.snapshot();
  const report = answer(snapshot, { pod, node, namespace }, session.now());
  const causes = report.causes.map((cause) => ({ ...cause, command: session.told(cause.command) }));
  await session.print(whyOutput({ ...report, causes }, inventoryOf(snapshot)));
  return report.state === "fails" ? EXIT.findings : EXIT.fine;
}

function answer(snapshot: Snapshot, { pod, node, namespace }: Asked, now: Date): WhyReport {
  if (pod !== undefined) return whyPod(snapshot, podNamed(snapshot, pod, namespace), now);
  checkNode(snapshot, node!);
  return whyNode(snapshot, node!, namespace, now);
}
