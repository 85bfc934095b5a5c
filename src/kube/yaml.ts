/**
 * YAML from outside, bounded: by size, keys and depth, in a time that grows with the size only. The parser is fed token by
 * token, so that what is too much is refused before the work is done.
 */
import {
  Composer,
  type Document,
  isScalar,
  Lexer,
  LineCounter,
  type ParsedNode,
  Parser,
  visit,
  type YAMLMap,
} from "yaml";

/** Bytes of one file: as much as an API server takes in one request. */
export const LARGEST_YAML = 3 * 2 ** 20;
const MOST_KEYS = 25_000;
const MOST_TOKENS = 300_000;
const MOST_LEVELS = 100;

/** Text that is not read, however well it may be written. */
export class YamlTooLarge extends Error {
  override readonly name = "YamlTooLarge";
}

/** Why a file of this size is not read; undefined where it is. */
export function tooManyBytes(size: number): string | undefined {
  return size > LARGEST_YAML ? "is larger than 3 MiB, the limit for one file: divide it" : undefined;
}

export type YamlDocument = Document.Parsed<ParsedNode>;

/** Every document of `text`; what is wrong with one is in its `errors`, duplicate keys excepted. @throws YamlTooLarge */
export function yamlDocuments(text: string, lines = new LineCounter()): YamlDocument[] {
  const tooLarge = text.length > LARGEST_YAML ? tooManyBytes(text.length) : tooManyBytes(Buffer.byteLength(text));
  if (tooLarge !== undefined) throw new YamlTooLarge(tooLarge);
  // The parser's own look for duplicate keys compares each key of a map with every other.
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false });
  return [...composer.compose(boundedTokens(text, lines))] as YamlDocument[];
}

/** The value of a file with one document. @throws YamlTooLarge, or Error where it is not YAML */
export function parseYaml(text: string): unknown {
  const [document] = yamlDocuments(text);
  const [error] = document?.errors ?? [];
  if (error !== undefined) throw error;
  return document?.toJS();
}

/** Where a key of a map stands once more. */
export interface DuplicateKey {
  readonly key: string;
  readonly offset: number;
  readonly firstOffset: number;
}

/** Keys that differ only in their type are one field of an object, too. */
export function duplicateKeys(document: YamlDocument): DuplicateKey[] {
  const found: DuplicateKey[] = [];
  visit(document, {
    Map: (_, map) => {
      found.push(...duplicatesIn(map));
    },
  });
  return found;
}

function* duplicatesIn(map: YAMLMap): Generator<DuplicateKey> {
  const first = new Map<string, number>();
  for (const { key } of map.items) {
    if (!isScalar(key)) continue;
    const [name, offset] = [String(key.value), key.range?.[0] ?? 0];
    const firstOffset = first.get(name);
    if (firstOffset === undefined) first.set(name, offset);
    else yield { key: name, offset, firstOffset };
  }
}

/** What begins a key or an entry of a list. */
const ENTRIES: ReadonlySet<string> = new Set([":", "?", "-", ","]);

function* boundedTokens(text: string, lines: LineCounter) {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let keys = 0;
  let tokens = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (ENTRIES.has(lexeme)) keys++;
    if (keys > MOST_KEYS) throw new YamlTooLarge(`holds more than 25,000 keys and list entries, ${LIMIT}`);
    if (++tokens > MOST_TOKENS)
      throw new YamlTooLarge(`holds more than 300,000 YAML tokens, ${LIMIT}, or remove comments and empty lines`);
    yield* parser.next(lexeme);
    // On top of the levels stand the document and the value.
    if (parser.stack.length > MOST_LEVELS + 2) throw new YamlTooLarge("is nested more than 100 levels deep");
  }
  yield* parser.end();
}

const LIMIT = "the limit for one file: divide it";
