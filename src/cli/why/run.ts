/** Answers about a pod or a node; exit code 3 where there is a cause. */
import { inventoryOf } from "../../judgement/inventory.ts";
import { quoted } from "../../judgement/shell.ts";
import type { Snapshot } from "../../judgement/snapshot.ts";
import { parseResource, refuseBoth } from "../resource.ts";
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

export async function run(session: Session, { arguments: words, options }: Given): Promise<number> {
  const { namespace, ...flags } = options as Pick<Asked, "node" | "namespace">;
  const named = subjectOf(session, words);
  if (named.node !== undefined) refuseBoth(words, "node", flags.node);
  const { pod, node = flags.node } = named;
  if (pod !== undefined && node !== undefined)
    throw new UsageError("name a pod or a node, not both: the node of a pod is known.");
  if (pod === undefined && node === undefined) throw new UsageError("name a pod, or a node as node/NAME.");
  const snapshot = await session.snapshot();
  const report = answer(snapshot, { pod, node, namespace }, session.now());
  const causes = report.causes.map((cause) => ({ ...cause, command: session.told(cause.command) }));
  await session.print(whyOutput({ ...report, causes }, inventoryOf(snapshot)));
  return report.state === "fails" ? EXIT.findings : EXIT.fine;
}

/** @throws UsageError for a resource that no address is assigned for, or whose addresses `show` lists */
function subjectOf(session: Session, words: readonly string[]): Pick<Asked, "pod" | "node"> {
  if (words.length === 0) return {};
  const { type, name } = parseResource(words);
  if (type === "node") return { node: name };
  if (type === "pod" || type === undefined) return { pod: name };
  const command = session.told(`ipamctl show ${quoted(`${type}/${name}`)}`);
  throw new UsageError(`why answers about pods and nodes. For the addresses of ${type}/${name}, run: ${command}`);
}

function answer(snapshot: Snapshot, { pod, node, namespace }: Asked, now: Date): WhyReport {
  if (pod !== undefined) return whyPod(snapshot, podNamed(snapshot, pod, namespace), now);
  checkNode(snapshot, node!);
  return whyNode(snapshot, node!, namespace, now);
}
