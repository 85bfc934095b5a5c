/**
 * Lossless JSON: an integer that a double cannot hold safely is read as a bigint and printed digit for digit.
 * A sequence number of a block is about 1.8e18; rounded, it no longer protects an address against reuse.
 */

/** Marks, inside a parsed string, an integer that was quoted before parsing. A private-use character: not met in practice. */
const SENTINEL = "\uF8FFint:";
const SENTINEL_IN_TEXT = /\uF8FF|\\uf8ff/i;
const LONG_DIGITS = /\d{16}/;

/**
 * Strings, passed over whole, and long integers that are neither part of a longer number nor (malformed) a key. A string
 * without end is passed over, too: looked at again from each quotation mark in it, it would take quadratic time.
 */
const TOKEN = /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?$)|(?<![\d.eE+]|[eE]-)(-?[1-9]\d{15,})(?![\d.eE]|\s*:)/g;
const INTEGER = /^-?\d+$/;
/** An integer of more digits is read as JSON.parse has it: no field holds more than 64 bits, and a bigint takes its time. */
const MOST_DIGITS = 400;

// TypeScript's es2024 library does not know the source text access that Node has.
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/**
 * Parses JSON; integers beyond ±(2^53 − 1) become bigint, everything else is as `JSON.parse` has it.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  try {
    return parseLosslessly(text);
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxError("nested too deeply", { cause: error });
    throw error;
  }
}

function parseLosslessly(text: string): unknown {
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  if (SENTINEL_IN_TEXT.test(text)) return parseJsonByReviver(text);
  const quoted = quoteIntegers(text);
  return quoted === undefined ? parseJsonByReviver(text) : restore(JSON.parse(quoted));
}

/** The same by the reviver's source text: exact and simple, some thirty times slower. The measure for `parseJson`. */
export function parseJsonByReviver(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined && INTEGER.test(source) ? exact(source) : value,
  );
}

/** Prints a value as JSON; a bigint as the bare number it is. */
export function printJson(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === "bigint" ? rawJSON(part.toString()) : part));
}

/** Undefined where a single string has more escapes, in the millions, than the engine can match at once. */
function quoteIntegers(text: string): string | undefined {
  try {
    return text.replace(TOKEN, (token, integer?: string) => (integer ? `"${SENTINEL}${integer}"` : token));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function exact(integer: string): number | bigint {
  const value = Number(integer);
  return Number.isSafeInteger(value) || integer.length > MOST_DIGITS ? value : BigInt(integer);
}

/** Puts the integers back in place. `__proto__` is an own property after JSON.parse, and assigning keeps it one. */
function restore(value: unknown): unknown {
  if (typeof value === "string") return value.startsWith(SENTINEL) ? exact(value.slice(SENTINEL.length)) : value;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = restore(value[index]);
  } else if (typeof value === "object" && value !== null) {
    const object = value as Record<string, unknown>;
    for (const key of Object.keys(object)) object[key] = restore(object[key]);
  }
  return value;
}
