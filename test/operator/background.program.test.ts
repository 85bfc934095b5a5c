/** Failures that the code around them does not handle: the process stays up, and the work goes on. */
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newcomer } from "./newcomer.ts";
import { startOperator } from "./operator-process.ts";

const user = newcomer();

test("manifests", async () => {
  await user.edit("{ipCooldownSeconds: 5}");
  const refusal = "Manifests are not taken in yet";
  const operator = await startOperator([], {
    cwd: user.folder,
    entry: join(import.meta.dirname, "full-disk.ts"),
    env: { UNWRITABLE_ONCE: JSON.stringify([refusal]) },
  });
  const says = (text: string) => expect.poll(() => operator.stdout.join("\n"), { timeout: 30_000 }).toContain(text);
  try {
    await says("is ready");
    await rename(join(user.folder, "examples"), join(user.folder, "away"));
    await expect
      .poll(() => operator.stderr.join("\n"), { timeout: 30_000 })
      .toMatch(
        new RegExp(`error {2}Failed to sync the manifests, trying again.*no space left on device, write "${refusal}`),
      );
    expect(await operator.metrics()).toContain('ipam_operator_background_task_failures_total{task="manifests"} 1');
    await mkdir(join(user.folder, "examples"));
    await user.edit("{ipCooldownSeconds: 6}");
    await expect.poll(async () => (await user.config()).ipCooldownSeconds, { timeout: 30_000 }).toBe(6);
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
  } finally {
    await operator.stop("SIGKILL");
  }
});

test("a promise without an owner", async () => {
  await user.edit("{ipCooldownSeconds: 5}");
  const entry = join(import.meta.dirname, "unowned-rejection.ts");
  const operator = await startOperator([], { cwd: user.folder, entry });
  try {
    await expect
      .poll(() => operator.stderr.join("\n"), { timeout: 30_000 })
      .toMatch(/error {2}.*a promise without an owner/);
    expect(await operator.metrics()).toContain('ipam_operator_background_task_failures_total{task="unowned"} 1');
    await user.edit("{ipCooldownSeconds: 7}");
    await expect.poll(async () => (await user.config()).ipCooldownSeconds, { timeout: 30_000 }).toBe(7);
    expect(await operator.stop()).toEqual({ code: 0, signal: null });
  } finally {
    await operator.stop("SIGKILL");
  }
});
