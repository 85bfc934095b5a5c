/** YAML text to objects of the embedded store: what an API server's admission would refuse is refused here, with its line. */
import { isScalar, LineCounter, type ParsedNode, parseAllDocuments, visit, type YAMLError } from "yaml";
import type { z } from "zod";
import { type Installation, SINGLETON_NAME } from "../api/installation.ts";
import { poolProblems } from "../api/pool-problems.ts";
import type { Stored } from "../datastore/datastore.ts";
import { CONFIG_RULES, configViolations, effectiveConfig } from "../ipam/config-rules.ts";
import { keywordProblems } from "./manifest-keywords.ts";
import { asKept, kindOf, type ManifestKind, SCHEMAS, schemaOf, unknownKind } from "./manifest-kinds.ts";
import { metadataProblems } from "./manifest-metadata.ts";
import { type Judged, wordsFor } from "./manifest-words.ts";

export interface Manifest {
  readonly object: Stored<ManifestKind>;
  readonly line: number;
  /** Written in the form of `crd.projectcalico.org/v1`. */
  readonly isV1: boolean;
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

/** Reads every document of one file. A file with a problem should be left out as a whole. Throws nothing. */
export function parseManifests(text: string): ParsedManifests {
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
  const schema = schemaOf(kind, isV1);
  const parsed = schema.safeParse(value);
  if (!parsed.success) return { manifests: [], problems: schemaProblems(parsed.error, { value, schema }, lineOf) };
  const kept = asKept(kind, isV1, parsed.data);
  if (typeof kept === "string") return refused(lineOf([]), kept);
  const found = kept as Stored<ManifestKind>;
  const metadata = metadataProblems(found.metadata);
  if (metadata.length > 0)
    return { manifests: [], problems: metadata.map(({ path, message }) => ({ line: lineOf(path), message })) };
  const object = cleaned(found);
  const problems = rulesBroken(object, lineOf);
  return problems.length > 0
    ? { manifests: [], problems }
    : { manifests: [{ object, line: lineOf(["kind"]), isV1 }], problems: [] };
}

const refused = (line: number, message: string): ParsedManifests => ({ manifests: [], problems: [{ line, message }] });

/** Two issues of one field may have the same words: each is said once. */
function schemaProblems({ issues }: z.ZodError, judged: Judged, lineOf: Source["lineOf"]): ManifestProblem[] {
  const said = issues.flatMap((issue) => wordsFor(issue, judged));
  const once = new Map(said.map((problem) => [problem.message, problem]));
  return [...once.values()].map(({ path, message }) => ({ line: lineOf(path), message }));
}

/** Only what a person writes: server-set metadata and status of a copied object are left out. */
function cleaned(object: Stored<ManifestKind>): Stored<ManifestKind> {
  const { name, labels, annotations } = object.metadata;
  const metadata = { name, ...(labels && { labels }), ...(annotations && { annotations }) };
  const { status: _, ...rest } = object as Stored<ManifestKind> & { status?: unknown };
  return { ...rest, metadata } as Stored<ManifestKind>;
}

function rulesBroken(object: Stored<ManifestKind>, lineOf: Source["lineOf"]): ManifestProblem[] {
  const unlisted = keywordProblems(object.spec, SCHEMAS[object.kind].shape.spec);
  if (unlisted.length > 0) return unlisted.map(({ path, message }) => ({ line: lineOf(path), message }));
  if (object.kind === "IPPool")
    return poolProblems(object.spec).map(({ field, message }) => ({ line: lineOf(["spec", field]), message }));
  if (object.kind !== "Installation") return [];
  const { name } = object.metadata;
  const misnamed = { line: lineOf(["metadata", "name"]), message: `the name must be ${SINGLETON_NAME}, not ${name}` };
  return [...(name === SINGLETON_NAME ? [] : [misnamed]), ...combinationsBroken(object, lineOf)];
}

/** The cross-field rules that one Installation can show, as the CRD has them; an absent field's stored value may mend the first. */
function combinationsBroken({ spec }: Installation, lineOf: Source["lineOf"]): ManifestProblem[] {
  const { ipam } = spec;
  if (ipam === undefined) return [];
  const open = ipam.strictAffinity === undefined || ipam.autoAllocateBlocks === undefined ? "AllocatesSomewhere" : "";
  const combinations = CONFIG_RULES.filter(({ scope, name }) => scope === "combination" && name !== open);
  return configViolations(effectiveConfig(ipam))
    .filter(({ rule }) => combinations.some(({ name }) => name === rule))
    .map(({ fields, message }) => {
      const shown = fields.find((field) => ipam[field] !== undefined) ?? "";
      return { line: lineOf(["spec", "ipam", shown]), message };
    });
}
