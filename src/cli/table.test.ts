import { describe, expect, it } from "vitest";
import { screenOf, wrapped } from "./screen.ts";
import { type Column, fieldsText, tableText } from "./table.ts";

interface Row {
  readonly name: string;
  readonly zone: string;
  readonly free: bigint;
  readonly why: string;
}
const NAME: Column<Row> = { header: "NAME", name: true, value: ({ name }) => name };
const ZONE: Column<Row> = { header: "ZONE", value: ({ zone }) => zone, importance: 1 };
const FREE: Column<Row> = { header: "FREE", right: true, importance: 2, value: ({ free }) => String(free) };
const WHY: Column<Row> = { header: "WHY", value: ({ why }) => why, sentence: true };
const row = (over: Partial<Row> = {}): Row => ({ name: "web-0", zone: "a", free: 7n, why: "", ...over });
const lines = (text: string) => text.trimEnd().split("\n");

describe("a table", () => {
  it("is whole where there is no terminal, however wide", () => {
    const name = "n".repeat(300);
    expect(tableText([row({ name })], [NAME, ZONE, FREE], { headers: true })).toContain(`${name}   a         7\n`);
  });

  it("leaves out the least important columns of a narrow terminal first", () => {
    const header = (columns: number) =>
      lines(tableText([row({ name: "a-longer-name" })], [NAME, ZONE, FREE], { headers: true, columns }))[0]!.split(
        / +/,
      );
    expect(header(27)).toEqual(["NAME", "ZONE", "FREE"]);
    expect(header(26)).toEqual(["NAME", "FREE"]);
    expect(header(19)).toEqual(["NAME"]);
  });

  it("shortens a name in the middle where leaving out is not enough", () => {
    const text = tableText([row({ name: "checkout-7d9f8b6c5d-x2x4z" })], [NAME, ZONE], { headers: true, columns: 17 });
    expect(lines(text)).toEqual(["NAME", "checkout…5d-x2x4z"]);
  });

  it("shows shorter values before it leaves out a column", () => {
    const brief: Column<Row> = { ...FREE, value: () => "18446744073709551616", brief: () => "2^64" };
    const text = tableText([row()], [NAME, ZONE, brief], { headers: true, columns: 24 });
    expect(lines(text)).toEqual(["NAME    ZONE   FREE", "web-0   a      2^64"]);
  });

  it("continues a sentence on the next line, between words", () => {
    const why = "its pod is gone and its node is gone and so is all of it";
    const text = tableText([row({ why })], [NAME, WHY], { headers: false, columns: 45 });
    expect(lines(text)).toEqual(["web-0   its pod is gone and its node is gone", "        and so is all of it"]);
  });

  it("colours a value and not the room beside it", () => {
    const { paint } = screenOf({}, {}, "always");
    const tinted: Column<Row> = { ...ZONE, tone: () => "critical" };
    const text = tableText([row()], [tinted, NAME], { headers: true, paint });
    expect(lines(text)[1]).toBe("\u001b[1;31ma\u001b[0m      web-0");
  });
});

describe("a screen", () => {
  const terminal = { isTTY: true, columns: 100 };
  const colored = (...args: Parameters<typeof screenOf>) => screenOf(...args).paint("x", "critical") !== "x";

  it("has columns where it is a terminal; COLUMNS of the user wins", () => {
    expect(screenOf(terminal, {}).columns).toBe(100);
    expect(screenOf(terminal, { COLUMNS: "60" }).columns).toBe(60);
    expect(screenOf(terminal, { COLUMNS: "wide" }).columns).toBe(100);
    expect(screenOf({ isTTY: true, columns: 0 }, {}).columns).toBeUndefined();
    expect(screenOf({ columns: 100 }, { COLUMNS: "60" }).columns).toBeUndefined();
  });

  it("is in colour where it is a terminal that can, or is asked to be", () => {
    expect(colored(terminal, {})).toBe(true);
    expect(colored({}, {})).toBe(false);
    expect(colored({}, {}, "always")).toBe(true);
    expect(colored(terminal, { NO_COLOR: "1" }, "always")).toBe(true);
    expect(colored(terminal, {}, "never")).toBe(false);
    expect(colored(terminal, { NO_COLOR: "1" })).toBe(false);
    expect(colored(terminal, { NO_COLOR: "" })).toBe(true);
    expect(colored(terminal, { TERM: "dumb" })).toBe(false);
  });
});

describe("sentences", () => {
  it("are broken between words, indented as they begin", () => {
    expect(wrapped("  one two three", 9)).toEqual(["  one two", "  three"]);
    expect(wrapped("one two three", 7, "  ")).toEqual(["one two", "  three"]);
    expect(wrapped("one two", undefined)).toEqual(["one two"]);
    expect(wrapped("averylongword x", 5)).toEqual(["averylongword", "x"]);
  });

  it("keep a command at their end whole, to be copied", () => {
    expect(wrapped("  next: ipamctl repair LeakedAddress", 20, "  ")).toEqual([
      "  next:",
      "    ipamctl repair LeakedAddress",
    ]);
  });

  it("of fields continue below the value", () => {
    const fields = [["Node", "one two three four five six"]] as const;
    expect(fieldsText(fields, { columns: 28 })).toBe("Node:   one two three four\n        five six\n");
  });
});
