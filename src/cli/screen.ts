/** What text is shown on: a terminal of so many columns, in colour or not, or a pipe. */
export const COLORS = ["auto", "always", "never"] as const;
export type ColorChoice = (typeof COLORS)[number];

/** Where text is written, as far as its form depends on it. */
export interface Terminal {
  readonly isTTY?: boolean | undefined;
  /** Undefined where it is no terminal, or does not know. */
  readonly columns?: number | undefined;
}

export interface Screen {
  /** Of the terminal; undefined where text goes to a file or another program, which gets all of it. */
  readonly columns: number | undefined;
  readonly paint: Painter;
}

/** What a word is coloured by. The colour is never alone: the word says the same. */
export type Tone = "critical" | "warning" | "info" | "good";

/** Colours text that is already escaped. */
export type Painter = (text: string, tone: Tone | undefined) => string;

const RESET = "\u001b[0m";
const CODES: Readonly<Record<Tone, string>> = {
  critical: "\u001b[1;31m",
  warning: "\u001b[33m",
  info: "\u001b[36m",
  good: "\u001b[32m",
};
/** Every control sequence that a painter writes. */
export const PAINT_CODES: readonly string[] = [RESET, ...Object.values(CODES)];

export const plain: Painter = (text) => text;
const colored: Painter = (text, tone) => (tone && text !== "" ? `${CODES[tone]}${text}${RESET}` : text);

export function screenOf(sink: Terminal, env: NodeJS.ProcessEnv, color: ColorChoice = "auto"): Screen {
  return {
    columns: sink.isTTY ? columnsOf(sink, env) : undefined,
    paint: hasColor(sink, env, color) ? colored : plain,
  };
}

/** `COLUMNS` as the user set it is a wish; the terminal itself knows best otherwise. */
function columnsOf({ columns }: Terminal, env: NodeJS.ProcessEnv): number | undefined {
  const wished = /^[1-9]\d{0,4}$/.test(env["COLUMNS"] ?? "") ? Number(env["COLUMNS"]) : undefined;
  return wished ?? (columns || undefined);
}

/** https://no-color.org: set, and not empty. */
function hasColor({ isTTY }: Terminal, env: NodeJS.ProcessEnv, color: ColorChoice): boolean {
  if (color !== "auto") return color === "always";
  return isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

/** A sentence that ends in a command of this program or of another. */
const COMMAND = /^(.*: )((?:ipamctl|kubectl|calicoctl) [^;]*)$/;

/**
 * Lines of at most so many columns, broken between words. A word that is longer stays whole on a line of its own, and so
 * does a command at the end: it can then be copied.
 */
export function wrapped(text: string, columns: number | undefined, indent = ""): string[] {
  if (columns === undefined || text.length <= columns) return [text];
  const [, before, command] = COMMAND.exec(text) ?? [];
  if (before === undefined || command === undefined) return folded(text, columns, indent);
  return [...folded(before.trimEnd(), columns, indent), `${/^ */.exec(text)![0]}${indent}${command}`];
}

/** The same, for a column of a table: a command is broken as everything else. */
export function folded(text: string, columns: number, indent = ""): string[] {
  const lead = /^ */.exec(text)![0];
  const lines: string[] = [];
  let line = "";
  for (const word of text.slice(lead.length).split(" ")) {
    const start = lines.length === 0 ? lead : lead + indent;
    if (line !== "" && `${line} ${word}`.length > columns) {
      lines.push(line);
      line = `${lead}${indent}${word}`;
    } else line = line === "" ? `${start}${word}` : `${line} ${word}`;
  }
  return [...lines, line];
}
