/** A racer does not outlive the process that started it, however that ended. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeKubeconfig } from "../control-plane/kubeconfig.ts";

interface Started {
  readonly args: readonly string[];
  readonly input?: string;
}
const PROGRAMS: readonly (readonly [string, (kubeconfig: string, options: object) => Started])[] = [
  ["racer.ts", (kubeconfig, options) => ({ args: [JSON.stringify({ ...options, kubeconfig, calls: 1 })] })],
  [
    "sizes/racer.ts",
    (kubeconfig, options) => ({ args: [kubeconfig], input: JSON.stringify({ ...options, pools: ["uid"] }) }),
  ],
];

test.each(PROGRAMS)(
  "%s ends with its starter, also while it waits for a server that says nothing",
  {
    timeout: 60_000,
  },
  async (program, startedBy) => {
    const dir = mkdtempSync(join(tmpdir(), "ipam-operator-racer-"));
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as { port: number };
    const endpoint = { server: `https://127.0.0.1:${port}`, caData: "" };
    const kubeconfig = writeKubeconfig(join(dir, "kubeconfig"), endpoint, { token: "t" });
    const options = { flavour: "v3", racer: 0, host: "host-a", journal: join(dir, "journal"), cached: false };
    const { args, input } = startedBy(kubeconfig, options);
    const racer = spawn(process.execPath, [join(import.meta.dirname, program), ...args], {
      stdio: ["pipe", "inherit", "inherit"],
    });
    if (input) racer.stdin.write(`${input}\n`);
    const ended = once(racer, "exit");
    await once(silent, "connection"); // it is at work
    racer.stdin.end(); // what the system does for a starter that dies
    expect(await ended).toEqual([1, null]);
    silent.close();
    rmSync(dir, { recursive: true });
  },
);
