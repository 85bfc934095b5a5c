/** Tells a person at a terminal what long work is about: one line of standard error, gone when the work is done. */
import { escapeLine } from "../escape.ts";
import type { Sink } from "./session.ts";

export interface Progress {
  readonly report: (what: string) => void;
  readonly end: () => void;
}

/** Nothing is shown before this long. */
const SILENT_MS = 1000;
export const CLEAR_LINE = "\r\u001b[K";

export interface ProgressOptions {
  readonly silentMs?: number;
  /** `reading`, `changing`. */
  readonly doing?: string;
}

export function createProgress(
  stderr: Sink,
  { silentMs = SILENT_MS, doing = "reading" }: ProgressOptions = {},
): Progress {
  if (!stderr.isTTY) return { report: () => {}, end: () => {} };
  let text = "";
  let shown = false;
  const show = () => {
    shown = true;
    stderr.write(`${CLEAR_LINE}${escapeLine(`${doing} ${text} ...`)}`);
  };
  const timer = setTimeout(show, silentMs);
  return {
    report: (what) => {
      text = what;
      if (shown) show();
    },
    end: () => {
      clearTimeout(timer);
      if (shown) stderr.write(CLEAR_LINE);
    },
  };
}
