/** A column of a table, and how its cells are written. */
import { escapeLine } from "../escape.ts";
import type { Tone } from "./screen.ts";

export interface Column<T> {
  readonly header: string;
  readonly value: (row: T) => string;
  /** Numbers are aligned to the right. */
  readonly right?: true;
  /** Only with `-o wide`. */
  readonly wide?: true;
  /** Where a table is wider than the terminal, those of least importance are left out first. Default: not left out. */
  readonly importance?: number;
  /** On a terminal it may be shortened in the middle, where leaving out is not enough. */
  readonly name?: true;
  /** A shorter value, for a terminal on which the table does not fit. */
  readonly brief?: (row: T) => string;
  /** The last column: on a terminal it continues on the next line, between words. */
  readonly sentence?: true;
  /** Colour of the value. */
  readonly tone?: (row: T) => Tone | undefined;
}

/** Between columns. */
export const GAP = "   ";

export const cellText = (value: string): string => escapeLine(value) || "-";
