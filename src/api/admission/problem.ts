/** What an API server finds wrong with an object, in its words. */

export interface Problem {
  /** The field at fault; empty: the object as a whole. */
  readonly path: readonly PropertyKey[];
  /** With the field in front, as an API server's causes are printed: `spec.cidr: Required value`. */
  readonly words: string;
  /** Whether rules are not asked then: they need values of the right type. */
  readonly blocks?: boolean;
}

export function problemAt(path: Problem["path"], text: string): Problem {
  return { path, words: path.length === 0 ? text : `${fieldName(path)}: ${text}` };
}

/** A fault that keeps rules from being asked. */
export function blockingAt(path: Problem["path"], text: string): Problem {
  return { ...problemAt(path, text), blocks: true };
}

/** `spec.allowedUses[1]`. */
export function fieldName(path: Problem["path"]): string {
  const steps = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`));
  return steps.join("").replace(/^\./, "");
}

/** A value as Go prints it into such a sentence. */
export function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
