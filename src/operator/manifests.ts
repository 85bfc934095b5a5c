/** YAML text to objects of the embedded store: what an API server's admission would refuse is refused here, with its line. */
import { isScalar, LineCounter, type ParsedNode, parseAllDocuments, visit, type YAMLError } from "yaml";
import { refusals } from "../api/admission/admission.ts";
import { faults, unreadable } from "../api/admission/checks.ts";
import type { KeyProblem } from "../api/admission/metadata.ts";
import { withoutNullFields } from "../api/admission/schemas.ts";
import type { Stored } from "../datastore/datastore.ts";
import { toStore } from "./manifest-form.ts";
import { asKept, kindOf, type ManifestKind, unknownKind } from "./manifest-kinds.ts";
import { explained } from "./manifest-words.ts";

export interface Manifest {
  readonly object: Stored<ManifestKind>;
  readonly line: number;
  /** Written in the form of `crd.projectcalico.org/v1`. */
  readonly isV1: boolean;
  /** The line of a field; of what holds it where the field itself is missing. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/** Something wrong in a file, for the person who wrote it. */
export interface ManifestProblem {
  /** Absent: the file as a whole. */
  readonly line?: number;
  readonly message: string;
}

export interface ParsedManifests {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly ManifestProblem[];
}

type ParsedDocument = ReturnType<typeof parseAllDocuments>[number];

/** One document of a file, with the way back from a field to its line. */
interface Source {
  readonly value: unknown;
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/**
 * Reads every document of one file, and judges its objects as an API server would where these are stored. A file with a
 * problem should be left out as a whole. Throws nothing.
 */
export function parseManifests(text: string, storedOf: StoredOf = () => undefined): ParsedManifests {
  const { manifests, problems } = readManifests(text);
  const judged = manifests.map((manifest) => ({ manifest, refused: refusedIn([manifest], storedOf) }));
  return {
    manifests: judged.flatMap(({ manifest, refused }) => (refused.length === 0 ? [manifest] : [])),
    problems: [...problems, ...judged.flatMap(({ refused }) => refused)],
  };
}

/** The same without judging the objects by what is stored: that changes, and the file does not. Throws nothing. */
export function readManifests(text: string): ParsedManifests {
  const lines = new LineCounter();
  return withoutThrowing(1, () => {
    const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
    return joined(documents.map((document) => parseDocument(document, lines)));
  });
}

function parseDocument(document: ParsedDocument, lines: LineCounter): ParsedManifests {
  const [error] = document.errors; // What follows the first one is often only its consequence.
  if (error !== undefined) return { manifests: [], problems: [syntaxProblem(error, document, lines)] };
  const octals = octalProblems(document, lines);
  if (octals.length > 0) return { manifests: [], problems: octals };
  const lineOf = (path: readonly PropertyKey[]) => lineIn(document, path, lines);
  return withoutThrowing(lineOf([]), () => readDocument({ value: document.toJS(), lineOf }));
}

/** YAML 1.2 reads 010 as ten, kubectl reads it as eight: the same file must not mean two things. */
function octalProblems(document: ParsedDocument, lines: LineCounter): ManifestProblem[] {
  const problems: ManifestProblem[] = [];
  visit(document, {
    Scalar: (_, { source = "", value, range }) => {
      if (typeof value !== "number" || !/^[-+]?0\d/.test(source)) return;
      const message = `found ${source}, which kubectl reads as an octal number; write it without the leading 0`;
      problems.push({ line: lines.linePos(range?.[0] ?? 0).line, message });
    },
  });
  return problems;
}

/** An alias without its anchor, an alias bomb or a nesting too deep shows only as an exception. */
function withoutThrowing(line: number, read: () => ParsedManifests): ParsedManifests {
  try {
    return read();
  } catch (error) {
    return { manifests: [], problems: [{ line, message: `not YAML that can be read: ${inWords(error as Error)}` }] };
  }
}

function joined(results: readonly ParsedManifests[]): ParsedManifests {
  return {
    manifests: results.flatMap(({ manifests }) => manifests),
    problems: results.flatMap(({ problems }) => problems),
  };
}

function syntaxProblem(error: YAMLError, document: ParsedDocument, lines: LineCounter): ManifestProblem {
  const at = error.code === "MISSING_CHAR" ? beginOfOpenText(document, error.pos[0]) : error.pos[0];
  return { line: lines.linePos(at).line, message: `not YAML: ${inWords(error)}` };
}

function inWords({ message }: Error): string {
  if (message.includes("call stack")) return "nested too deeply";
  return message.replace(/closing (["'])quote/, "closing quote $1");
}

/** A missing quote is noticed where the text ends, but is to be mended where it begins. */
function beginOfOpenText(document: ParsedDocument, end: number): number {
  let begin = end;
  visit(document, {
    Scalar: (_, { range, type }) => {
      if (type?.startsWith("QUOTE") && range && range[0] <= end && end <= range[2]) begin = range[0];
    },
  });
  return begin;
}

/** The line of a field; of what holds it where the field itself is missing. */
function lineIn(document: ParsedDocument, path: readonly PropertyKey[], lines: LineCounter) {
  for (let length = path.length; length > 0; length--) {
    const parent = document.getIn(path.slice(0, length - 1), true) as { items?: unknown } | undefined;
    const pair = Array.isArray(parent?.items)
      ? parent.items.find((item) => keyOf(item) === path[length - 1])
      : undefined;
    const offset = (pair as { key?: ParsedNode } | undefined)?.key?.range[0];
    if (offset !== undefined) return lines.linePos(offset).line;
  }
  return lines.linePos((document.contents as ParsedNode | null)?.range[0] ?? 0).line;
}

function keyOf(item: unknown): unknown {
  const { key } = (item ?? {}) as { key?: unknown };
  return isScalar(key) ? key.value : undefined;
}

function readDocument({ value, lineOf }: Source): ParsedManifests {
  if (value === null || value === undefined) return { manifests: [], problems: [] };
  const known = kindOf(value);
  if (known === undefined) return refused(lineOf(["kind"]), unknownKind(value));
  const { kind, isV1 } = known;
  const written = { kind, object: value, flavour: isV1 ? "v1" : "v3" } as const;
  const unread = unreadable(written);
  // What is written for v1 is read as its v3 form, for which it must have v1's shape.
  const found = unread.length > 0 || !isV1 ? unread : faults(written).filter(({ blocks }) => blocks);
  if (found.length > 0) return { manifests: [], problems: problemsIn(kind, found, lineOf) };
  const kept = asKept(kind, isV1, withoutNullFields(kind, value as object));
  if (typeof kept === "string") return refused(lineOf([]), kept);
  const object = cleaned(kept as Stored<ManifestKind>);
  return { manifests: [{ object, line: lineOf(["kind"]), lineOf, isV1 }], problems: [] };
}

const refused = (line: number, message: string): ParsedManifests => ({ manifests: [], problems: [{ line, message }] });

/** What an API server would refuse of a file, object by object, where these objects are stored. */
export function refusedIn(manifests: readonly Manifest[], storedOf: StoredOf): ManifestProblem[] {
  return manifests.flatMap(({ object, lineOf }) => {
    const { kind } = object;
    const stored = storedOf(object);
    return problemsIn(kind, refusals({ kind, object: stored ? toStore(stored, object) : object, stored }), lineOf);
  });
}

/** The stored object of a manifest's kind and name, if there is one that can be read. */
export type StoredOf = (object: Stored<ManifestKind>) => Stored<ManifestKind> | undefined;

function problemsIn(
  kind: ManifestKind,
  problems: readonly KeyProblem[],
  lineOf: Manifest["lineOf"],
): ManifestProblem[] {
  return problems.map((problem) => {
    const { path, key } = problem;
    // A rule on the object as a whole sees nothing of its metadata but the name.
    const place = path.length === 0 ? ["metadata", "name"] : path;
    return { line: lineOf(key === undefined ? place : [...place, key]), message: explained(kind, problem) };
  });
}

/** Only what a person writes: server-set metadata and status of a copied object are left out. */
function cleaned(object: Stored<ManifestKind>): Stored<ManifestKind> {
  const { name, labels, annotations } = object.metadata;
  const metadata = { name, ...(labels && { labels }), ...(annotations && { annotations }) };
  const { status: _, ...rest } = object as Stored<ManifestKind> & { status?: unknown };
  return { ...rest, metadata } as Stored<ManifestKind>;
}
