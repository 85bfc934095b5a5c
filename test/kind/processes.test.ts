/** Programs that are run to their end. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { run } from "./processes.ts";

it("feeds text, a stream or a file, and returns what was printed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "processes-"));
  const file = join(folder, "input");
  writeFileSync(file, "from a file");
  try {
    expect(await run("cat", [], { input: "text" })).toBe("text");
    expect(await run("cat", [], { input: Readable.from(["a ", "stream"]) })).toBe("a stream");
    expect(await run("cat", [], { input: { file } })).toBe("from a file");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("says what failed, and what it said last", async () => {
  const script = "seq 1 100 >&2; exit 3";
  await expect(run("sh", ["-c", script])).rejects.toThrow(/^sh -c .* ended with 3:\n71\n72\n.*\n100$/s);
});

it("says so when there is no such program", async () => {
  await expect(run("no-such-program", [])).rejects.toThrow("ENOENT");
});

it("ends a program that takes too long", async () => {
  await expect(run("sleep", ["60"], { timeout: 50 })).rejects.toThrow("sleep 60 ended with SIGTERM");
});
