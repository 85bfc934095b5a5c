/** What a verb is: how it is called, in data, and the code that does it, which is loaded when it is called. */
import { FORMATS, formatProblem } from "./output-format.ts";
import type { Session } from "./session.ts";

export interface FlagRow {
  /** As commander takes it: `--ip <ADDRESS>`, `-o, --output <FORMAT>`. */
  readonly flags: string;
  readonly help: string;
  readonly default?: string;
  /** Values it may have, for completion and errors. */
  readonly choices?: readonly string[];
  /** Words the error for a value that is not one of `choices`; undefined for a valid one. */
  readonly problem?: (value: string) => string | undefined;
  /** Another name, or one of calicoctl's: taken, and not shown. */
  readonly hidden?: true;
  /** Heading in the help. Default: Options. */
  readonly group?: string;
}

export interface ArgumentRow {
  /** As commander takes it: `<code>`, `[pod]`. */
  readonly name: string;
  readonly help: string;
  readonly choices?: readonly string[];
}

export interface Example {
  readonly command: string;
  readonly does: string;
}

export interface Verb {
  readonly name: string;
  /** One line, for the list of verbs. */
  readonly summary: string;
  readonly description?: string;
  readonly arguments?: readonly ArgumentRow[];
  readonly flags: readonly FlagRow[];
  readonly examples: readonly Example[];
  load(): Promise<VerbCode>;
}

export interface VerbCode {
  /** @returns the exit code; 0 where it is undefined */
  run(session: Session, given: Given): Promise<number | undefined>;
}

/** What the command line says, by the flags' long names in camel case. */
export interface Given {
  readonly arguments: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** Exit codes; the same for every verb. */
export const EXIT = { fine: 0, error: 1, usage: 2, findings: 3, interrupted: 130 } as const;

const WHERE = "Where to look:";
const FORM = "Form of the answer:";

/** Where the data is. */
export const PLACE_FLAGS: readonly FlagRow[] = [
  { group: WHERE, flags: "--kubeconfig <FILE>", help: "A cluster. Default: KUBECONFIG, else ~/.kube/config." },
  { group: WHERE, flags: "--context <NAME>", help: "Context of the kubeconfig. Default: its current one." },
  {
    group: WHERE,
    flags: "--datastore <WHERE>",
    default: "auto",
    help: "auto, v1 or v3 (API group), or embedded:FILE.",
  },
];

/** For verbs that only read. */
export const READ_FLAGS: readonly FlagRow[] = [
  ...PLACE_FLAGS,
  { group: WHERE, flags: "--bundle <FILE>", help: "A bundle, and no cluster." },
];

/** What every verb that changes something has `--force` for. */
export const FORCE = "Write also where the cluster's IPAM is not Calico's.";

/** For verbs that change something. */
export const WRITE_FLAGS: readonly FlagRow[] = [
  { flags: "--dry-run", help: "Show what would be done, and do nothing." },
  { flags: "-y, --yes", help: "Do not ask." },
  { flags: "--force", help: FORCE },
  ...PLACE_FLAGS,
  { flags: "--bundle <FILE>", help: "Refused: a bundle is a copy.", hidden: true },
];

/** In which form the answer is printed. */
export const OUTPUT_FLAGS: readonly FlagRow[] = [
  {
    group: FORM,
    flags: "-o, --output <FORMAT>",
    default: "table",
    choices: FORMATS,
    problem: formatProblem,
    help: "How to print it.",
  },
  {
    group: FORM,
    flags: "--color <WHEN>",
    default: "auto",
    choices: ["auto", "always", "never"],
    help: "Colour severities: auto does on a terminal, unless NO_COLOR is set.",
  },
  { group: FORM, flags: "--no-headers", help: "Tables without their first line." },
];
