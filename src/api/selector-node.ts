/** A parsed selector as a value: what it selects, and its canonical text. */

/** Labels, or annotations, by their key. */
export type Labels = Readonly<Record<string, string>>;

/** The part of a Kubernetes Node or Namespace that pools are selected by. */
export interface Labelled {
  /** As Kubernetes has it; only these two are looked at. */
  readonly metadata?: {
    readonly labels?: Labels | undefined;
    readonly annotations?: Labels | undefined;
  };
}

export type TextOperator = "==" | "!=" | "contains" | "starts with" | "ends with";
export type SetOperator = "in" | "not in";

export type SelectorNode =
  | { readonly op: "all" }
  | { readonly op: "has"; readonly key: string }
  | { readonly op: TextOperator; readonly key: string; readonly value: string }
  | { readonly op: SetOperator; readonly key: string; readonly values: readonly string[] }
  | { readonly op: "not"; readonly operand: SelectorNode }
  | { readonly op: "and" | "or"; readonly operands: readonly SelectorNode[] };

/** The opposite of a node; two negations are none. */
export function negation(node: SelectorNode): SelectorNode {
  return node.op === "not" ? node.operand : { op: "not", operand: node };
}

/** Several nodes as one; a single one is itself. */
export function group(op: "and" | "or", operands: readonly SelectorNode[]): SelectorNode {
  return operands.length === 1 ? operands[0]! : { op, operands };
}

/** Whether a node selects what carries these labels. An absent label differs from every value. */
export function evaluate(node: SelectorNode, labels: Labels): boolean {
  switch (node.op) {
    case "all":
      return true;
    case "not":
      return !evaluate(node.operand, labels);
    case "and":
      return node.operands.every((operand) => evaluate(operand, labels));
    case "or":
      return node.operands.some((operand) => evaluate(operand, labels));
    default:
      return compare(node, Object.hasOwn(labels, node.key) ? labels[node.key] : undefined);
  }
}

type Comparison = Extract<SelectorNode, { key: string }>;

function compare(node: Comparison, label: string | undefined): boolean {
  switch (node.op) {
    case "has":
      return label !== undefined;
    case "==":
      return label === node.value;
    case "!=":
      return label !== node.value;
    case "in":
      return label !== undefined && node.values.includes(label);
    case "not in":
      return label === undefined || !node.values.includes(label);
    case "contains":
      return label?.includes(node.value) ?? false;
    case "starts with":
      return label?.startsWith(node.value) ?? false;
    case "ends with":
      return label?.endsWith(node.value) ?? false;
  }
}

/** Canonical text: two selectors of the same meaning and order read the same. */
export function print(node: SelectorNode): string {
  switch (node.op) {
    case "all":
      return "all()";
    case "has":
      return `has(${node.key})`;
    case "not":
      return `!${print(node.operand)}`;
    case "and":
      return `(${node.operands.map(print).join(" && ")})`;
    case "or":
      return `(${node.operands.map(print).join(" || ")})`;
    case "in":
    case "not in":
      return `${node.key} ${node.op} {${node.values.map(quoted).join(", ")}}`;
    default:
      return `${node.key} ${node.op} ${quoted(node.value)}`;
  }
}

/** There are no escapes: a text with one kind of quote stands in the other; none has both. */
const quoted = (text: string) => (text.includes('"') ? `'${text}'` : `"${text}"`);
