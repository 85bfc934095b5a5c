/** Events as the reconcilers see them: one sentence to a person about one object. */
import type { KubeObject } from "../api/meta.ts";

export interface EventRecorder {
  /**
   * Records one event; never throws, never waits. Repeats of the same event are aggregated.
   * @param regarding the object it is about
   * @param reason one CamelCase word
   * @param note at most 1 kB, says what happened and what to do
   * @param action what was being done, CamelCase
   */
  event(regarding: KubeObject, type: "Normal" | "Warning", reason: string, note: string, action: string): void;
  /** Resolves when everything recorded so far is written or dropped; absent where `event` has written it already. */
  flush?(): Promise<void>;
}
