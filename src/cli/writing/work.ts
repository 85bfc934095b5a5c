/** Does the steps of a plan: some side by side, each wholly, none after Ctrl-C. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { isDatastoreError } from "../../datastore/datastore.ts";
import { isIpamError } from "../../ipam/errors.ts";
import { Partly, type Row, rowOf, type Step } from "./plan.ts";

export interface WorkOptions {
  readonly signal: AbortSignal;
  /** Told how many steps are behind us. */
  readonly progress: (behind: number) => void;
}

const SIDE_BY_SIDE = 8;

/** A row per step, in their order. */
export async function work(steps: readonly Step[], { signal, progress }: WorkOptions): Promise<Row[]> {
  const rows = new Map<Step, Row>();
  const lanes = [...Map.groupBy(steps, ({ lane, object }) => lane ?? object).values()];
  let isOver = false;
  const worker = async () => {
    for (let lane = lanes.shift(); lane; lane = lanes.shift()) {
      for (const step of lane) {
        await nextTurn(); // an embedded store never waits, and Ctrl-C would be heard of at the end only
        if ((isOver || signal.aborted) && !step.hasBegun?.()) return;
        const { row, stops } = await done(step);
        isOver ||= stops;
        rows.set(step, row);
        progress(rows.size);
      }
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return steps.map((step) => rows.get(step) ?? rowOf(step, "not reached"));
}

async function done(step: Step): Promise<{ readonly row: Row; readonly stops: boolean }> {
  const isNeeded = step.needed === true;
  try {
    const came = await step.run();
    const row = typeof came === "string" ? rowOf({ ...step, why: came }, "kept") : rowOf({ ...step, ...came }, "done");
    return { row, stops: isNeeded && row.result !== "done" };
  } catch (error) {
    // The next step would fail for the same reason.
    const stops = isNeeded || isDatastoreError(error, "Unauthorized", "Unavailable", "NotServed");
    return {
      row: rowOf({ ...step, ...(error instanceof Partly && error.item), why: errorText(error) }, "failed"),
      stops,
    };
  }
}

/** What went wrong, with what the library knows besides. */
export function errorText(error: unknown): string {
  const details = isIpamError(error) ? error.details : [];
  return [error instanceof Error ? error.message.trim() : String(error), ...details].join("; ");
}
