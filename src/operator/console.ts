/** What the operator says on a terminal when it works on the embedded store: in words, for someone who sees it first. */
import { styleText } from "node:util";
import type { Installation, IpamField } from "../api/installation.ts";
import type { KubeObject } from "../api/meta.ts";
import { escapeLine } from "../escape.ts";
import type { EventRecorder } from "./events.ts";
import type { SyncEvent } from "./manifest-sync.ts";

export interface Console extends EventRecorder {
  /** What became of a file. */
  file(folder: string, event: SyncEvent): void;
  /** The Installation as it is now; says something when its answer changed. */
  installation(object: Installation | undefined): void;
}

export interface ConsoleOptions {
  readonly write: (text: string) => void;
  /** Lines of what to try next; said with the first answer, and once more when an Installation comes after none. */
  readonly nextStep: (installation: Installation | undefined) => readonly string[];
  /** Colours; off where output is no terminal. */
  readonly colour?: boolean;
}

type Style = "green" | "yellow" | "red" | "bold" | "dim";
/** Text, and how it is shown. Styles are the program's own, text may be of a file or an object. */
type Part = string | readonly [Style, string];
type Line = readonly Part[];

export function createConsole({ write, nextStep, colour = false }: ConsoleOptions): Console {
  const paint = (style: Style, text: string) => (colour ? styleText(style, text, { validateStream: false }) : text);
  const shownAs = (part: Part) => (typeof part === "string" ? escapeLine(part) : paint(part[0], escapeLine(part[1])));
  const say = (...lines: Line[]) => write(lines.map((line) => `${line.map(shownAs).join("")}\n`).join(""));
  let shown = "";
  let values: ReadonlyMap<string, string> = new Map();
  let guided = false;
  return {
    file: (folder, event) => say(...fileLines(folder, event)),
    event: (regarding, type, reason, note) => {
      if (type === "Warning") say([["yellow", `Warning: ${note}`], " ", ["dim", `[${reason}, ${nameOf(regarding)}]`]]);
    },
    installation: (object) => {
      const answer = answerOf(object);
      const fields = rowsOf(object);
      const state = JSON.stringify([answer, fields]);
      if (answer.length === 0 || state === shown) return;
      shown = state;
      say(EMPTY, ...answer);
      if (fields.length > 0) say(EMPTY, ...table(fields, values));
      values = new Map(fields.map(({ name, value }) => [name, value]));
      if (!guided && (fields.length > 0 || object === undefined)) say(EMPTY, ...nextStep(object).map((line) => [line]));
      guided ||= fields.length > 0;
    },
  };
}

const EMPTY: Line = [];

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}`;
}

const VERBS = {
  created: "taken in",
  changed: "change taken in",
  mended: "written again, as what was stored could not be read",
  deleted: "gone, so it is deleted here too",
} as const;

function fileLines(folder: string, event: SyncEvent): Line[] {
  if (event.type === "accepted") return [[["green", `${folder}/${event.file} is accepted again.`]]];
  if (event.type === "kept") return [[`${folder}/${event.file}: `, ["yellow", keptLine(event)]]];
  if (event.type !== "refused") {
    const changes = event.type === "changed" && event.changes ? `: ${event.changes}` : "";
    return [[`${folder}/${event.file}: ${event.kind} ${event.name} ${VERBS[event.type]}${changes}.`]];
  }
  const at = (line?: number) => (line === undefined ? "" : `:${line}`);
  const problems = event.problems.map(({ line, message }) => [`  ${folder}/${event.file}${at(line)}  ${message}`]);
  return [[["red", `${folder}/${event.file} is refused; what was there before stays in force:`]], ...problems];
}

function keptLine({ kind, name, addresses }: SyncEvent & { type: "kept" }): string {
  const some = addresses === 1 ? "1 of its addresses is" : `${addresses} of its addresses are`;
  return (
    `${kind} ${name} is in no file any more. ${some} in use, so it is kept, and deleted once none is. ` +
    "New addresses still come from it: to stop that, add it to a file again, with disabled: true."
  );
}

/** The state in a sentence; changes of it are what is worth a person's attention. */
function answerOf(object: Installation | undefined): Line[] {
  if (object === undefined)
    return [["There is no Installation. The stored configuration stays as it is; nothing is managed."]];
  const { status } = object;
  if (status?.observedGeneration !== object.metadata.generation) return [];
  const of = (type: string) => status?.conditions?.find((condition) => condition.type === type);
  const [ready, stalled] = [of("Ready"), of("Stalled")];
  const name = `Installation ${object.metadata.name}`;
  const warnings = (status?.warnings ?? []).map(({ message }): Line => [["yellow", `Warning: ${message}`]]);
  if (stalled?.status === "True")
    return [[["red", `${name} needs you (${stalled.reason}):`], ` ${stalled.message}`], ...warnings];
  // The table that follows shows what "Succeeded" says in words.
  if (ready?.reason === "Succeeded") return [[["green", `${name} is ready: everything is as it says.`]], ...warnings];
  if (ready?.status === "True")
    return [[["green", `${name} is ready (${ready.reason}):`], ` ${ready.message}`], ...warnings];
  return ready === undefined ? [] : [[`${name} is being worked on (${ready.reason}): ${ready.message}`]];
}

const SOURCES = { Installation: "from your Installation", Existing: "found stored", Default: "default" } as const;

interface FieldRow {
  readonly name: IpamField;
  readonly value: string;
  readonly origin: string;
}

/** Under Observe and Paused a value is not the Installation's even where the Installation names the field. */
function rowsOf(object: Installation | undefined): FieldRow[] {
  return (object?.status?.fields ?? []).map(({ name, value, source }) => {
    const named = object?.spec.ipam?.[name];
    const says = String(named) === value ? "the same" : String(named);
    const relation = named === undefined ? ", not managed" : `; your Installation says ${says}`;
    return { name, value, origin: `${SOURCES[source]}${source === "Installation" ? "" : relation}` };
  });
}

/** The configuration in force, a field a line; what changed since it was last shown says what it was. */
function table(fields: readonly FieldRow[], before: ReadonlyMap<string, string>): Line[] {
  const width = Math.max(...fields.map(({ name }) => name.length)) + 2;
  const rows = fields.map(({ name, value, origin }): Line => {
    const old = before.get(name);
    const changed = old !== undefined && old !== value;
    const line = `  ${name.padEnd(width)}${value.padEnd(10)}${origin}`;
    return changed ? [["bold", `${line}  (was ${old})`]] : [line];
  });
  return [["The IPAM configuration is now:"], ...rows];
}
