/** Tells people what became of each role and binding: in the log, and as events on the Installation, each state once. */
import type { Logger } from "pino";
import type { Installation } from "../../src/api/installation.ts";
import { isKubeError, type KubeError } from "../../src/kube/types.ts";
import type { EventRecorder } from "../../src/operator/events.ts";
import type { Action, Slot } from "./decide.ts";

interface Of {
  readonly kind: Slot["kind"];
  readonly name: string;
}
interface Change {
  readonly action: Exclude<Action["do"], "leave" | "wait">;
  readonly because: string;
}
/** What became of one object in one pass. */
export type Outcome = Of &
  (
    | { readonly is: "right" }
    | ({ readonly is: "mended" | "different" } & Change)
    | { readonly is: "left" | "held"; readonly because: string }
    | { readonly is: "failed"; readonly error: unknown }
  );

export type Reporter = (outcome: Outcome, installation: Installation | undefined, log: Logger) => void;

interface Message {
  readonly type: "Normal" | "Warning";
  readonly reason: "RbacRestored" | "RbacRemoved" | "RbacDiffers" | "RbacNotOurs" | "RbacHeld" | "RbacForbidden";
  readonly note: string;
  readonly action: "Restore" | "Remove" | "Observe";
}

/** Remembers what was told of each object, so that a state that lasts is told once. */
export function createReporter(events: EventRecorder): Reporter {
  const told = new Map<string, string>();
  return (outcome, installation, log) => {
    // An interruption says nothing of the object: what was told of it stays told. The manager logs and retries.
    if (outcome.is === "failed" && !isKubeError(outcome.error, "Forbidden")) return;
    const key = `${outcome.kind} ${outcome.name}`;
    const message = messageOf(outcome);
    const text = message && `${message.reason} ${message.note} ${installation?.metadata.uid}`;
    if (text !== undefined && text !== told.get(key)) tell(message!, installation, log, events);
    // What was mended may be broken in the same way again, and is then told again.
    if (text === undefined || outcome.is === "mended") told.delete(key);
    else told.set(key, text);
  };
}

function tell(
  { type, reason, note, action }: Message,
  installation: Installation | undefined,
  log: Logger,
  events: EventRecorder,
): void {
  log[type === "Warning" ? "warn" : "info"]({ reason }, note);
  if (installation) events.event(installation, type, reason, note, action);
}

/** Nothing to tell of what is right. */
function messageOf(outcome: Outcome): Message | undefined {
  const object = `${outcome.kind} ${outcome.name}`;
  switch (outcome.is) {
    case "right":
      return undefined;
    case "left":
      return { type: "Warning", reason: "RbacNotOurs", note: `${object} ${outcome.because}`, action: "Restore" };
    case "held":
      return { type: "Warning", reason: "RbacHeld", note: `${object} ${outcome.because}`, action: "Remove" };
    case "different":
      return {
        type: "Normal",
        reason: "RbacDiffers",
        note: `${sentence(object, outcome, "would be")} Nothing is written while managementPolicy is Observe.`,
        action: "Observe",
      };
    case "mended":
      return outcome.action === "delete"
        ? { type: "Normal", reason: "RbacRemoved", note: sentence(object, outcome, "was"), action: "Remove" }
        : { type: "Normal", reason: "RbacRestored", note: sentence(object, outcome, "was"), action: "Restore" };
    case "failed":
      return forbidden(object, (outcome.error as KubeError).message);
  }
}

const DONE = { create: "created", update: "restored", replace: "recreated", delete: "deleted" } as const;

function sentence(object: string, { action, because }: Change, be: "was" | "would be"): string {
  if (action === "delete") return `${object} ${be} deleted: ${because}.`;
  return `${object} ${because}; it ${be} ${DONE[action]}.`;
}

/** The API server's own words name the verb and the resource, or the rule that the operator does not hold itself. */
function forbidden(object: string, words: string): Message {
  const note = `${object} cannot be reconciled: a permission is missing. Apply rbac/operator.yaml of this version. The API server says: ${words}`;
  return { type: "Warning", reason: "RbacForbidden", note: note.slice(0, 1000), action: "Restore" };
}
