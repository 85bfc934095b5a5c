/**
 * Whether an answer is what was asked for. A proxy, a captive portal or a broken server may answer 200 with anything; nothing
 * of it is used before it was checked here, once, where it enters. Content (spec, status) is checked by who knows the kind.
 */
import { escapeLine } from "../escape.ts";
import { parseJson } from "./json.ts";
import { KubeError, type ResourceType } from "./types.ts";

/** What was asked, of whom. */
export interface Question {
  /** For messages: `get IPPool "a"`. */
  readonly action: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly server: string;
}

/** What is wrong with a parsed answer, to follow "the answer"; undefined: nothing. */
export type Check = (answer: unknown) => string | undefined;

/** The error for an answer that cannot be used; `shown` is how it begins. */
export function wrongAnswer(question: Question, problem: string, shown: string): KubeError {
  const { action, method, server } = question;
  const message = `cannot ${action}: the answer from ${server} ${problem}: ${method} ${barePath(question)} gave ${shown}`;
  return new KubeError("ServerError", message);
}

/** The path without its query. */
export function barePath({ path }: Question): string {
  return path.split("?", 1)[0]!;
}

const SHOWN_BYTES = 60;

/** A server that sends back what it got may show credentials. */
const SECRETS = /(bearer\s+|"token"\s*:\s*")[^\s"]+/gi;

/** The first bytes of an answer that is JSON. */
export function beginningOfJson(text: string): string {
  return escapeLine(beginning(text));
}

/** The first bytes of any other answer, in quotes. */
export function beginningOfText(text: string): string {
  return escapeLine(JSON.stringify(beginning(text)));
}

/** The parsed answer. @throws KubeError ServerError where it is not JSON, or `check` finds something wrong */
export function parsedAnswer(question: Question, text: string, check: Check = () => undefined): unknown {
  let answer: unknown;
  try {
    answer = parseJson(text);
  } catch {
    throw wrongAnswer(question, "is not JSON", beginningOfText(text));
  }
  const problem = check(answer);
  if (problem !== undefined) throw wrongAnswer(question, problem, beginningOfJson(text));
  return answer;
}

/** An object of a kind, and of the name that was asked for; the name of a review is "". */
export function isObjectOf(type: ResourceType, name: string): Check {
  return (answer) => {
    if (!isRecord(answer) || answer["kind"] !== type.kind) return `is not of kind ${type.kind}`;
    const problem = metadataProblem(answer["metadata"], name !== "");
    if (problem !== undefined || name === "") return problem;
    return (answer["metadata"] as Fields)["name"] === name
      ? undefined
      : `is another object than ${type.kind} "${name}"`;
  };
}

/** What a deletion is answered with: the object, or a Status. */
export function isDeletionOf(type: ResourceType): Check {
  return (answer) => {
    const kind = isRecord(answer) ? answer["kind"] : undefined;
    return kind === type.kind || kind === "Status" ? undefined : `is neither of kind ${type.kind} nor a Status`;
  };
}

/** A list of a kind, or of its metadata. Items may be null where there are none, as aggregated API servers print it. */
export function isListOf(type: ResourceType): Check {
  return (answer) => {
    const kinds = [`${type.kind}List`, "PartialObjectMetadataList"];
    if (!isRecord(answer) || !kinds.includes(String(answer["kind"]))) return `is not a list of kind ${type.kind}`;
    const { metadata, items } = answer;
    if (!isRecord(metadata) || !isRevision(metadata["resourceVersion"]))
      return "has no metadata.resourceVersion that is a number";
    if (!isTextOrAbsent(metadata["continue"] ?? undefined)) return "has a metadata.continue that is not a text";
    if (items === null || items === undefined) return undefined;
    return Array.isArray(items) ? firstProblem(items, type) : "has items that are not a list";
  };
}

/** An object of a list or a watch: those of a built-in kind may come without their kind. */
export function itemProblem(item: unknown, type: ResourceType): string | undefined {
  if (!isRecord(item)) return "is not an object";
  const { kind, metadata } = item;
  const isKind = kind === undefined || kind === type.kind || kind === "PartialObjectMetadata";
  return isKind ? metadataProblem(metadata, true) : `is not of kind ${type.kind}`;
}

/** What a watch is followed by. */
export function revisionProblem(object: unknown): string | undefined {
  const metadata = isRecord(object) ? object["metadata"] : undefined;
  const isKnown = isRecord(metadata) && isRevision(metadata["resourceVersion"]);
  return isKnown ? undefined : "has no metadata.resourceVersion that is a number";
}

function firstProblem(items: readonly unknown[], type: ResourceType): string | undefined {
  for (const [index, item] of items.entries()) {
    const problem = itemProblem(item, type);
    if (problem !== undefined) return `has an item, items[${index}], that ${problem}`;
  }
  return undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const TEXTS = ["namespace", "uid"] as const;
const TIMES = ["creationTimestamp", "deletionTimestamp"] as const;
const MAPS = ["labels", "annotations"] as const;

/** What every reader relies on; written out, since a list has thousands of them. */
function metadataProblem(metadata: unknown, isNamed: boolean): string | undefined {
  if (!isRecord(metadata)) return "has no metadata";
  if (isNamed && !isText(metadata["name"])) return "has no metadata.name";
  const { resourceVersion } = metadata;
  if (resourceVersion !== undefined && !isRevision(resourceVersion))
    return "has a metadata.resourceVersion that is no number";
  const wrongText =
    TEXTS.find((field) => !isTextOrAbsent(metadata[field])) ??
    TIMES.find((field) => !isTextOrAbsent(metadata[field] ?? undefined));
  if (wrongText !== undefined) return `has a metadata.${wrongText} that is not a text`;
  const wrongMap = MAPS.find((field) => !isMapOfTexts(metadata[field]));
  return wrongMap && `has metadata.${wrongMap} that are not texts`;
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Revisions are compared, as etcd's numbers that they are. */
function isRevision(value: unknown): boolean {
  return typeof value === "string" && /^\d+$/.test(value);
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isMapOfTexts(value: unknown): boolean {
  if (value === undefined) return true;
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}

function beginning(text: string): string {
  const bytes = Buffer.from(text.slice(0, SHOWN_BYTES + 1));
  const shown = bytes.subarray(0, SHOWN_BYTES).toString().replace(SECRETS, "$1…");
  return shown + (bytes.length > SHOWN_BYTES ? "…" : "");
}
