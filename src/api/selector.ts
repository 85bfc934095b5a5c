/**
 * The selector language of pools (nodeSelector, namespaceSelector), as the reference reads it.
 * Precedence `||` < `&&` < `!`, where `!` negates the whole comparison after it.
 */
import {
  evaluate,
  group,
  type Labels,
  negation,
  print,
  type SelectorNode,
  type TextOperator,
} from "./selector-node.ts";

/** A selector that can be asked. */
export interface Selector {
  /** What it selects, as a value. */
  readonly node: SelectorNode;
  /** Canonical text. */
  readonly text: string;
  /** Whether it selects what carries these labels. */
  matches(labels: Labels): boolean;
}

/** A text that is no selector. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
  /** The whole text. */
  readonly selector: string;
  /** Offset of the first character that does not fit. */
  readonly position: number;

  constructor(selector: string, position: number, problem: string) {
    const rest = selector.slice(position, position + 20);
    const found = rest === "" ? "the end" : JSON.stringify(rest);
    super(`selector ${shown(selector)}, character ${position + 1}: ${problem}, found ${found}`);
    this.selector = selector;
    this.position = position;
  }
}

/** An API server stores no selector longer than this: of a longer one, the message shows the beginning. */
const LONGEST_STORED = 1024;

function shown(selector: string): string {
  if (selector.length <= LONGEST_STORED) return JSON.stringify(selector);
  return `${JSON.stringify(selector.slice(0, 100))}… (${selector.length} characters)`;
}

/** Parses a pool's selector; empty text selects all. @throws SelectorError */
export function parseSelector(text: string): Selector {
  const scanner = new Scanner(text);
  const node: SelectorNode = scanner.atEnd() ? { op: "all" } : disjunction(scanner);
  if (!scanner.atEnd()) scanner.fail("expected &&, || or the end");
  return { node, text: print(node), matches: (labels) => evaluate(node, labels) };
}

/** Deeper than any selector that an API server stores, each parenthesis being a character at both ends. */
const DEEPEST = LONGEST_STORED / 2;

const NOT = /!(?!=)/y;
const OPEN = /\(/y;
const CLOSE = /\)/y;
const ALL = /all\([ \t]*\)/y;
const GLOBAL = /(?=global\([ \t]*\))/y;
const HAS = /has\([ \t]*([\w./-]{1,512})[ \t]*\)/y;
const LABEL = /[\w./-]{1,512}(?![\w./-])/y;
const NOT_IN = /not[ \t]*in\b/y;
const IN = /in\b/y;
const QUOTED = /'([^']*)'|"([^"]*)"/y;
const TEXT_OPERATORS: readonly (readonly [RegExp, TextOperator])[] = [
  [/==/y, "=="],
  [/!=/y, "!="],
  [/contains\b/y, "contains"],
  [/starts[ \t]*with\b/y, "starts with"],
  [/ends[ \t]*with\b/y, "ends with"],
];

class Scanner {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The token, when it comes next; blanks before it are skipped. */
  take(token: RegExp): RegExpExecArray | undefined {
    this.#skipBlanks();
    token.lastIndex = this.#at;
    const found = token.exec(this.#text) ?? undefined;
    if (found) this.#at = token.lastIndex;
    return found;
  }

  expect(token: RegExp, what: string): RegExpExecArray {
    return this.take(token) ?? this.fail(`expected ${what}`);
  }

  /** Reads what stands between parentheses. */
  inside<T>(read: (scanner: Scanner) => T): T {
    if (++this.#depth > DEEPEST) this.fail(`expected no more than ${DEEPEST} parentheses inside each other`);
    const inner = read(this);
    this.expect(CLOSE, ")");
    this.#depth--;
    return inner;
  }

  fail(problem: string): never {
    throw new SelectorError(this.#text, this.#at, problem);
  }

  atEnd(): boolean {
    this.#skipBlanks();
    return this.#at === this.#text.length;
  }

  #skipBlanks(): void {
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at++;
  }
}

function disjunction(scanner: Scanner): SelectorNode {
  const operands = [conjunction(scanner)];
  while (scanner.take(/\|\|/y)) operands.push(conjunction(scanner));
  return group("or", operands);
}

function conjunction(scanner: Scanner): SelectorNode {
  const operands = [operand(scanner)];
  while (scanner.take(/&&/y)) operands.push(operand(scanner));
  return group("and", operands);
}

function operand(scanner: Scanner): SelectorNode {
  let negated = false;
  while (scanner.take(NOT)) negated = !negated;
  const node = scanner.take(OPEN) ? scanner.inside(disjunction) : atom(scanner);
  return negated ? negation(node) : node;
}

function atom(scanner: Scanner): SelectorNode {
  if (scanner.take(ALL)) return { op: "all" };
  if (scanner.take(GLOBAL)) scanner.fail("global() is not allowed in a pool's selector");
  const has = scanner.take(HAS);
  if (has) return { op: "has", key: has[1]! };
  const [key] = scanner.expect(LABEL, "all(), has(label), a label of at most 512 characters or (");
  return comparison(scanner, key);
}

function comparison(scanner: Scanner, key: string): SelectorNode {
  if (scanner.take(NOT_IN)) return { op: "not in", key, values: set(scanner) };
  if (scanner.take(IN)) return { op: "in", key, values: set(scanner) };
  const operator = TEXT_OPERATORS.find(([token]) => scanner.take(token));
  if (!operator) scanner.fail("expected ==, !=, in, not in, contains, starts with or ends with after the label");
  return { op: operator[1], key, value: quotedText(scanner) };
}

/** `{'a', "b"}`: sorted, each once. A comma before the closing brace is accepted, and so is nothing at all. */
function set(scanner: Scanner): string[] {
  const values = new Set<string>();
  scanner.expect(/\{/y, "{");
  while (!scanner.take(/\}/y)) {
    values.add(quotedText(scanner));
    if (scanner.take(/,/y)) continue;
    scanner.expect(/\}/y, ", or }");
    break;
  }
  return [...values].sort();
}

function quotedText(scanner: Scanner): string {
  const [, single, double] = scanner.expect(QUOTED, "a text in quotes");
  return (single ?? double)!;
}
