/** Values of flags, read from their text; each refusal says what to give instead. */
import { InvalidArgumentError } from "commander";
import type { BindAddress } from "./probes.ts";

/** A server that is not wanted. */
export type Off = "off";

/** Nothing is no name of anything; often it is a shell's variable that is not set. */
export function parseText(text: string): string {
  if (text === "") throw new InvalidArgumentError("It is empty: give a value, or leave the flag out.");
  return text;
}

export function parseBoolean(text: string): boolean {
  if (text === "true" || text === "false") return text === "true";
  throw new InvalidArgumentError("Give true or false.");
}

export function parseCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number from 1 up.");
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A timer given no time, or more than it can hold, fires at once: what is to be done seldom would be done without end. */
const LONGEST_TIME_MS = 500 * 3_600_000;

/** Milliseconds of a duration as Go writes it: `1m30s`, `500ms`, `10h`. */
export function parseDuration(text: string): number {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) throw new InvalidArgumentError("Give a time such as 30s, 5m or 1h30m.");
  const parts = [...text.matchAll(/([\d.]+)(ms|s|m|h)/g)];
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNIT_MS[unit ?? ""] ?? 0), 0);
  if (ms < 1 || ms > LONGEST_TIME_MS) throw new InvalidArgumentError("Give a time from 1ms to 500h.");
  return ms;
}

/** `:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` is off. */
export function parseAddress(text: string): BindAddress | Off {
  if (text === "0") return "off";
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) throw new InvalidArgumentError("Give :PORT, HOST:PORT, or 0 for none.");
  return { host: match[1] ?? (match[2] || undefined), port };
}

/** The inspector runs any code its client sends: never beyond this machine. */
export function parseLoopback(text: string): BindAddress | Off {
  const address = parseAddress(text.replace(/^:/, "127.0.0.1:"));
  if (address === "off" || ["127.0.0.1", "::1", "localhost"].includes(address.host ?? "")) return address;
  throw new InvalidArgumentError("Only loopback is allowed, such as 127.0.0.1:9229.");
}

export function oneOf<T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((word) => word === text);
    if (found === undefined) throw new InvalidArgumentError(`Give one of ${allowed.join(", ")}.`);
    return found;
  };
}
