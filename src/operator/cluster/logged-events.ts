/** Events are lines of the log too: it then says by itself what the operator has changed. */
import type { Logger } from "pino";
import { REASONS } from "../../../reconcilers/installation/reasons.ts";
import type { EventRecorder } from "../events.ts";

/** Records with `recorder`, and logs: Warning events as warnings, Normal ones as information. */
export function loggedEvents(recorder: EventRecorder, log: Logger): EventRecorder {
  return {
    event(regarding, type, reason, note, action) {
      const { kind, metadata } = regarding;
      // A reason of the conditions has its line already, the reconciler's own.
      const level = type === "Warning" ? "warn" : "info";
      if (!Object.hasOwn(REASONS, reason)) log[level]({ reason, kind, name: metadata.name }, note);
      recorder.event(regarding, type, reason, note, action);
    },
    flush: async () => recorder.flush?.(),
  };
}
