/** The standard output by its name, which is a link, is written as it is: a pipe, and a file that the shell has opened. */
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFile, storeOf } from "./ipamctl.ts";
import { sound } from "./sound.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

test("a bundle to /dev/stdout goes into a pipe, and after what a file holds already", async () => {
  const [file, store] = [scratchFile("out"), `embedded:${await storeOf(sound)}`];
  const bundle = '"$0" "$1" bundle /dev/stdout --datastore "$2"';
  const shell = (script: string) =>
    execFileSync("sh", ["-c", script, process.execPath, MAIN, store, file], { encoding: "utf8", stdio: "pipe" });
  const whole = expect.stringMatching(/^\{"bundle":.*\{"objects":\d+\}\n$/s);
  expect(shell(`${bundle} | cat`)).toEqual(whole);
  shell(`{ echo first; ${bundle}; } > "$3"`);
  const [first, ...rest] = readFileSync(file, "utf8").split("\n");
  expect(first).toBe("first");
  expect(rest.join("\n")).toEqual(whole);
  expect(statSync("/dev/stdout").isDirectory()).toBe(false);
});
