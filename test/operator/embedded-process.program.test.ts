/** `npm start` as a program: its flags, mistakes in them, a port that is taken, signals. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newcomer } from "./newcomer.ts";
import { startOperator } from "./operator-process.ts";

const user = newcomer();

test.each([
  [["--version"], 0, /^ipam-operator \d+\.\d+\.\d+ \(node v/],
  [["--help"], 0, /^Usage: ipam-operator/],
])("%j prints and ends", async (args, code, output) => {
  await user.start(args);
  expect((await user.operator?.ended)?.code).toBe(code);
  expect(user.operator?.stdout[0]).toMatch(output);
});

test.each([
  [["--log-level=loud"], {}, "--log-level"],
  [["--datastore=v3"], {}, "--kubeconfig"],
  [["--datastore=embedded:no/such/ipam.db"], {}, "the folder no/such does not exist"],
  [[], { IPAM_OPERATOR_CONCURRENT: "0" }, "IPAM_OPERATOR_CONCURRENT"],
  [[], { IPAM_OPERATOR_CONCURENT: "1" }, "Did you mean IPAM_OPERATOR_CONCURRENT?"],
])("a mistake, %j %j, is one line and exit code 2", async (args, env, words) => {
  await user.start(args, env);
  expect((await user.operator?.ended)?.code).toBe(2);
  expect(user.operator?.stderr).toEqual([expect.stringContaining(words)]);
  expect(user.operator?.stdout).toEqual([]);
});

test("two on one machine: the second says which port is taken, and works", async () => {
  await user.edit("{ipCooldownSeconds: 5}");
  const first = await user.start();
  await user.says("ready");
  const port = first.ports.metrics;
  const second = await startOperator([`--metrics-bind-address=127.0.0.1:${port}`], { cwd: user.folder });
  await expect
    .poll(() => second.stderr.join("\n"), { timeout: 30_000 })
    .toContain(`Cannot serve metrics on port ${port}`);
  await expect.poll(() => second.stdout.join("\n"), { timeout: 30_000 }).toContain("ready");
  await second.stop("SIGKILL");
});

test.each([0, 30, 60, 100, 200, 400])("SIGTERM %i ms into the start ends it with code 0", async (ms) => {
  await user.edit("{ipCooldownSeconds: 5}");
  await user.start();
  await user.says("Working on the embedded store");
  await new Promise((resolve) => setTimeout(resolve, ms));
  expect(await user.operator?.stop("SIGTERM")).toEqual({ code: 0, signal: null });
});

test("a manifest of 200,000 keys is refused in a sentence, and SIGTERM is answered meanwhile", async () => {
  await user.edit("{ipCooldownSeconds: 5}");
  const keys = Array.from({ length: 200_000 }, (_, at) => `    k${at}: v\n`).join("");
  const large = `apiVersion: projectcalico.org/v3\nkind: IPPool\nmetadata:\n  name: p\n  annotations:\n${keys}`;
  for (const name of ["a", "b", "c"]) await writeFile(join(user.folder, "examples", `${name}.yaml`), large);
  await user.start();
  await user.says("Working on the embedded store");
  expect(await user.operator?.stop("SIGTERM")).toEqual({ code: 0, signal: null });
  await user.start();
  await user.says("ready");
  for (const name of ["a", "b", "c"])
    await user.says(`${name}.yaml  holds more than 25,000 keys and list entries, the limit for one file: divide it`);
});
