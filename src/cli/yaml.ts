/**
 * YAML for every reader. The library is loaded when YAML is asked for. It is CommonJS: only what is imported by name from a
 * module of ours is found by the same name in the built program.
 */
import { Document, Scalar, visit } from "yaml";
import { isUnsafe } from "../escape.ts";

/**
 * What a reader of YAML 1.1, as kubectl and Python are, or of 1.2 takes for something else than text: `on`, `012`, `1e3`,
 * `12:30`, a date.
 */
const NOT_TEXT = [
  /^(y|yes|n|no|on|off|true|false|null|~|=|<<)?$/i,
  /^[-+]?(0b[01_]+|0o[0-7_]+|0x[\da-f_]+|\.inf|\.nan)$/i,
  /^[-+]?(\d[\d_,]*)?(\.[\d_]*)?(e[-+]?\d+)?$/i,
  /^[-+]?\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?$/,
  /^\d{4}-\d\d?-\d\d?([Tt \t].*)?$/,
];
const needsQuotes = (text: string) => isUnsafe(text) || NOT_TEXT.some((pattern) => pattern.test(text));

/** Only in double quotes can what is unsafe be escaped. */
export function yamlText(value: unknown): string {
  const document = new Document(value, { version: "1.2" });
  visit(document, {
    Scalar: (_key, scalar) => {
      if (typeof scalar.value === "string" && needsQuotes(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY });
}
