/** YAML text to objects of the embedded store: what an API server's admission would refuse is refused here, with its line. */
import { LineCounter, visit, type YAMLError } from "yaml";
import { refusals } from "../api/admission/admission.ts";
import { faults, unreadable } from "../api/admission/checks.ts";
import type { KeyProblem } from "../api/admission/metadata.ts";
import { withoutNullFields } from "../api/admission/schemas.ts";
import type { Stored } from "../datastore/datastore.ts";
import { duplicateKeys, type YamlDocument, YamlTooLarge, yamlDocuments } from "../kube/yaml.ts";
import { toStore } from "./manifest-form.ts";
import { asKept, kindOf, type ManifestKind, unknownKind } from "./manifest-kinds.ts";
import { type LineOf, lineFinder } from "./manifest-lines.ts";
import { explained } from "./manifest-words.ts";

export interface Manifest {
  readonly object: Stored<ManifestKind>;
  readonly line: number;
  /** Written in the form of `crd.projectcalico.org/v1`. */
  readonly isV1: boolean;
  readonly lineOf: LineOf;
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

/** One document of a file, with the way back from a field to its line. */
interface Source {
  readonly value: unknown;
  readonly lineOf: LineOf;
}

/**
 * Reads every document of one file, and judges its objects as an API server would where these are stored. A file with a
 * problem should be left out as a whole. Throws nothing.
 */
export function parseManifests(text: string, storedOf: StoredOf = () => undefined): ParsedManifests {
  const { manifests, problems } = readAll(text);
  const judged = manifests.map((manifest) => ({ manifest, refused: refusedIn([manifest], storedOf) }));
  return {
    manifests: judged.flatMap(({ manifest, refused }) => (refused.length === 0 ? [manifest] : [])),
    problems: firstOf([...problems, ...judged.flatMap(({ refused }) => refused)]),
  };
}

/** The same without judging the objects by what is stored: that changes, and the file does not. Throws nothing. */
export function readManifests(text: string): ParsedManifests {
  const { manifests, problems } = readAll(text);
  return { manifests, problems: firstOf(problems) };
}

function readAll(text: string): ParsedManifests {
  const lines = new LineCounter();
  return withoutThrowing(1, () => joined(yamlDocuments(text, lines).map((document) => parseDocument(document, lines))));
}

const MOST_PROBLEMS = 20;
const LONGEST_MESSAGE = 500;

/** A file may have thousands of problems, with keys of megabytes: a person corrects the first ones first. */
export function firstOf(problems: readonly ManifestProblem[]): readonly ManifestProblem[] {
  const shown = problems.slice(0, MOST_PROBLEMS).map(({ message, ...at }) => ({
    ...at,
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message,
  }));
  const more = (problems.length - MOST_PROBLEMS).toLocaleString("en-US");
  return problems.length > MOST_PROBLEMS ? [...shown, { message: `and ${more} more problems` }] : shown;
}

function parseDocument(document: YamlDocument, lines: LineCounter): ParsedManifests {
  const [error] = document.errors; // What follows the first one is often only its consequence.
  if (error !== undefined) return { manifests: [], problems: [syntaxProblem(error, document, lines)] };
  const misleading = [...duplicateProblems(document, lines), ...octalProblems(document, lines)];
  if (misleading.length > 0) return { manifests: [], problems: misleading };
  const lineOf = lineFinder(document, lines);
  return withoutThrowing(lineOf([]), () => readDocument({ value: document.toJS(), lineOf }));
}

/** Of two fields of one name only the last would count. */
function duplicateProblems(document: YamlDocument, lines: LineCounter): ManifestProblem[] {
  return duplicateKeys(document).map(({ key, offset, firstOffset }) => {
    const first = lines.linePos(firstOffset).line;
    const message = `not YAML: the key "${key}" is also at line ${first}; keep one of them`;
    return { line: lines.linePos(offset).line, message };
  });
}

/** YAML 1.2 reads 010 as ten, kubectl reads it as eight: the same file must not mean two things. */
function octalProblems(document: YamlDocument, lines: LineCounter): ManifestProblem[] {
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

/** An alias without its anchor, an alias bomb and a file that is too large show only as an exception. */
function withoutThrowing(line: number, read: () => ParsedManifests): ParsedManifests {
  try {
    return read();
  } catch (error) {
    if (error instanceof YamlTooLarge) return { manifests: [], problems: [{ message: error.message }] };
    return { manifests: [], problems: [{ line, message: `not YAML that can be read: ${inWords(error as Error)}` }] };
  }
}

function joined(results: readonly ParsedManifests[]): ParsedManifests {
  return {
    manifests: results.flatMap(({ manifests }) => manifests),
    problems: results.flatMap(({ problems }) => problems),
  };
}

function syntaxProblem(error: YAMLError, document: YamlDocument, lines: LineCounter): ManifestProblem {
  const at = error.code === "MISSING_CHAR" ? beginOfOpenText(document, error.pos[0]) : error.pos[0];
  return { line: lines.linePos(at).line, message: `not YAML: ${inWords(error)}` };
}

function inWords({ message }: Error): string {
  return message.replace(/closing (["'])quote/, "closing quote $1");
}

/** A missing quote is noticed where the text ends, but is to be mended where it begins. */
function beginOfOpenText(document: YamlDocument, end: number): number {
  let begin = end;
  visit(document, {
    Scalar: (_, { range, type }) => {
      if (type?.startsWith("QUOTE") && range && range[0] <= end && end <= range[2]) begin = range[0];
    },
  });
  return begin;
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
