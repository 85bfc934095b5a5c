/** `npm start` in a folder of its own, with the manifests of a newcomer: what the tests of it share. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { openEmbedded } from "../../src/datastore/embedded.ts";
import { getIPAMConfig } from "../../src/ipam/config.ts";
import { type RunningOperator, startOperator } from "./operator-process.ts";

export interface Newcomer {
  /** Where the operator runs: `examples/` in it, and the store once it has started. */
  readonly folder: string;
  /** The process that `start` started last. */
  readonly operator: RunningOperator | undefined;
  start(args?: readonly string[], env?: NodeJS.ProcessEnv): Promise<RunningOperator>;
  /** Writes `spec.ipam`, as YAML, into examples/installation.yaml. */
  edit(ipam: string): Promise<void>;
  /** Waits until the operator has printed the text. */
  says(text: string): Promise<void>;
  /** The stored configuration. */
  config(): ReturnType<typeof getIPAMConfig>;
}

export const manifest = (ipam: string) =>
  `apiVersion: ipam-operator.io/v1alpha1\nkind: Installation\nmetadata: {name: default}\nspec:\n  managementPolicy: Enforce\n  ipam: ${ipam}\n`;

/** For the tests of the file that calls it: a new folder before each, and nothing of it left after. */
export function newcomer(): Newcomer {
  let folder = "";
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
  return {
    get folder() {
      return folder;
    },
    get operator() {
      return operator;
    },
    start: async (args = [], env = {}) => {
      operator = await startOperator(args, { cwd: folder, env });
      return operator;
    },
    edit: (ipam) => writeFile(join(folder, "examples", "installation.yaml"), manifest(ipam)),
    says: (text) => expect.poll(() => operator?.stdout.join("\n"), { timeout: 30_000 }).toContain(text),
    config: async () => {
      const store = openEmbedded(join(folder, ".ipam", "ipam.db"));
      try {
        return await getIPAMConfig(store);
      } finally {
        await store.close();
      }
    },
  };
}
