/** A racer does not outlive the process that started it, however that ended. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeKubeconfig } from "../control-plane/kubeconfig.ts";

test("it ends with its starter, also while it waits for a server that says nothing", { timeout: 60_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), "ipam-operator-racer-"));
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  const endpoint = { server: `https://127.0.0.1:${port}`, caData: "" };
  const kubeconfig = writeKubeconfig(join(dir, "kubeconfig"), endpoint, { token: "t" });
  const options = { flavour: "v3", racer: 0, host: "host-a", journal: join(dir, "journal"), cached: false };
  const racer = spawn(
    process.execPath,
    [join(import.meta.dirname, "racer.ts"), JSON.stringify({ ...options, kubeconfig, calls: 1 })],
    { stdio: ["pipe", "inherit", "inherit"] },
  );
  const ended = once(racer, "exit");
  await once(silent, "connection"); // it is at work
  racer.stdin.end(); // what the system does for a starter that dies
  expect(await ended).toEqual([1, null]);
  silent.close();
  rmSync(dir, { recursive: true });
});
