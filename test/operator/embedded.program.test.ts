/** `npm start` as a newcomer meets it: the process, a folder of manifests, a file edited beside it. */
import { copyFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manifest, newcomer } from "./newcomer.ts";

const user = newcomer();

test("an edit is reconciled, a broken one is refused by rule, file and line, a deleted file lets go", async () => {
  await user.edit("{strictAffinity: true, maxBlocksPerHost: 8}");
  await user.start([], { KUBECONFIG: "/elsewhere", IPAM_OPERATOR_CACHE: "/somewhere" });
  await user.says(
    "Working on the embedded store .ipam/ipam.db, because no --kubeconfig was given and this is not a pod.",
  );
  await user.says("It is new and empty.");
  await user.says("KUBECONFIG is set but not looked at");
  await user.says("Installation default is ready");
  expect(user.operator?.stderr.join("\n")).toContain("IPAM_OPERATOR_CACHE is not a variable of the operator");
  await user.says("Try it: change a value in examples/installation.yaml");
  expect(await user.config()).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 8 });

  await user.edit("{strictAffinity: true, maxBlocksPerHost: 9}");
  await user.says("(was 8)");
  expect(await user.config()).toMatchObject({ maxBlocksPerHost: 9 });

  await user.edit("{strictAffinity: false, maxBlocksPerHost: 10}");
  await user.says(
    "examples/installation.yaml:6  spec.ipam.maxBlocksPerHost: Invalid value: MaxBlocksPerHost requires StrictAffinity to be enabled",
  );
  expect(await user.config()).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 9 });
  await user.edit("{strictAffinity: true, maxBlocksPerHost: 9}");
  await user.says("examples/installation.yaml is accepted again.");

  await rm(join(user.folder, "examples", "installation.yaml"));
  await user.says("There is no Installation. The stored configuration stays as it is");
  expect(await user.config()).toMatchObject({ strictAffinity: true, maxBlocksPerHost: 9 });
  expect(await user.operator?.stop("SIGINT")).toEqual({ code: 0, signal: null });
});

test("it keeps its configuration over kill -9, and goes on from it", async () => {
  await user.edit("{ipCooldownSeconds: 60}");
  await user.start();
  await user.says("ready");
  await user.operator?.stop("SIGKILL");
  expect(await user.config()).toMatchObject({ ipCooldownSeconds: 60 });
  await user.start();
  await user.says("ready");
  expect(user.operator?.stdout.join("\n")).not.toContain("It is new");
  expect((await user.operator?.probe("/readyz"))?.body).toBe("ok\n");
  expect(await user.operator?.metrics()).toContain(
    'controller_runtime_reconcile_errors_total{controller="installation"} 0',
  );
});

test("what to try names the file that holds the Installation; drift between two manifests names the file", async () => {
  const write = (file: string, text: string) => writeFile(join(user.folder, "examples", file), text);
  await write("my-ipam.yaml", manifest("{ipCooldownSeconds: 60}"));
  await user.start();
  await user.says("Try it: change a value in examples/my-ipam.yaml and save it.");
  await write(
    "config.yaml",
    "apiVersion: projectcalico.org/v3\nkind: IPAMConfiguration\nmetadata: {name: default}\n" +
      "spec: {strictAffinity: false, autoAllocateBlocks: true, ipCooldownSeconds: 5}\n",
  );
  await user.says("was changed to 5 by its manifest config.yaml or another program; reverted to 60");
  expect(await user.config()).toMatchObject({ ipCooldownSeconds: 60 });
});

test("without a manifests folder it says so, and picks it up when it comes", async () => {
  await rm(join(user.folder, "examples"), { recursive: true });
  await user.start();
  await user.says("There is no Installation");
  await user.says("To begin, save this as examples/installation.yaml:");
  expect(user.operator?.stderr.join("\n")).toContain("the folder examples does not exist: create it, or name another");
  await mkdir(join(user.folder, "examples"));
  await user.edit("{ipCooldownSeconds: 5}");
  await user.says("Installation default is ready");
});

test("a renamed manifest keeps its Installation; a store removed while in use ends the process, saying so once", async () => {
  await user.edit("{ipCooldownSeconds: 5}");
  await user.start();
  await user.says("Installation default is ready");
  await rename(join(user.folder, "examples", "installation.yaml"), join(user.folder, "examples", "b.yaml"));
  await user.says("examples/b.yaml: Installation default change taken in");
  await rm(join(user.folder, ".ipam"), { recursive: true });
  expect((await user.operator?.ended)?.code).toBe(1);
  expect(user.operator?.stdout.join("\n")).not.toContain("There is no Installation");
  expect(user.operator?.stderr).toEqual([expect.stringContaining("was removed while it was in use")]);
});

test("a store replaced by another file while in use ends the process, before that file is taken for it", async () => {
  await user.edit("{ipCooldownSeconds: 5}");
  await user.start();
  await user.says("Installation default is ready");
  const store = join(user.folder, ".ipam", "ipam.db");
  await copyFile(store, `${store}.copy`);
  await rename(`${store}.copy`, store);
  expect((await user.operator?.ended)?.code).toBe(1);
  expect(user.operator?.stderr).toEqual([expect.stringContaining("was replaced by another file")]);
});
