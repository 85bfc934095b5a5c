/** What a verb is run with: streams, clock, signal, and the data that the flags point at. */
import { escapeLine, escapePainted, escapeText } from "../escape.ts";
import type { Snapshot, Unread } from "../judgement/snapshot.ts";
import type { Output } from "./output.ts";
import type { Format } from "./output-format.ts";
import type { PlaceOptions } from "./place.ts";
import type { Progress } from "./progress.ts";
import { type ColorChoice, PAINT_CODES, plain, type Screen, screenOf, type Terminal, wrapped } from "./screen.ts";
import type { takeSnapshot } from "./snapshot/take.ts";
import { toldText } from "./told.ts";
import type { Workplace } from "./writing/workplace.ts";

/** Where text goes. */
export interface Sink extends Terminal {
  write(text: string): unknown;
}

/** A sink of lines: what a terminal would act on is escaped, wherever it comes from. */
export function escaping(sink: Sink): Sink {
  return { write: (text) => sink.write(escapeText(text)), isTTY: sink.isTTY, columns: sink.columns };
}

/** The process around a run; tests give their own. */
export interface Io {
  /** Data. */
  readonly stdout: Sink;
  /** Talk. */
  readonly stderr: Sink;
  readonly env: NodeJS.ProcessEnv;
  readonly now: () => Date;
  /** Aborts when the user asks to stop. */
  readonly signal: AbortSignal;
  /** Asks the person at the terminal, and gives the line typed; absent where there is no terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** How a place is looked at. Default: as it is stored. */
  readonly take?: typeof takeSnapshot | undefined;
}

export interface Session extends Io {
  /** Name the program was called by: `ipamctl` or `kubectl ipam`. */
  readonly program: string;
  /** What data is shown on. */
  readonly screen: Screen;
  /** What standard error is shown on. */
  readonly talk: Screen;
  /** Looks at the data. Of parts that could not be read those are named that the answer needs: `needed`, or all. */
  snapshot(needed?: readonly Unread["part"][]): Promise<Snapshot>;
  /** Opens the data to be changed; the caller closes it. @throws UsageError for a bundle */
  workplace(): Promise<Workplace>;
  /** Shows how far long work is. */
  progress(doing?: string): Promise<Progress>;
  /** Prints an answer in the form that was asked for. */
  print(output: Output): Promise<void>;
  /**
   * A command, or a sentence that ends in one, as it can be copied: by the name of this program, on the data that it
   * looks at.
   */
  told(text: string): string;
  /** Tells the user something on standard error. */
  say(text: string): void;
  /** The same, once for each text: what is so at every look. */
  warn(text: string): void;
}

/** Options that a session is made from, as the flags give them. */
export interface SessionOptions extends PlaceOptions {
  readonly output?: Format;
  readonly headers?: boolean;
  readonly color?: ColorChoice;
}

export function createSession(io: Io, program: string, options: SessionOptions): Session {
  const [stdout, stderr] = [escaping(io.stdout), escaping(io.stderr)];
  const screen = screenOf(io.stdout, io.env, options.color);
  const talk = screenOf(io.stderr, io.env, options.color);
  const say = (text: string): void => {
    stderr.write(`${wrapped(escapeLine(text), talk.columns).join("\n")}\n`);
  };
  const warned = new Set<string>();
  const warn = (text: string) => {
    if (!warned.has(text)) say(text);
    warned.add(text);
  };
  const progress: Session["progress"] = async (doing) => {
    const { createProgress } = await import("./progress.ts");
    return createProgress(io.stderr, { ...(doing && { doing }) });
  };
  return {
    ...io,
    stdout,
    stderr,
    program,
    screen,
    talk,
    progress,
    say,
    warn,
    told: (text) => toldText(text, program, options),
    snapshot: async (needed) => {
      const [{ choosePlace }, { takeSnapshot }, { malformedText, readable }, { ordered }] = await Promise.all([
        import("./place.ts"),
        import("./snapshot/take.ts"),
        import("../judgement/readable.ts"),
        import("../judgement/ordered.ts"),
      ]);
      const place = choosePlace(options, { env: io.env });
      const { report, end } = await progress();
      const take = io.take ?? takeSnapshot;
      const snapshot = ordered(readable(await take(place, { ...io, progress: report }).finally(end)));
      if (snapshot.foreignIpam !== undefined) {
        const { foreignWarning } = await import("../api/calico-installation.ts");
        warn(foreignWarning(snapshot.foreignIpam));
      }
      for (const { part, reason } of snapshot.unread) {
        if (needed?.includes(part) ?? true) warn(`not looked at: ${part} (${reason})`);
      }
      for (const malformed of snapshot.malformed) say(malformedText(snapshot, malformed));
      return snapshot;
    },
    workplace: async () => {
      const [{ choosePlace }, { takeSnapshot }, { openWorkplace }] = await Promise.all([
        import("./place.ts"),
        import("./snapshot/take.ts"),
        import("./writing/workplace.ts"),
      ]);
      const place = choosePlace(options, { env: io.env });
      const retake = () => (io.take ?? takeSnapshot)(place, io);
      return openWorkplace(place, { ...io, say: warn, retake });
    },
    print: async (output) => {
      const { isTable, NOTHING, printed } = await import("./output.ts");
      const { output: format = "table", headers = true } = options;
      const text = await printed(output, { format, headers, ...screen });
      io.stdout.write(escapePainted(text, screen.paint === plain ? [] : PAINT_CODES));
      if (output.isList && text === "" && isTable(format)) say(NOTHING);
    },
  };
}
