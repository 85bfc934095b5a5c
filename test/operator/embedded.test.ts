/** `npm start` as a newcomer meets it: the process, a folder of manifests, a file edited beside it. */
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { getIPAMConfig } from "../../src/ipam/config.ts";
import { type RunningOperator, startOperator } from "./operator-process.ts";

// Each test starts processes, and a busy machine may take long for that.
vi.setConfig({ testTimeout: 90_000 });

let folder: string;
let operator: RunningOperator | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ipam-operator-embedded-"));
  await mkdir(join(folder, "examples"));
});
afterEach(async () => {
  await operator?.stop("SIGKILL");
  operator = undefined;
  await rm(folder, { recursive: true, force: true });
});

const manifest = (ipam: string) =>
  `apiVersion: ipam-operator.io/v1alpha1\nkind: Installation\nmetadata: {name: default}\nspec:\n  managementPolicy: Enforce\n  ipam: ${ipam}\n`;
const edit = (ipam: string) => writeFile(join(folder, "examples", "installation.yaml"), manifest(ipam));
async function start(args: readonly string[] = [], env = {}): Promise<RunningOperator> {
  operator = await startOperator(args, { cwd: folder, env });
  return operator;
}
const says = (text: string) => expect.poll(() => operator?.stdout.join("\n"), { timeout: 30_000 }).toContain(text);
async function config() {
  const store = openEmbedded(join(folder, ".ipam", "ipam.db"));
  try {
    return await getIPAMConfig(store);
  } finally {
    await store.close();
  }
}

test("an edit is reconciled, a broken one is refused by rule, file and line, a deleted file lets go", async () => {
  await edit("{strictAffinity: true, maxBlocksPerHost: 8}");
  await start([], { KUBECONFIG: "/elsewhere", IPAM_OPERATOR_CACHE: "/somewhere" });
  await says("Working on the embedded store .ipam/ipam.db, because no --kubeconfig was given and this is not a pod.");
  await says("It is new and empty.");
  await says("KUBECONFIG is set but not looked at");
  await says("Installation default is ready");
  expect(operator?.stderr.join("\n")).toContain("IPAM_OPERATOR_CACHE is not a variable of the operator");
  await says("Try it: change a value in examples/installation.yaml");
  expect(await config()).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 8 });

  await edit("{strictAffinity: true, maxBlocksPerHost: 9}");
  await says("(was 8)");
  expect(await config()).toMatchObject({ maxBlocksPerHost: 9 });

  await edit("{strictAffinity: false, maxBlocksPerHost: 10}");
  await says("examples/installation.yaml:6  MaxBlocksPerHost requires StrictAffinity to be enabled");
  expect(await config()).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 9 });
  await edit("{strictAffinity: true, maxBlocksPerHost: 9}");
  await says("examples/installation.yaml is accepted again.");

  await rm(join(folder, "examples", "installation.yaml"));
  await says("There is no Installation. The stored configuration stays as it is");
  expect(await config()).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 9 });
  expect(await operator?.stop("SIGINT")).toEqual({ code: 0, signal: null });
});

test("it keeps its configuration over kill -9, and goes on from it", async () => {
  await edit("{ipCooldownSeconds: 60}");
  await start();
  await says("ready");
  await operator?.stop("SIGKILL");
  expect(await config()).toMatchObject({ ipCooldownSeconds: 60 });
  await start();
  await says("ready");
  expect(operator?.stdout.join("\n")).not.toContain("It is new");
  expect((await operator?.probe("/readyz"))?.body).toBe("ok\n");
  expect(await operator?.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="installation"} 0');
});

test("what to try names the file that holds the Installation; drift between two manifests names the file", async () => {
  const write = (file: string, text: string) => writeFile(join(folder, "examples", file), text);
  await write("my-ipam.yaml", manifest("{ipCooldownSeconds: 60}"));
  await start();
  await says("Try it: change a value in examples/my-ipam.yaml and save it.");
  await write(
    "config.yaml",
    "apiVersion: projectcalico.org/v3\nkind: IPAMConfiguration\nmetadata: {name: default}\n" +
      "spec: {strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5}\n",
  );
  await says("was changed to 5 by its manifest config.yaml or another program; put back to 60");
  expect(await config()).toMatchObject({ ipCooldownSeconds: 60 });
});

test("without a manifests folder it says so, and picks it up when it comes", async () => {
  await rm(join(folder, "examples"), { recursive: true });
  await start();
  await says("There is no Installation");
  await says("To begin, save this as examples/installation.yaml:");
  expect(operator?.stderr.join("\n")).toContain("the folder examples does not exist: create it, or name another");
  await mkdir(join(folder, "examples"));
  await edit("{ipCooldownSeconds: 5}");
  await says("Installation default is ready");
});

test.each([
  [["--version"], 0, /^ipam-operator \d+\.\d+\.\d+ \(node v/],
  [["--help"], 0, /^Usage: ipam-operator/],
])("%j prints and ends", async (args, code, output) => {
  await start(args);
  expect((await operator?.ended)?.code).toBe(code);
  expect(operator?.stdout[0]).toMatch(output);
});

test.each([
  [["--log-level=loud"], {}, "--log-level"],
  [["--datastore=v3"], {}, "--kubeconfig"],
  [["--datastore=embedded:no/such/ipam.db"], {}, "the folder no/such does not exist"],
  [[], { IPAM_OPERATOR_CONCURRENT: "0" }, "IPAM_OPERATOR_CONCURRENT"],
  [[], { IPAM_OPERATOR_CONCURENT: "1" }, "Did you mean IPAM_OPERATOR_CONCURRENT?"],
])("a mistake, %j %j, is one line and exit code 2", async (args, env, words) => {
  await start(args, env);
  expect((await operator?.ended)?.code).toBe(2);
  expect(operator?.stderr).toEqual([expect.stringContaining(words)]);
  expect(operator?.stdout).toEqual([]);
});

test("two on one machine: the second says which port is taken, and works", async () => {
  await edit("{ipCooldownSeconds: 5}");
  const first = await start();
  await says("ready");
  const port = first.ports.metrics;
  const second = await startOperator([`--metrics-bind-address=127.0.0.1:${port}`], { cwd: folder });
  await expect
    .poll(() => second.stderr.join("\n"), { timeout: 30_000 })
    .toContain(`Cannot serve metrics on port ${port}`);
  await expect.poll(() => second.stdout.join("\n"), { timeout: 30_000 }).toContain("ready");
  await second.stop("SIGKILL");
});

test.each([0, 30, 60, 100, 200, 400])("SIGTERM %i ms into the start ends it with code 0", async (ms) => {
  await edit("{ipCooldownSeconds: 5}");
  await start();
  await says("Working on the embedded store");
  await new Promise((resolve) => setTimeout(resolve, ms));
  expect(await operator?.stop("SIGTERM")).toEqual({ code: 0, signal: null });
});

test("a renamed manifest keeps its Installation; a store removed while in use ends the process, saying so once", async () => {
  await edit("{ipCooldownSeconds: 5}");
  await start();
  await says("Installation default is ready");
  await rename(join(folder, "examples", "installation.yaml"), join(folder, "examples", "b.yaml"));
  await says("examples/b.yaml: Installation default change taken in");
  await rm(join(folder, ".ipam"), { recursive: true });
  expect((await operator?.ended)?.code).toBe(1);
  expect(operator?.stdout.join("\n")).not.toContain("There is no Installation");
  expect(operator?.stderr).toEqual([expect.stringContaining("was removed while it was in use")]);
});
