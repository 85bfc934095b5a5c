/** `npm run e2e` where there can be no cluster: it fails, and says why; nothing is skipped. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

/** Its exit code, and all that it printed. */
function e2e(...args: string[]): Promise<{ code: number | null; said: string }> {
  const options = { env: { ...process.env, NO_COLOR: "1" } };
  return new Promise((resolve) => {
    const program = [join(import.meta.dirname, "run.ts"), ...args];
    const child = execFile(process.execPath, program, options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, said: stdout + stderr }),
    );
  });
}

it("there is no cluster of the given name", async () => {
  const { code, said } = await e2e("--kind", "no-such-cluster");
  expect(code).toBe(1);
  expect(said).toMatch(/There is no kind cluster no-such-cluster .* leave --kind out to have one made\./);
  expect(said).toMatch(/Tests +no tests\n +Errors +1 error/);
  expect(said).not.toMatch(/skipped|\.ts:\d/);
});
