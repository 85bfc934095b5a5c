/** The process's log: JSON lines with the keys of controller-runtime's, or short lines for a person at a terminal. */
import { styleText } from "node:util";
import { type Logger, pino } from "pino";
import { escapeJson, escapeLine } from "../escape.ts";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export const LOG_ENCODINGS = ["json", "text"] as const;
export type LogEncoding = (typeof LOG_ENCODINGS)[number];

/** Where lines go; standard error by default, so that standard output stays for what the user asked to see. */
export interface LogSink {
  write(line: string): unknown;
}

/** Values under these keys never reach a line, on the first two levels of what is logged. */
const SECRET_KEYS = ["token", "authorization", "Authorization", "password", "headers", "clientKey", "kubeconfig"];

/** Takes credentials out of text: `user:password@` of URLs, and bearer tokens. */
export function withoutCredentials(text: string): string {
  return text.replace(/\/\/[^/\s@"]+@/g, "//[redacted]@").replace(/\b(bearer)\s+[^\s"\\]+/gi, "$1 [redacted]");
}

/** An error as one line of text: its message, and those of its causes. */
export function errorText(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at !== undefined && parts.length < 5; at = at instanceof Error ? at.cause : undefined) {
    const text = at instanceof Error ? at.message : String(at);
    if (!parts.some((part) => part.includes(text))) parts.push(text);
  }
  return withoutCredentials(parts.join(": "));
}

export function createLogger(options: { level: LogLevel; encoding: LogEncoding; sink?: LogSink }): Logger {
  const sink = options.sink ?? process.stderr;
  const destination = options.encoding === "json" ? sink : { write: (line: string) => sink.write(textLine(line)) };
  return pino(
    {
      level: options.level,
      base: null,
      errorKey: "error",
      timestamp: () => `,"ts":"${new Date().toISOString()}"`,
      formatters: { level: (level) => ({ level }), log: errorUnderItsKey },
      serializers: { error: errorText },
      redact: { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`]), censor: "[redacted]" },
      hooks: { streamWrite: (line) => escapeJson(withoutCredentials(line)) },
    },
    destination,
  );
}

/** pino's own key for errors is `err`, controller-runtime's is `error`. */
function errorUnderItsKey({ err, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return err === undefined ? rest : { ...rest, error: err };
}

const LEVEL_STYLES = { warn: "yellow", error: "red", fatal: "red" } as const;
/** Keys a person does not need beside the message: the text line leaves them out. */
const QUIET_KEYS = new Set(["ts", "level", "msg", "controllerGroup", "controllerKind", "reconcileID"]);

/** `19:25:03 warn  message  key=value` of one JSON line. */
function textLine(json: string): string {
  const line = JSON.parse(json) as Record<string, unknown>;
  const level = String(line["level"]);
  const style = LEVEL_STYLES[level as keyof typeof LEVEL_STYLES];
  const rest = Object.entries(line)
    .filter(([key]) => !QUIET_KEYS.has(key))
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : escapeJson(JSON.stringify(value))}`);
  const word = style === undefined ? level : styleText(style, level, { stream: process.stderr });
  const said = [line["msg"] ?? "", ...rest].map((part) => escapeLine(String(part)));
  return `${[String(line["ts"]).slice(11, 19), word, ...said].join("  ")}\n`;
}
